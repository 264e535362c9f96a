"""Code to paste for what a numerical check finds. Names as in ``snippets``."""


def _device(cpu: bool) -> str:
    return "cpu" if cpu else "cuda"


def half_weights(cpu: bool) -> str:
    """Weights back to FP32; autocast makes the half-precision copies."""
    return "model = model.float()  # weights, buffers and optimizer state stay FP32; leave the casting to autocast"


def half_loss(cpu: bool) -> str:
    """The loss computed in FP32."""
    return "loss = loss_fn(outputs.float(), targets)  # a mean over many values overflows or rounds in half precision"


def half_operation(cpu: bool) -> str:
    """A sensitive operation in FP32."""
    return "shares = torch.softmax(scores.float(), dim=-1).to(scores.dtype)  # in FP32, stored as before"


def bare_function(cpu: bool) -> str:
    """A custom Function that says what it wants under autocast."""
    device = _device(cpu)
    return (
        "class Mine(torch.autograd.Function):\n"
        "    @staticmethod\n"
        f'    @torch.amp.custom_fwd(device_type="{device}", cast_inputs=torch.float32)\n'
        "    def forward(ctx, inputs):\n"
        "        ctx.save_for_backward(inputs)\n"
        "        return inputs.clone()\n"
        "\n"
        "    @staticmethod\n"
        f'    @torch.amp.custom_bwd(device_type="{device}")\n'
        "    def backward(ctx, gradient):\n"
        "        return gradient"
    )


def kept_in_fp32(place: str, *, cpu: bool = False) -> str:
    """One module outside of autocast."""
    device = _device(cpu)
    return (
        "def in_fp32(module):\n"
        '    """Let one module compute in FP32 inside of autocast."""\n'
        "    forward = module.forward\n"
        "\n"
        "    def wide(inputs):\n"
        f'        with torch.autocast("{device}", enabled=False):\n'
        "            return forward(inputs.float())\n"
        "\n"
        "    module.forward = wide\n"
        "\n"
        "\n"
        f'in_fp32(model.get_submodule("{place}"))'
    )


def clamped() -> str:
    """The last resort."""
    return (
        "# Last resort, it changes what is trained: clamp before the value is stored in FP16.\n"
        "# outputs = outputs.clamp(-6e4, 6e4)"
    )
