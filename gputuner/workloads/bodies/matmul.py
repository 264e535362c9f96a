# pyright: standard
"""Product of two dense matrices, m × k by k × n, checked against float64."""

import time

import torch

from gputuner.workloads.bodies.body import Fact, Probe
from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.failures import WrongResultError
from gputuner.workloads.bodies.product import Product, product_of

BLOCK = 64
"""Rows and columns of the block that is checked."""

PROBE_N = 256


def operations(m: int, n: int, k: int) -> float:
    """Floating-point operations of a product: k multiplications and k additions for each of m · n results."""
    return 2.0 * m * n * k


def checked_error(
    product: Product, a: torch.Tensor, b: torch.Tensor, result: torch.Tensor, seed: int, precision: str
) -> float:
    """Relative Frobenius error of a block of random rows and columns against float64.

    Args:
        product: how it was multiplied (its tolerance).
        a: left operand [m, k].
        b: right operand [k, n].
        result: what was computed [m, n].
        seed: picks the rows and columns.
        precision: for the message.

    Raises:
        WrongResultError: above the tolerance.
    """
    random = torch.Generator().manual_seed(seed + 1)
    rows = torch.randint(a.shape[0], (BLOCK,), generator=random).to(a.device)
    columns = torch.randint(b.shape[1], (BLOCK,), generator=random).to(a.device)
    exact = _float64(a, rows) @ _float64(b.t(), columns).t()
    found = result[rows][:, columns].double()
    error = float((found - exact).norm() / exact.norm())
    if not error <= product.tolerance:
        raise WrongResultError(
            f"the {precision} product differs from float64 by {error:.2e} (rounding explains {product.tolerance:.0e})"
        )
    return error


def _float64(matrix: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    if matrix.dtype.itemsize == 1 and matrix.dtype.is_floating_point:  # 8-bit floats cannot be indexed everywhere
        return torch.stack([matrix[int(row)].float().double() for row in rows])
    return matrix[rows].double()


class Matmul:
    """``c = a @ b`` with N(0,1) entries; ``m`` and ``k`` default to ``n``; sums as the precision says."""

    def __init__(
        self,
        device: Device,
        *,
        precision: str,
        n: int,
        seed: int,
        m: "int | None" = None,
        k: "int | None" = None,
        transposed: "bool | None" = None,
        fast_accumulate: bool = False,
    ) -> None:
        self._product = product_of(device, precision, fast_accumulate=fast_accumulate)
        self._device = device
        self._precision = precision
        self._seed = seed
        self._m, self._n, self._k = m or n, n, k or n
        self._transposed = self._product.layouts[0] if transposed is None else transposed
        self.work = {"flop": operations(self._m, self._n, self._k)}
        random = torch.Generator(device=device.name).manual_seed(seed)
        self._a = self._product.operand(self._m * self._k, random, device.name).view(self._m, self._k)
        flat = self._product.operand(self._k * self._n, random, device.name)
        self._b = flat.view(self._n, self._k).t() if self._transposed else flat.view(self._k, self._n)
        self._c = torch.empty(self._m, self._n, dtype=self._product.result, device=device.name)

    def probe(self, left_s: float) -> Probe | None:
        """A product of 256 × 256, on processors (half precision may take 1000 times longer than FP32 there)."""
        if self._device.name != "cpu" or min(self._m, self._n, self._k) <= 2 * PROBE_N:
            return None
        a, b = self._a[:PROBE_N, :PROBE_N].contiguous(), self._b[:PROBE_N, :PROBE_N].contiguous()
        c = torch.empty(PROBE_N, PROBE_N, dtype=self._product.result)
        self._product.multiply(a, b, c)
        start = time.perf_counter()
        self._product.multiply(a, b, c)
        seconds = time.perf_counter() - start
        flop = operations(PROBE_N, PROBE_N, PROBE_N)
        return Probe(
            seconds=seconds,
            work={"flop": flop},
            expected_s=seconds * self.work["flop"] / flop,
            notes={"measured_n": PROBE_N},
        )

    def iterate(self) -> None:
        """Queue one product."""
        self._product.multiply(self._a, self._b, self._c)

    def mark(self) -> None:
        """Nothing is counted."""

    def relative_error(self) -> float | None:
        """Relative Frobenius error of a block of random rows and columns against float64.

        Raises:
            WrongResultError: above the tolerance of the precision.
        """
        return checked_error(self._product, self._a, self._b, self._c, self._seed, self._precision)

    def notes(self) -> dict[str, Fact]:
        """What was multiplied."""
        return {
            **self._product.notes,
            "inputs": "normal",
            "tolerance": self._product.tolerance,
            "transposed": self._transposed,
        }
