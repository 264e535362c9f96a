"""Code to paste. Plain PyTorch 2.4 and later; names of the reader's own objects: model, optimizer, loss_fn, loader."""


def loader(batch: int) -> str:
    """A DataLoader of ``batch`` that never yields a last batch of one sample (BatchNorm cannot train on it)."""
    return f"loader = DataLoader(dataset, batch_size={batch}, shuffle=True, drop_last=True)"


def precision(name: str, *, cpu: bool) -> str:
    """The training step in a number format: ``fp32``, ``tf32``, ``fp16`` or ``bf16``."""
    device = "cpu" if cpu else "cuda"
    if name == "tf32":
        return 'torch.set_float32_matmul_precision("high")  # convolutions use TF32 by default'
    if name == "bf16":
        return (
            f'with torch.autocast("{device}", dtype=torch.bfloat16):\n'
            "    loss = loss_fn(model(inputs), targets)\n"
            "loss.backward()\n"
            "optimizer.step()\n"
            "optimizer.zero_grad(set_to_none=True)"
        )
    if name == "fp16":
        return (
            f'scaler = torch.amp.GradScaler("{device}")  # once, before the loop\n'
            "\n"
            f'with torch.autocast("{device}", dtype=torch.float16):\n'
            "    loss = loss_fn(model(inputs), targets)\n"
            "scaler.scale(loss).backward()\n"
            "scaler.step(optimizer)\n"
            "scaler.update()\n"
            "optimizer.zero_grad(set_to_none=True)"
        )
    return "loss = loss_fn(model(inputs), targets)  # no autocast\nloss.backward()\noptimizer.step()"


def channels_last() -> str:
    """Model and inputs in the channels-last layout."""
    return (
        "model = model.to(memory_format=torch.channels_last)  # once\n"
        "inputs = inputs.to(memory_format=torch.channels_last)  # each batch"
    )


def accumulate(micro: int, steps: int) -> str:
    """Gradient accumulation that keeps the effective batch and does not drop or misweigh the rest at the end.

    Each micro batch counts by its number of samples; the window that the epoch cuts short is divided by the samples
    it really holds. Clipping, optimizer and scheduler step once per optimizer step.
    """
    return (
        f"loader = DataLoader(dataset, batch_size={micro}, shuffle=True)\n"
        f"ACCUMULATE = {steps}  # {micro} x {steps} = {micro * steps} samples per optimizer step\n"
        "seen = 0\n"
        "for i, (inputs, targets) in enumerate(loader, start=1):\n"
        "    loss = loss_fn(model(inputs), targets)  # mean over the micro batch\n"
        "    (loss * len(targets)).backward()\n"
        "    seen += len(targets)\n"
        "    if i % ACCUMULATE == 0 or i == len(loader):  # the last window may be shorter\n"
        "        for p in model.parameters():\n"
        "            if p.grad is not None:\n"
        "                p.grad /= seen\n"
        "        optimizer.step()\n"
        "        scheduler.step()  # once per optimizer step, not per micro batch\n"
        "        optimizer.zero_grad(set_to_none=True)\n"
        "        seen = 0"
    )


def compiled() -> str:
    """Fewer launches: the compiler records the step as a CUDA graph."""
    return 'model = torch.compile(model, mode="reduce-overhead")'


def threads(count: int) -> str:
    """As many CPU threads as there are cores to run on."""
    return f"torch.set_num_threads({count})"


def workers(count: int) -> str:
    """A DataLoader that does not ask for more processes than there are cores."""
    return f"loader = DataLoader(dataset, batch_size=..., num_workers={count})"


def governor() -> str:
    """Let the CPU run at its full clock (needs root; reverts at reboot)."""
    return "sudo cpupower frequency-set -g performance"
