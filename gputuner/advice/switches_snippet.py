"""Code to paste for a setting: format, layout and switches of a training in one piece.

Plain PyTorch 2.4 and later, with the reader's own ``model``, ``loader``, ``loss_fn`` and ``optimizer`` as in
``snippets``; with gradient checkpointing also ``blocks`` (the model's layers), where the optimizer is made anew also
``Optimizer`` and ``settings`` (its class and its arguments).
"""

from collections.abc import Mapping

from gputuner.advice.snippets import AUTOCAST
from gputuner.analysis.switches import Setting
from gputuner.model.readings import Scalar

BACKENDS = {
    "flash": "FLASH_ATTENTION",
    "efficient": "EFFICIENT_ATTENTION",
    "cudnn": "CUDNN_ATTENTION",
    "math": "MATH",
}
GRAPHS = "https://pytorch.org/docs/stable/notes/cuda.html#whole-network-capture"
"""Torch's own guide: how a step is captured depends on the optimizer, its schedule and what else the step does."""
KINDS = {"fused": "fused=True", "foreach": "foreach=True", "plain": "foreach=False, fused=False"}


def training(setting: Setting, *, cpu: bool) -> str:
    """A training loop with everything in ``setting``."""
    on = dict(setting.switches)
    once = [*_process(setting, cpu=cpu), *_model(setting), *_optimizer(on)]
    if setting.precision == "fp16":
        once.append(f'scaler = torch.amp.GradScaler("{_device(cpu)}")  # once, before the first epoch')
    loop = [*(_CAPTURE if on.get("cuda_graph") else ()), *_loop(setting, cpu=cpu)]
    return "\n".join([*_before_torch(on), *_imports(on), *once, *([""] if once else []), *loop])


def _device(cpu: bool) -> str:
    return "cpu" if cpu else "cuda"


def _before_torch(on: Mapping[str, Scalar]) -> list[str]:
    if not on.get("expandable_segments"):
        return []
    return [
        "import os",
        "",
        'os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"  # before torch is imported',
        "",
    ]


def _imports(on: Mapping[str, Scalar]) -> list[str]:
    lines = ["import torch"]
    if on.get("sdpa"):
        lines.append("from torch.nn.attention import SDPBackend, sdpa_kernel")
    if on.get("checkpointing"):
        lines = ["from functools import partial", "", *lines, "from torch.utils.checkpoint import checkpoint"]
    return [*lines, ""]


def _process(setting: Setting, *, cpu: bool) -> list[str]:
    """What holds for the whole process."""
    on, lines = dict(setting.switches), list[str]()
    if setting.precision == "tf32":
        lines.append('torch.set_float32_matmul_precision("high")  # matrix products; convolutions use TF32 by default')
    if setting.precision in AUTOCAST and not cpu:
        lines.append(
            'torch.set_float32_matmul_precision("high")  # as measured: what autocast leaves in FP32 uses TF32'
        )
    if setting.precision == "fp32" and not cpu:
        lines.append('torch.set_float32_matmul_precision("highest")')
        lines.append("torch.backends.cudnn.allow_tf32 = False  # else convolutions use TF32")
    if on.get("fp16_accumulate"):
        lines.append("torch.backends.cuda.matmul.allow_fp16_accumulation = True  # torch 2.7; rounds more")
    if on.get("autotune"):
        lines.append("torch.backends.cudnn.benchmark = True  # pays where shapes stay the same")
    return lines


def _model(setting: Setting) -> list[str]:
    on, lines = dict(setting.switches), list[str]()
    if setting.channels_last:
        lines.append("model = model.to(memory_format=torch.channels_last)")
    if on.get("checkpointing"):
        lines += [
            "# with a model of transformers: model.gradient_checkpointing_enable() in place of this loop",
            "# batch norm inside counts each batch twice: set its momentum to 1 - (1 - momentum) ** 0.5",
            "for block in blocks:  # the model's layers",
            "    block.forward = partial(checkpoint, block.forward, use_reentrant=False)",
        ]
    if on.get("compile"):
        lines += [
            "# in place, so that names in checkpoints stay; with DistributedDataParallel wrap the model before",
            "model.compile()  # the first step takes long, and the first of each new shape",
        ]
    return lines


def _optimizer(on: Mapping[str, Scalar]) -> list[str]:
    kind = KINDS.get(str(on.get("optimizer_kind", "")))
    note = "your optimizer's class and its settings; make its scheduler after it"
    return [f"optimizer = Optimizer(model.parameters(), **settings, {kind})  # {note}"] if kind else []


def _contexts(setting: Setting, *, cpu: bool) -> list[str]:
    on, found = dict(setting.switches), list[str]()
    if setting.precision in AUTOCAST:
        found.append(f'torch.autocast("{_device(cpu)}", dtype={AUTOCAST[setting.precision]})')
    if on.get("sdpa"):
        found.append(f"sdpa_kernel(SDPBackend.{BACKENDS[str(on['sdpa'])]})")
    return found


def _forward(setting: Setting, *, cpu: bool) -> list[str]:
    contexts, forward = _contexts(setting, cpu=cpu), "loss = loss_fn(model(inputs), targets)"
    return [f"with {', '.join(contexts)}:", f"    {forward}"] if contexts else [forward]


def _backward(setting: Setting) -> list[str]:
    line = "scaler.scale(loss).backward()" if setting.precision == "fp16" else "loss.backward()"
    on = dict(setting.switches)
    if on.get("sdpa") and on.get("checkpointing"):  # blocks are computed again here
        return [f"with sdpa_kernel(SDPBackend.{BACKENDS[str(on['sdpa'])]}):", f"    {line}"]
    return [line]


def _step(setting: Setting) -> list[str]:
    if setting.precision == "fp16":
        return [
            "# where gradients are clipped: scaler.unscale_(optimizer) first, then clip",
            "scaler.step(optimizer)",
            "scaler.update()",
        ]
    return ["optimizer.step()"]


def _loop(setting: Setting, *, cpu: bool) -> list[str]:
    inside: list[str] = [] if cpu else ['inputs, targets = inputs.to("cuda"), targets.to("cuda")']
    if setting.channels_last:
        inside.append("inputs = inputs.to(memory_format=torch.channels_last)")
    inside += ["optimizer.zero_grad(set_to_none=True)", *_forward(setting, cpu=cpu), *_backward(setting)]
    inside += _step(setting)
    return ["for inputs, targets in loader:", *(f"    {line}" for line in inside)]


_CAPTURE = (
    "# What was measured is this step captured in a CUDA graph; the loop below is the same step before the capture.",
    f"# How to capture it: {GRAPHS}",
    "# The learning rate must then be a tensor on the card (a number is frozen into the graph: no schedule would act),",
    "# the optimizer capturable where it has that option, and every batch of the same shape (drop_last=True).",
)
