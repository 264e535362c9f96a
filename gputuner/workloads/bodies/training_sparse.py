# pyright: standard
"""Linear layers whose weights are 2:4 sparse in training: pruned anew in each step, straight-through gradient.

Of each 4 × 4 tile of a weight at most two entries in every row and column stay, the largest (Hubara et al.,
arXiv 2102.08124), so that the weight is 2:4 sparse both as it is and transposed: the products of the forward pass and
of the input's gradient run on the sparse pipes; that of the weight's gradient stays dense and reaches every entry
("straight-through"). Pruning and packing are part of the step, as they are in a real training.

torch has the kernels behind private names, in two libraries; each candidate is checked against the dense product and
the fastest that is right is taken. Where none is, the trial ends as unsupported.
"""

import time
from collections.abc import Callable
from typing import Any, cast

import torch
from torch import nn
from torch.nn import functional

from gputuner.workloads.bodies import failures
from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.precision import STORAGE

CHECKED = (1024, 4096, 2048)
"""Outputs, inputs and rows of the product that candidates are compared with."""
TOLERANCE = 0.02
"""Largest relative Frobenius error of a half-precision product."""
TRIES = 3


class Pruned:
    """A weight [out, in] that is 2:4 sparse both ways, as two operands: ``W`` and ``Wᵀ``."""

    def __init__(self, direct: Any, transposed: Any) -> None:
        self.direct, self.transposed = direct, transposed


Prune = Callable[[torch.Tensor], Pruned]


class StraightThrough(torch.autograd.Function):
    """``x Wᵀ`` with the pruned weight; the gradient of the weight is that of the dense one."""

    @staticmethod
    def forward(ctx: Any, rows: torch.Tensor, weight: torch.Tensor, prune: Prune) -> torch.Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Rows [rows, in] and weight [out, in] of one type → [rows, out]."""
        pruned = prune(weight.detach())
        ctx.save_for_backward(rows)
        ctx.pruned = pruned
        return functional.linear(rows, pruned.direct).contiguous()  # some libraries give it column by column

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Gradients of the rows and of the weight."""
        (rows,) = ctx.saved_tensors
        gradient = gradient.contiguous()
        return functional.linear(gradient, ctx.pruned.transposed).contiguous(), gradient.t() @ rows, None


