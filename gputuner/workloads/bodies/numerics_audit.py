# pyright: standard
"""One forward pass looked at operation by operation: number formats in and out, sizes of the results, and traps.

A torch function mode sees each operation as it is written, before autocast casts its inputs: half precision in and FP32
out means that autocast keeps it in FP32. It does not see into operations that torch itself puts together (attention,
recurrent layers).
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm  # pyright: ignore[reportPrivateUsage]
from torch.overrides import TorchFunctionMode

HALF = (torch.float16, torch.bfloat16)
FP16_MAX = 65504.0
CASTS = frozenset({"to", "half", "bfloat16", "float", "double", "type", "type_as", "cpu", "cuda"})
MOVES = frozenset(
    {"view", "reshape", "permute", "transpose", "t", "flatten", "unflatten", "expand", "expand_as", "contiguous",
     "getitem", "setitem", "chunk", "split", "unbind", "narrow", "select", "squeeze", "unsqueeze", "clone", "detach",
     "size", "get", "set", "dim", "movedim", "swapaxes", "requires_grad", "backward", "item", "tolist", "zeros_like",
     "ones_like", "empty_like", "view_as", "is_floating_point", "data_ptr", "numel", "len", "shape", "unfold", "copy",
     "identity"}
)  # fmt: skip
"""Operations that compute nothing."""
SENSITIVE = frozenset(
    {"softmax", "log_softmax", "softmin", "logsumexp", "exp", "expm1", "log", "log2", "log10", "log1p", "pow", "sum",
     "prod", "cumsum", "cumprod", "norm", "dist", "var", "std", "rsqrt", "reciprocal", "cosh", "sinh", "tan", "erfinv",
     "softplus", "cross_entropy", "nll_loss", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div",
     "binary_cross_entropy", "cosine_similarity", "cosine_embedding_loss", "layer_norm", "group_norm", "rms_norm"}
)  # fmt: skip
"""Operations that autocast runs in FP32, since half precision overflows or rounds too much there
(docs.pytorch.org/docs/stable/amp.html)."""
FILLS = frozenset({"masked_fill", "fill", "full", "full_like", "where", "pad", "triu", "tril"})
"""Operations that may be told to write infinities: the masks of attention."""
OUTSIDE = "(outside the model)"
"""Place of what the loss function does."""
PLACES = 3
"""So many places are named of each kind."""


@dataclass
class Seen:
    """One operation or trap: how often, on how many numbers, and where first."""

    count: int = 0
    elements: int = 0
    places: "list[str]" = field(default_factory=lambda: [])

    def add(self, place: str, elements: int = 0) -> None:
        """Once more."""
        self.count += 1
        self.elements += elements
        if place not in self.places and len(self.places) < PLACES:
            self.places.append(place)

    @property
    def where(self) -> str:
        """The places as text."""
        return ", ".join(self.places)


@dataclass
class Range:
    """The largest absolute result at one place."""

    order: int
    largest: float
    """Of the finite ones."""
    finite: bool
    """No finite numbers became infinite, or none, here."""
    half: bool

    def take(self, largest: float, finite: bool, half: bool) -> None:
        """One more result there."""
        self.finite &= finite
        self.half |= half
        self.largest = max(self.largest, largest)


class Audit(TorchFunctionMode):
    """Looks at what runs while it is active.

    Args:
        model: whose modules are named.
        device: whose autocast counts.
        autocast: whether autocast is meant to be on.
    """

    def __init__(self, model: nn.Module, device: str, *, autocast: bool = False) -> None:
        super().__init__()
        self._device = device
        self._meant = autocast
        self._names = {id(module): name or type(module).__name__ for name, module in model.named_modules()}
        self._leaves = {name for name, module in model.named_modules() if not any(module.children())}
        self._model = model
        self._stack: list[str] = []
        self._hooks: list[Any] = []
        self.kept: dict[str, Seen] = {}
        """Operations that autocast runs in FP32."""
        self.unlowered: dict[str, Seen] = {}
        """Operations that run in FP32 under autocast since FP32 is (among) what comes in."""
        self.traps: dict[tuple[str, str], Seen] = {}
        self.ranges: dict[str, Range] = {}

    def __enter__(self) -> "Audit":
        """Follow which module is at work."""
        for module in self._model.modules():
            self._hooks.append(module.register_forward_pre_hook(self._enter))
            self._hooks.append(module.register_forward_hook(self._leave, always_call=True))
        super().__enter__()
        return self

    def __exit__(self, *told: Any) -> None:
        """Leave no hook behind."""
        super().__exit__(*told)
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()
        self._stack.clear()

    def _enter(self, module: nn.Module, _: Any) -> None:
        self._stack.append(self._names.get(id(module), type(module).__name__))

    def _leave(self, *_: Any) -> None:
        if self._stack:
            self._stack.pop()

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: "tuple[Any, ...]" = (), kwargs: "dict[str, Any] | None" = None
    ) -> Any:
        """Run the operation, then look at it."""
        kwargs = kwargs or {}
        given = list(floating((args, kwargs)))
        before = [tensor.dtype for tensor in given]  # operations in place may change theirs
        result = func(*args, **kwargs)
        name = getattr(func, "__name__", "").strip("_")
        results = list(floating(result))
        if given and results and name not in MOVES:
            place = self._look(name, before, results)
            if place:
                wanted = name in FILLS or any(_is_infinite(each) for each in (*args, *kwargs.values()))
                sources = [tensor for tensor in given if all(tensor is not one for one in results)]
                self._measure(place, results, sources, wanted)
        return result

    def _look(self, name: str, before: "list[torch.dtype]", results: "list[torch.Tensor]") -> str:
        """Note its number formats; where it was, empty for a cast."""
        place = self._stack[-1] if self._stack else OUTSIDE
        lowered = any(dtype in HALF for dtype in before)
        half = any(tensor.dtype in HALF for tensor in results)
        active = torch.is_autocast_enabled(self._device)
        elements = sum(tensor.numel() for tensor in results)
        if name in CASTS:
            if half and not all(dtype in HALF for dtype in before):
                self.traps.setdefault(("hand_cast", name), Seen()).add(place)
            return ""
        if active and not self._meant:
            name_of = str(torch.get_autocast_dtype(self._device)).rpartition(".")[2]
            self.traps.setdefault(("own_autocast", name_of), Seen()).add(place)
        if active and not half:
            chosen = lowered and (name in SENSITIVE or all(dtype in HALF for dtype in before))
            table = self.kept if chosen else self.unlowered  # else the widest of its inputs decides
            table.setdefault(name, Seen()).add(place, elements)
        elif not active and lowered and half and name in SENSITIVE:
            self.traps.setdefault(("half_operation", name), Seen()).add(place)
        return place if place in self._leaves else f"{name} {place}" if place == OUTSIDE else f"{name} ({place})"

    def _measure(self, place: str, results: "list[torch.Tensor]", sources: "list[torch.Tensor]", wanted: bool) -> None:
        """Note the largest result; infinite is what no finite number went into, but for masks that are ``wanted``."""
        with torch.no_grad(), torch.autocast(self._device, enabled=False):
            for tensor in results:
                if tensor.numel() == 0 or tensor.layout != torch.strided:
                    continue
                sizes = tensor.detach().abs()
                largest, made = float(sizes.amax()), False
                if not math.isfinite(largest):
                    made = not wanted and all(bool(torch.isfinite(source).all()) for source in sources)
                    largest = float(torch.where(torch.isfinite(sizes), sizes, 0.0).amax())
                known = self.ranges.setdefault(place, Range(len(self.ranges), 0.0, True, False))
                known.take(largest, not made, tensor.dtype in HALF)


def _is_infinite(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def floating(value: Any, depth: int = 3) -> "Iterator[torch.Tensor]":
    """Tensors of floating-point numbers in ``value``, to some depth of lists, tuples and mappings."""
    if isinstance(value, torch.Tensor):
        if value.dtype.is_floating_point:
            yield value
    elif depth and isinstance(value, dict):
        for each in value.values():
            yield from floating(each, depth - 1)
    elif depth and isinstance(value, list | tuple):
        for each in value:
            yield from floating(each, depth - 1)


def stored_traps(model: nn.Module) -> "dict[tuple[str, str], Seen]":
    """Trained weights and buffers that lie in half precision already; those of batch norm by themselves."""
    found: dict[tuple[str, str], Seen] = {}
    for name, module in model.named_modules():
        norm = isinstance(module, _BatchNorm)
        own = [(key, tensor, "half_weights") for key, tensor in module.named_parameters(recurse=False)]
        own += [(key, tensor, "half_buffers") for key, tensor in module.named_buffers(recurse=False)]
        for key, tensor, kind in own:
            frozen = kind == "half_weights" and not tensor.requires_grad
            if tensor is None or tensor.dtype not in HALF or frozen:
                continue
            trap = ("half_norm" if norm else kind, str(tensor.dtype).rpartition(".")[2])
            found.setdefault(trap, Seen()).add(f"{name}.{key}" if name else key, tensor.numel())
    return found


def bare_functions(loss: torch.Tensor) -> "dict[tuple[str, str], Seen]":
    """Custom autograd Functions that ``loss`` went through without ``custom_fwd``; torch's own are left out.

    ``custom_fwd`` notes on the context whether autocast was on; the context is the node in the graph.
    """
    found: dict[tuple[str, str], Seen] = {}
    seen: set[Any] = set()
    waiting = [loss.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        waiting += [following for following, _ in node.next_functions]
        function = getattr(node, "_forward_cls", None)
        if function is None or function.__module__.partition(".")[0] == "torch":
            continue
        if not hasattr(node, "_fwd_used_autocast"):
            place = f"{function.__module__}.{function.__qualname__}"
            found.setdefault(("custom_function", function.__name__), Seen()).add(place)
    return found
