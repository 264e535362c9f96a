"""Arrays of seeded numbers on the card, the kernels of an operation over them, and whether the result is right."""

from collections.abc import Mapping

import numpy as np

from gputuner.workloads.bodies.failures import UnsupportedError, WrongResultError
from gputuner.workloads.kernels.device import KernelsDevice
from gputuner.workloads.kernels.runtime import Grid, Kernel
from gputuner.workloads.kernels.source import numbers
from gputuner.workloads.kernels.stream_source import (
    ARRAYS,
    CHECK_NAMES,
    OPERATION_NUMBER,
    SUMS,
    checks_source,
    stream_source,
    variants,
)
from gputuner.workloads.kernels.tuning import Way

LOOKED_AT = 4096
"""Numbers at either end of an array that the host compares with its own."""
FILL_THREADS = 256
WORDS = (0x3F9DF3B6, 0xBF317218)
"""What writes alternate between, so that none can be left out."""


class Arrays:
    """Room for one operation over up to ``size`` bytes an array."""

    def __init__(self, device: KernelsDevice, operation: str, size: int, seed: int, flush_bytes: int = 0) -> None:
        """Allocate and fill; ``flush_bytes``: of further room in all arrays together, for :meth:`flush`.

        Raises:
            UnsupportedError: no such operation.
        """
        if operation not in ARRAYS:
            raise UnsupportedError(f"unknown operation: {operation}")
        self._device = device
        self._operation = operation
        self._seed = seed & 0x7FFFFFFF
        capability = device.facts.capability
        self.variants = variants(capability)
        names = [variant.name(operation) for variant in self.variants]
        self._kernels: Mapping[str, Kernel] = device.kernels(stream_source(operation, capability), names)
        self._checks = device.kernels(checks_source(), CHECK_NAMES)
        self._fill_grid = Grid(blocks=8 * device.sm_count, threads=FILL_THREADS)
        self._beyond, self._flush_bytes = size, flush_bytes // ARRAYS[operation] // 4096 * 4096
        size += self._flush_bytes
        self._first = device.allocate(size)
        self._second = device.allocate(size) if operation == "triad" else self._first
        self._target = device.allocate(size) if operation in ("copy", "scale", "triad") else self._first
        self._sums = device.allocate(4 * SUMS)
        self._word = 0
        if operation != "write":
            self._fill(self._first, size, self._seed)
        if operation == "triad":
            self._fill(self._second, size, self._seed + 1)
        device.runtime.clear(self._sums, 4 * SUMS)

    def _fill(self, address: int, size: int, seed: int) -> None:
        self._device.runtime.launch(self._checks["fill"], self._fill_grid, address, size // 4, 0, seed)

    def run(self, way: Way, size: int, passes: int) -> None:
        """Queue the operation over the first ``size`` bytes of each array."""
        self._word = 1 - self._word
        self._launch(way, 0, size, passes)

    def flush(self, way: Way) -> None:
        """Queue the operation elsewhere: the L2 is left as a pass leaves it, but with nothing of these arrays.

        Filling it with writes would leave lines that the next pass must write back; reading, none.
        """
        if self._flush_bytes:
            self._launch(way, self._beyond, self._flush_bytes, 1)

    def _launch(self, way: Way, offset: int, size: int, passes: int) -> None:
        grid = way.grid(size, passes, self._device.sm_count)
        kernel = self._kernels[way.variant.name(self._operation)]
        addresses = (place + offset for place in (self._first, self._second, self._target))
        self._device.runtime.launch(kernel, grid, *addresses, self._sums, size // 16, passes, WORDS[self._word])

    def check(self, way: Way, size: int) -> float:
        """0: every bit of the last result is right, and of one more pass onto zeros.

        Raises:
            WrongResultError: one is not.
        """
        runtime = self._device.runtime
        if self._operation != "write":
            self._look(size)
        if self._operation == "read":
            runtime.clear(self._sums, 4 * SUMS)
            self.run(way, size, 1)
            found, expected = self._sum(), self._expected_sum(size)
            if found != expected:
                raise WrongResultError(f"read: the checksum is {found:08x}, not {expected:08x}")
            return 0.0
        self._compare(size)
        runtime.clear(self._target, size)
        self.run(way, size, 1)
        self._compare(size)
        return 0.0

    def _compare(self, size: int) -> None:
        runtime = self._device.runtime
        runtime.clear(self._sums, 8)
        runtime.launch(
            self._checks["check"], self._fill_grid, self._target, size // 4, OPERATION_NUMBER[self._operation],
            WORDS[self._word], self._seed, self._sums,
        )  # fmt: skip
        wrong = int.from_bytes(runtime.read(self._sums, 8), "little")
        if wrong:
            raise WrongResultError(f"{self._operation}: {wrong} of {size // 4} numbers are wrong")

    def _look(self, size: int) -> None:
        """The card made the numbers that the host makes."""
        count = min(LOOKED_AT, size // 4)
        for start in {0, size // 4 - count}:
            found = np.frombuffer(self._device.runtime.read(self._first + 4 * start, 4 * count), np.float32)
            if not np.array_equal(found, numbers(start, count, self._seed)):
                raise WrongResultError(f"{self._operation}: its input differs from what was written there")

    def _sum(self) -> int:
        words = np.frombuffer(self._device.runtime.read(self._sums, 4 * SUMS), np.uint32)
        return int(np.bitwise_xor.reduce(words))

    def _expected_sum(self, size: int) -> int:
        runtime = self._device.runtime
        runtime.clear(self._sums, 4 * SUMS)
        runtime.launch(self._checks["checksum"], self._fill_grid, size // 4, 0, self._seed, self._sums)
        return self._sum()
