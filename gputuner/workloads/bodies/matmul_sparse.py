# pyright: standard
"""Product with a 2:4 sparse left operand: of every four numbers in a row two are zero, and the tensor cores skip them.

Counted as dense: 2 · m · n · k operations, as sheets do. Compressing the operand (values and 2-bit places) is set-up;
``setup_counted`` puts it into every iteration, as for weights that change at each training step.

A launch of the library takes the host nearly as long as the product takes a fast card. So on a card the product is
captured as a CUDA graph and replayed, where it can be captured and the replay gives the right result; else it is
launched anew each time, which ``cuda_graph`` and ``graph_failure`` say.
"""

from typing import Any, Protocol

import torch

from gputuner.workloads.bodies.body import Fact, Probe
from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.failures import UnsupportedError, WrongResultError
from gputuner.workloads.bodies.graph_capture import Captured, captured
from gputuner.workloads.bodies.matmul import checked_error, operations
from gputuner.workloads.bodies.product import product_of

SPARSE_SINCE, CUTLASS_BEFORE = (8, 0), (9, 0)


def pruned(matrix: torch.Tensor) -> torch.Tensor:
    """``matrix`` [m, k] with the two smaller (by magnitude) of every four numbers in a row set to zero."""
    fours = matrix.view(-1, 4)
    order = fours.float().abs().argsort(dim=1)
    return fours.scatter(1, order[:, :2], 0).view_as(matrix)


class SparseLibrary(Protocol):
    """What compresses a pruned matrix and multiplies with it."""

    name: str

    def compressed(self, dense: torch.Tensor) -> Any:
        """``dense`` [m, k], two of every four numbers in a row zero, as the library keeps it."""
        ...

    def multiplied(self, sparse: Any, b: torch.Tensor) -> torch.Tensor:
        """The product [m, n] of a compressed matrix and b [k, n]."""
        ...


class TorchSparse:
    """``torch.sparse.to_sparse_semi_structured``: cuSPARSELt where torch has it, else CUTLASS (Ampere and Ada only)."""

    def __init__(self, precision: str) -> None:
        capability = torch.cuda.get_device_capability() if torch.cuda.is_available() else (0, 0)
        if capability < SPARSE_SINCE:
            raise UnsupportedError("this chip has no 2:4 sparse arithmetic")
        if not hasattr(torch.sparse, "to_sparse_semi_structured"):
            raise UnsupportedError("this PyTorch has no 2:4 sparse product")
        self._int8 = precision == "int8"
        kind = type(self.compressed(torch.eye(128, device="cuda").to(torch.float16)))
        self._cusparselt = "CUSPARSELT" in kind.__name__.upper()
        self.name = "cusparselt" if self._cusparselt else "cutlass"
        if not self._cusparselt and capability >= CUTLASS_BEFORE:
            raise UnsupportedError("2:4 sparse products on this chip need cuSPARSELt, which this PyTorch lacks")

    def compressed(self, dense: torch.Tensor) -> Any:
        """Values and 2-bit places."""
        return torch.sparse.to_sparse_semi_structured(dense)

    def multiplied(self, sparse: Any, b: torch.Tensor) -> torch.Tensor:
        """The product; INT8 asks cuSPARSELt for INT32, since its usual result is clipped to 8 bits."""
        if self._int8 and self._cusparselt:
            return torch._cslt_sparse_mm(sparse.packed, b, out_dtype=torch.int32)  # pyright: ignore[reportPrivateImportUsage]
        return torch.mm(sparse, b)


class SparseMatmul:
    """``c = a @ b``, a [m, k] 2:4 sparse, ``precision`` fp16, bf16 or int8; sums in FP32 or INT32."""

    def __init__(
        self,
        device: Device,
        *,
        precision: str,
        n: int,
        seed: int,
        m: "int | None" = None,
        k: "int | None" = None,
        setup_counted: bool = False,
        library: "SparseLibrary | None" = None,
    ) -> None:
        if library is None and device.name != "cuda":
            raise UnsupportedError("this chip has no 2:4 sparse arithmetic")
        self._product = product_of(device, precision)
        self._library: SparseLibrary = library or TorchSparse(precision)
        self._precision, self._seed = precision, seed
        self._setup_counted = setup_counted
        m, k = m or n, k or n
        self.work = {"flop": operations(m, n, k)}
        random = torch.Generator(device=device.name).manual_seed(seed)
        self._dense = pruned(self._product.operand(m * k, random, device.name).view(m, k))
        self._b = self._product.operand(n * k, random, device.name).view(n, k).t()
        self._sparse = self._library.compressed(self._dense)
        self._c = self._library.multiplied(self._sparse, self._b)
        self._graph = self._captured(device) if device.name == "cuda" else Captured()

    def _captured(self, device: Device) -> Captured:
        """One iteration as a graph; none where its replay does not write the right result."""
        device.clear_peak()  # of the pruning
        made = captured(device, self._launch)
        if made.replay is None:
            return made
        self._c.zero_()
        made.replay()
        try:
            self.relative_error()
        except WrongResultError as err:
            return Captured(failure=f"replayed: {err}")
        return made

    def probe(self, left_s: float) -> Probe | None:
        """No need on a card."""
        return None

    def iterate(self) -> None:
        """Queue one product, and the compression if it counts."""
        if self._graph.replay is not None:
            self._graph.replay()
        else:
            self._launch()

    def _launch(self) -> None:
        if self._setup_counted:
            self._sparse = self._library.compressed(self._dense)
        self._c = self._library.multiplied(self._sparse, self._b)

    def mark(self) -> None:
        """Nothing is counted."""

    def relative_error(self) -> float | None:
        """Against float64 on the pruned operand.

        Raises:
            WrongResultError: above the tolerance of the precision.
        """
        return checked_error(self._product, self._dense, self._b, self._c, self._seed, f"2:4 {self._precision}")

    def notes(self) -> "dict[str, Fact]":
        """Which library ran it, and whether as a graph."""
        told: dict[str, Fact] = {
            "backend": self._library.name,
            "inputs": "normal",
            "setup_counted": self._setup_counted,
            "counted_as": "dense",
            "cuda_graph": self._graph.replay is not None,
        }
        if self._graph.failure:
            told["graph_failure"] = self._graph.failure
        if self._graph.peak_bytes:
            told["captured_peak_bytes"] = self._graph.peak_bytes
        return told
