# pyright: standard
"""Switches applied to a training: what is set for the process, for the model, for the optimizer, and for a step."""

import contextlib
import inspect
import os
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch.nn.modules.conv import _ConvNd  # pyright: ignore[reportPrivateUsage]
from torch.overrides import TorchFunctionMode

from gputuner.workloads.bodies import failures
from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.failures import UnsupportedError
from gputuner.workloads.bodies.switches import ALLOCATOR_VARIABLES, EXPANDABLE, Switches

BACKENDS = {
    "flash": "FLASH_ATTENTION",
    "efficient": "EFFICIENT_ATTENTION",
    "cudnn": "CUDNN_ATTENTION",
    "math": "MATH",
}
"""Names in ``torch.nn.attention.SDPBackend``."""
CALLS_ATTENTION = ("scaled_dot_product_attention", "multi_head_attention_forward")
NO_KERNEL = ("no available kernel", "no viable backend")
NOT_OF_THE_SWITCH = {failures.OUT_OF_MEMORY, failures.STICKY}
"""Kinds of errors in a first step that say nothing about what was switched on."""
KINDS: "dict[str, dict[str, bool]]" = {
    "plain": {"foreach": False, "fused": False},
    "foreach": {"foreach": True, "fused": False},
    "fused": {"foreach": False, "fused": True},
}


def apply(device: Device, precision: str, switches: Switches) -> None:
    """Set what holds for the whole process, whatever the trial before has set.

    Raises:
        UnsupportedError: this torch, chip or format cannot do it.
    """
    on_card = device.name != "cpu"
    torch.backends.cudnn.benchmark = switches.autotune
    matmul = torch.backends.cuda.matmul
    can = hasattr(matmul, "allow_fp16_accumulation")
    if on_card and can:
        matmul.allow_fp16_accumulation = switches.fp16_accumulate  # pyright: ignore[reportAttributeAccessIssue]
    if switches.fp16_accumulate:
        _need(on_card, "FP16 accumulation is of NVIDIA cards")
        _need(can, f"PyTorch {torch.__version__} cannot accumulate in FP16 (2.7 and later can)")
        _need(precision == "fp16", "FP16 accumulation changes products of FP16 matrices only")
    if switches.autotune:
        _need(on_card, "cuDNN's autotuner is of NVIDIA cards")
    if switches.cuda_graph:
        _need(on_card, "CUDA graphs are of NVIDIA cards")
    if switches.expandable_segments:
        _need(on_card, "expandable segments are of the allocator of NVIDIA cards")
        _need(sys.platform != "win32", "PyTorch has no expandable segments on Windows")
        _need(expandable(), "expandable segments must be set before torch is imported")
    if switches.sdpa and switches.sdpa not in BACKENDS:
        raise UnsupportedError(f"no attention backend {switches.sdpa!r}")


def _need(met: bool, otherwise: str) -> None:
    if not met:
        raise UnsupportedError(otherwise)


def expandable() -> bool:
    """Whether this process was started with expandable segments."""
    return any(EXPANDABLE in os.environ.get(name, "") for name in ALLOCATOR_VARIABLES)


def attention_of(backend: str) -> "contextlib.AbstractContextManager[Any]":
    """The context in which attention has one backend only; empty: torch chooses."""
    if not backend:
        return contextlib.nullcontext()
    from torch.nn.attention import SDPBackend, sdpa_kernel

    return sdpa_kernel([getattr(SDPBackend, BACKENDS[backend])])