class SparseLinear(nn.Module):
    """Takes the place of a linear layer, with the same parameters; multiplies in ``kind``."""

    def __init__(self, dense: nn.Linear, prune: Prune, kind: torch.dtype) -> None:
        super().__init__()
        self.weight, self.bias = dense.weight, dense.bias
        self._prune, self._kind = prune, kind

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Outputs [..., out]."""
        rows = features.reshape(-1, features.shape[-1]).to(self._kind)
        with torch.autocast(features.device.type, enabled=False):
            out = cast(torch.Tensor, StraightThrough.apply(rows, self.weight.to(self._kind), self._prune))
        return out.view(*features.shape[:-1], -1) + self.bias.to(self._kind)


def sparse_linear(layers: nn.Module, device: Device, precision: str) -> str:
    """Replace every linear layer in ``layers`` by a sparse one; the name of the library that multiplies.

    Raises:
        UnsupportedError: no processor, no half type, or no library multiplies 2:4 sparse weights rightly here.
    """
    if device.name == "cpu" or precision not in ("fp16", "bf16"):
        raise failures.UnsupportedError("2:4 sparse training needs a GPU and FP16 or BF16")
    kind = STORAGE[precision]
    name, prune = _fastest(device, kind)
    replace_linear(layers, prune, kind)
    return name


def replace_linear(layers: nn.Module, prune: Prune, kind: torch.dtype) -> None:
    """Put a sparse layer in the place of each linear one, in place."""
    for parent in list(layers.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, nn.Linear):
                setattr(parent, name, SparseLinear(child, prune, kind))


def _tile_packed(library: str) -> Prune:
    """Packed right by the pruning kernel, for ``CUTLASS`` or ``CUSPARSELT``."""

    def prune(weight: torch.Tensor) -> Pruned:
        packed = getattr(torch.sparse, f"SparseSemiStructuredTensor{library}").prune_dense_static_sort(weight)
        return Pruned(packed, packed.t())

    return prune


def _compressed(weight: torch.Tensor) -> Pruned:
    """Pruned, written out, and compressed by cuSPARSELt itself: slower to pack, right on every chip it knows."""
    private: Any = torch
    kept = private._sparse_semi_structured_tile(weight, algorithm="", use_cutlass=True)[-1]
    dense = private._sparse_semi_structured_apply_dense(weight, kept)
    pack = torch.sparse.SparseSemiStructuredTensorCUSPARSELT.from_dense
    return Pruned(pack(dense), pack(dense.t().contiguous()))


CANDIDATES: "dict[str, Prune]" = {
    "cutlass": _tile_packed("CUTLASS"),
    "cusparselt": _tile_packed("CUSPARSELT"),
    "cusparselt_compressed": _compressed,
}


def candidates(major: int) -> "dict[str, Prune]":
    """Those to try on a card of compute capability ``major``.x.

    torch's pruning kernel writes cuSPARSELt's layout of Ampere; read as another chip's it would reach beyond its end.
    """
    return {name: prune for name, prune in CANDIDATES.items() if name != "cusparselt" or major == 8}


def _fastest(device: Device, kind: torch.dtype) -> "tuple[str, Prune]":
    """The candidate that multiplies rightly and takes least for one layer forward and back."""
    seconds: dict[str, float] = {}
    why = "this PyTorch has no 2:4 sparse kernels"
    for name, prune in candidates(torch.cuda.get_device_capability()[0]).items():
        try:
            _check(device, prune, kind)
            seconds[name] = min(_layer_s(device, prune, kind) for _ in range(TRIES))
        except (RuntimeError, AttributeError, NotImplementedError, ValueError, TypeError) as err:
            if failures.classify(err, device.free_bytes(), device.broken()) in (
                failures.OUT_OF_MEMORY,
                failures.STICKY,
            ):
                raise
            why = failures.described(err)[0]
    if not seconds:
        raise failures.UnsupportedError(f"2:4 sparse training does not work here: {why}")
    best = min(seconds, key=lambda name: seconds[name])
    return best, CANDIDATES[best]


def _operands(device: Device, kind: torch.dtype) -> "tuple[torch.Tensor, torch.Tensor, torch.Tensor]":
    out, into, rows = CHECKED
    shapes = ((rows, into), (out, into), (rows, out))
    made = [torch.randn(shape, device=device.name, dtype=kind) for shape in shapes]
    return made[0], made[1], made[2]


def _check(device: Device, prune: Prune, kind: torch.dtype) -> None:
    """Compare both products with those of the very weight that was packed, read back dense.

    Raises:
        ValueError: they differ, or the weight is not 2:4 sparse.
    """
    rows, weight, gradient = _operands(device, kind)
    pruned = prune(weight)
    dense = kept_of(
        weight, functional.linear(torch.eye(weight.shape[1], device=device.name, dtype=kind), pruned.direct)
    )
    quads = (dense != 0).view(dense.shape[0], -1, 4).sum(-1)
    if int(quads.max()) > 2 or float(quads.float().mean()) < 1.5:
        raise ValueError("the packed weight is not 2:4 sparse")
    for found, reference in (
        (functional.linear(rows, pruned.direct), rows.float() @ dense.float().t()),
        (functional.linear(gradient, pruned.transposed), gradient.float() @ dense.float()),
    ):
        error = float((found.float() - reference).norm() / reference.norm())
        if not error < TOLERANCE:
            raise ValueError(f"the sparse product differs from the dense one by {error:.2g}")


def kept_of(weight: torch.Tensor, product: torch.Tensor) -> torch.Tensor:
    """The pruned weight [out, in] from its product with the identity [in, out]; entries must be those of ``weight``.

    Raises:
        ValueError: an entry is another one than the weight's.
    """
    dense = product.t().contiguous()
    if not torch.equal(torch.where(dense != 0, weight, torch.zeros_like(weight)), dense):
        raise ValueError("the packed weight holds other entries than the dense one")
    return dense


def _layer_s(device: Device, prune: Prune, kind: torch.dtype) -> float:
    """Seconds of one layer forward and back, pruning included."""
    rows, weight, gradient = (operand.requires_grad_() for operand in _operands(device, kind))
    device.synchronise()
    start = time.perf_counter()
    cast(torch.Tensor, StraightThrough.apply(rows, weight, prune)).backward(gradient)
    device.synchronise()
    return time.perf_counter() - start
