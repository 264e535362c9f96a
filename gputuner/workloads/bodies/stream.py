# pyright: standard
"""Memory bandwidth: read, write, copy, scale and triad over FP32 arrays (after McCalpin's STREAM, 1995).

Bytes are counted as the operation defines them: read and write one array, copy and scale two, triad three. What a cache
fetches before it overwrites a line is not counted.
"""

import time
from collections.abc import Iterator

import torch

from gputuner.workloads.bodies.body import Fact, Probe
from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.failures import UnsupportedError, WrongResultError
from gputuner.workloads.bodies.survey import Pace, Part

ARRAYS = {"read": 1, "write": 1, "copy": 2, "scale": 2, "triad": 3}
"""Arrays that an operation touches, each once."""
SCALAR = 0.75
"""Exactly representable, so that results can be compared exactly."""
SMALLEST_BYTES = 256 << 10
PER_OCTAVE = 2
WINDOW_S = 0.004
LEAST_WINDOWS = 24
SUM_TOLERANCE = 1e-4
"""Relative to the sum of magnitudes: FP32 sums by tree, of up to 10⁹ numbers."""


class Stream:
    """One operation over arrays of ``bytes`` bytes each."""

    def __init__(self, device: Device, *, operation: str, bytes: int, seed: int) -> None:
        if operation not in ARRAYS:
            raise UnsupportedError(f"unknown operation: {operation}")
        self._device = device
        self._operation = operation
        count = max(1, bytes // 4)
        random = torch.Generator(device=device.name).manual_seed(seed)
        self._first = torch.randn(count, device=device.name, generator=random)
        self._second = torch.randn(count, device=device.name, generator=random) if operation == "triad" else self._first
        self._target = self._first if operation == "read" else torch.zeros(count, device=device.name)
        self._sum = torch.zeros((), device=device.name)
        self._written = 0.0
        self.use(count)

    def use(self, count: int) -> None:
        """Work on the first ``count`` numbers of each array from here on."""
        self._a, self._b, self._out = self._first[:count], self._second[:count], self._target[:count]
        self.work = {"bytes": 4.0 * count * ARRAYS[self._operation]}

    def probe(self, left_s: float) -> Probe | None:
        """No need."""
        return None

    def iterate(self) -> None:
        """Queue one pass."""
        match self._operation:
            case "read":
                torch.sum(self._a, dim=0, out=self._sum)
            case "write":
                self._written = 1.0 - self._written
                self._out.fill_(self._written)
            case "copy":
                self._out.copy_(self._a)
            case "scale":
                torch.mul(self._a, SCALAR, out=self._out)
            case _:
                torch.add(self._a, self._b, alpha=SCALAR, out=self._out)

    def mark(self) -> None:
        """Nothing is counted."""

    def relative_error(self) -> float | None:
        """Difference of the last result from what the operation defines.

        Raises:
            WrongResultError: a number is wrong, or a sum by more than FP32 rounding.
        """
        if self._operation == "read":
            exact, scale = (float(f(self._a).double()) for f in (_sum64, _magnitude64))
            error = abs(float(self._sum) - exact) / scale
            if not error <= SUM_TOLERANCE:
                raise WrongResultError(f"the sum differs from float64 by {error:.1e} of its magnitude")
            return error
        wrong = self._out - self._expected()
        error = float(wrong.abs().max())
        if not error <= 1e-6 * 8:
            raise WrongResultError(f"{self._operation}: a number differs by {error:.1e}")
        return error

    def _expected(self) -> torch.Tensor:
        match self._operation:
            case "write":
                return torch.full_like(self._out, self._written)
            case "copy":
                return self._a
            case "scale":
                return self._a * SCALAR
            case _:
                return self._a + self._b * SCALAR

    def notes(self) -> "dict[str, Fact]":
        """Which code ran, and how far the arrays reach beyond the last cache."""
        facts: dict[str, Fact] = {"kernel": "torch", "inputs": "normal"}
        if self._device.cache_bytes:
            facts["footprint_over_cache"] = round(self.work["bytes"] / self._device.cache_bytes, 3)
        return facts


def _sum64(values: torch.Tensor) -> torch.Tensor:
    return torch.sum(values, dtype=torch.float64)


def _magnitude64(values: torch.Tensor) -> torch.Tensor:
    return torch.linalg.vector_norm(values, 1, dtype=torch.float64)


class StreamSweep:
    """The same operation over growing arrays, from the cache into DRAM; the footprint of all arrays is told.

    Small footprints are passed over again and again and stay in the cache on purpose; from four caches on, one pass
    drives out what the last one left.
    """

    def __init__(self, device: Device, *, operation: str, largest_bytes: int, seed: int) -> None:
        self._device = device
        self._operation = operation
        self._arrays = ARRAYS.get(operation, 1)
        self._largest = largest_bytes // self._arrays
        self._stream = Stream(device, operation=operation, bytes=self._largest, seed=seed)
        self.work: dict[str, float] = {}

    def sizes(self) -> "list[int]":
        """Bytes of one array, rising, two to an octave."""
        sizes: list[int] = []
        step = 0
        while (size := int(SMALLEST_BYTES * 2 ** (step / PER_OCTAVE)) // 4096 * 4096) <= self._largest:
            sizes.append(size)
            step += 1
        return sizes or [self._largest // 4 * 4]

    def parts(self, pace: Pace) -> Iterator[Part]:
        """One part for each size."""
        sizes = self.sizes()
        for place, size in enumerate(sizes):
            if pace.stopped() or (pace.left_s() <= 0 and place):
                return
            pace.tried(place, len(sizes))
            share_s = max(0.0, pace.left_s()) / (len(sizes) - place)
            self._stream.use(size // 4)
            yield self._part(size, share_s)

    def _part(self, size: int, seconds: float) -> Part:
        stream = self._stream
        stream.iterate()
        self._device.synchronise()
        start = time.perf_counter()
        stream.iterate()
        self._device.synchronise()
        once_s = max(time.perf_counter() - start, 1e-7)
        count = max(1, round(WINDOW_S / once_s))
        windows = self._device.windows(WINDOW_S)
        done: list[float] = []
        t0_ns = time.monotonic_ns()
        while len(done) + windows.running() < LEAST_WINDOWS or time.monotonic_ns() - t0_ns < seconds * 1e9:
            done += windows.run(stream.iterate, count)
            if time.monotonic_ns() - t0_ns > 4e9 * max(seconds, 0.1):
                break
        done += windows.drain()
        return Part(
            params={"operation": self._operation, "bytes": size * self._arrays},
            iteration_s=tuple(done),
            t0_ns=t0_ns,
            t1_ns=time.monotonic_ns(),
            work=dict(stream.work),
            relative_error=stream.relative_error(),
            notes={"kernel": "torch"},
        )

    def notes(self) -> "dict[str, Fact]":
        """As of one operation."""
        return {"kernel": "torch", "inputs": "normal"}