class _Seen(TorchFunctionMode):
    """Notes whether attention is called."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = False

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen = self.seen or getattr(func, "__name__", "") in CALLS_ATTENTION
        return func(*args, **(kwargs or {}))


def check_attention(forward: "Callable[[], object]") -> None:
    """Run ``forward`` once without gradients.

    Raises:
        UnsupportedError: it does not call torch's attention, so that a backend of it changes nothing.
    """
    with torch.no_grad(), _Seen() as mode:
        forward()
    _need(mode.seen, "the model does not call scaled_dot_product_attention, so its backend changes nothing")


def with_kind(optimizer: torch.optim.Optimizer, kind: str) -> torch.optim.Optimizer:
    """The same optimizer over the same weights, stepping as ``kind`` says; it has not stepped yet.

    Raises:
        UnsupportedError: it is none of torch's own, or has no such way.
    """
    made, name = type(optimizer), type(optimizer).__name__
    known = inspect.signature(made.__init__).parameters
    wanted = {key: value for key, value in KINDS[kind].items() if key in known}
    if not made.__module__.startswith("torch.optim") or not all(key in known for key, on in KINDS[kind].items() if on):
        raise UnsupportedError(f"the optimizer {name} has no {kind} implementation")
    groups = [{key: value for key, value in group.items() if key in (*known, "params")} for group in _groups(optimizer)]
    defaults = {key: value for key, value in optimizer.defaults.items() if key in known and key not in KINDS[kind]}
    try:
        return made([{**group, **wanted} for group in groups], **{**defaults, **wanted})
    except (RuntimeError, ValueError, TypeError) as err:
        if failures.classify(err) in NOT_OF_THE_SWITCH:
            raise
        raise UnsupportedError(f"the optimizer {name} cannot be {kind} here: {failures.described(err)[0]}") from err


def convolutional(model: torch.nn.Module) -> bool:
    """Whether convolutions and recurrent layers, which torch computes in TF32 by default, hold most of its weights.

    Compared with linear layers, whose products are FP32 by default.
    """
    held = {"cudnn": 0, "linear": 0}
    for module in model.modules():
        own = sum(weight.numel() for weight in module.parameters(recurse=False))
        if isinstance(module, (_ConvNd, torch.nn.RNNBase)):
            held["cudnn"] += own
        elif isinstance(module, (torch.nn.Linear, torch.nn.MultiheadAttention)):
            held["linear"] += own
    return held["cudnn"] > held["linear"]


def kind_of(optimizer: torch.optim.Optimizer, device: Device) -> str:
    """How it steps, one of ``OPTIMIZERS``: told nothing, torch takes groups on a card, single weights elsewhere."""
    group = optimizer.param_groups[0]
    if group.get("fused"):
        return "fused"
    if group.get("foreach") is None and "foreach" in group:
        return "plain" if device.name == "cpu" else "foreach"
    return "foreach" if group.get("foreach") else "plain"


def _groups(optimizer: torch.optim.Optimizer) -> "list[dict[str, Any]]":
    return [
        {key: value for key, value in group.items() if key not in KINDS["plain"]} for group in optimizer.param_groups
    ]


def _said(err: Exception) -> str:
    """The line of a message that says what is wrong: the compiler's first one only says where it comes from."""
    lines = [line.strip() for line in str(err).splitlines() if line.strip()]
    return next((line for line in lines if not line.endswith("raised:")), type(err).__name__)


@contextlib.contextmanager
def blamed_on(what: str, words: "tuple[str, ...]" = ()) -> Any:
    """Errors inside are told as ``what`` not being possible here; those about memory and the device stay as they are.

    Args:
        what: what fails, e.g. ``torch.compile failed``.
        words: of the errors that count; none: all do.

    Raises:
        UnsupportedError: in place of the error.
    """
    try:
        yield
    except UnsupportedError:
        raise
    except Exception as err:
        text = _said(err)
        if failures.classify(err) in NOT_OF_THE_SWITCH or (words and not any(w in str(err).lower() for w in words)):
            raise
        raise UnsupportedError(f"{what}: {text}") from err


def compile_while(model: torch.nn.Module, step: "Callable[[], None]") -> None:
    """Compile the model in place, which happens while ``step`` runs; its parts where the model itself is not called.

    What was compiled for earlier trials is forgotten: after 8 versions of the same code torch would silently stop
    compiling it.

    Raises:
        UnsupportedError: nothing was compiled: neither the model nor one of its parts is called as a module.
    """
    torch._dynamo.reset()  # pyright: ignore[reportAttributeAccessIssue]
    for modules in ((model,), tuple(model.children())):
        before = _graphs()
        for module in modules:
            module.forward = torch.compile(module.forward)  # in place: a step of the model's own finds it too
        step()
        if _graphs() > before:
            return
    raise UnsupportedError("torch.compile has nothing to compile: the step does not call the model as a module")


def _graphs() -> int:
    """Graphs that the compiler has made in this process."""
    from torch._dynamo.utils import counters

    return int(counters["stats"]["unique_graphs"])
