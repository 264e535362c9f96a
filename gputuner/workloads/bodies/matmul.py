# pyright: standard
"""Product of two dense n × n matrices, checked against float64."""

import time

import torch

from gputuner.workloads.bodies import precision as precisions
from gputuner.workloads.bodies.body import Fact, Probe
from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.failures import WrongResultError

TOLERANCE = {"fp32": 3e-5, "tf32": 2e-3, "fp16": 3e-3, "bf16": 1.5e-2}
"""Largest relative Frobenius error that rounding explains: a few times the rounding of inputs and result (unit
roundoff 2^-24, 2^-11, 2^-11, 2^-8), with room for split-k sums in half precision. FP32 that silently ran as TF32 (error
about 3e-4) is caught."""

BLOCK = 64
"""Rows and columns of the block that is checked."""

PROBE_N = 256


class Matmul:
    """``c = a @ b`` with N(0,1) entries in the storage type of the precision, accumulated as the library does."""

    def __init__(self, device: Device, *, precision: str, n: int, seed: int) -> None:
        precisions.check(device, precision)
        precisions.switch_tf32(precision == "tf32")
        self._device = device
        self._precision = precision
        self._seed = seed
        self._dtype = precisions.STORAGE[precision]
        self._n = n
        self.work = {"flop": 2.0 * n**3}
        random = torch.Generator(device=device.name).manual_seed(seed)
        self._a, self._b = (self._normal(n, random) for _ in range(2))
        self._c = torch.empty(n, n, dtype=self._dtype, device=device.name)

    def _normal(self, n: int, random: torch.Generator) -> torch.Tensor:
        return torch.randn(n, n, device=self._device.name, generator=random, dtype=self._dtype)

    def probe(self, left_s: float) -> Probe | None:
        """A product of 256 × 256, on processors (half precision may take 1000 times longer than FP32 there)."""
        if self._device.name != "cpu" or self._n <= 2 * PROBE_N:
            return None
        a, b = (matrix[:PROBE_N, :PROBE_N].contiguous() for matrix in (self._a, self._b))
        torch.mm(a, b)
        start = time.perf_counter()
        torch.mm(a, b)
        seconds = time.perf_counter() - start
        return Probe(
            seconds=seconds,
            work={"flop": 2.0 * PROBE_N**3},
            expected_s=seconds * (self._n / PROBE_N) ** 3,
            notes={"measured_n": PROBE_N},
        )

    def iterate(self) -> None:
        """Queue one product."""
        torch.mm(self._a, self._b, out=self._c)

    def mark(self) -> None:
        """Nothing is counted."""

    def relative_error(self) -> float | None:
        """Relative Frobenius error of a block of random rows and columns against float64.

        Raises:
            WrongResultError: above the tolerance of the precision.
        """
        random = torch.Generator().manual_seed(self._seed + 1)
        rows, columns = (torch.randint(self._n, (BLOCK,), generator=random).to(self._device.name) for _ in range(2))
        exact = self._a[rows].double() @ self._b[:, columns].double()
        found = self._c[rows][:, columns].double()
        error = float((found - exact).norm() / exact.norm())
        tolerance = TOLERANCE[self._precision]
        if not error <= tolerance:
            raise WrongResultError(
                f"the product differs from float64 by {error:.2e} (rounding explains {tolerance:.0e})"
            )
        return error

    def notes(self) -> dict[str, Fact]:
        """What was multiplied."""
        return {
            "emulated": precisions.emulated(self._device, self._precision),
            "inputs": "normal",
            "tolerance": TOLERANCE[self._precision],
        }
