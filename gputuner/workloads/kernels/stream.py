"""Memory bandwidth by our own kernels: read, write, copy, scale and triad over FP32 arrays (after McCalpin's STREAM).

Vectors of 16 bytes; unrolling, cache hint and spread are the fastest of those tried in set-up, each behind a pass of
its own kind: what a pass leaves in the L2 to be written back is paid by the next one. Bytes are counted as the
operation defines them. Every number of the result is compared, bit for bit, with what it must be.
"""

from functools import partial

from gputuner.workloads.bodies.body import Fact, Probe
from gputuner.workloads.kernels.arrays import Arrays
from gputuner.workloads.kernels.device import KernelsDevice
from gputuner.workloads.kernels.stream_source import ARRAYS
from gputuner.workloads.kernels.tuning import Way, fastest, ways

TUNE_S, PASSES = 2.0, 5
LEAST_BYTES = 4096


class Stream:
    """One operation over arrays of ``bytes`` bytes each; an iteration is one pass."""

    def __init__(self, device: KernelsDevice, *, operation: str, bytes: int, seed: int) -> None:
        self._device = device
        self._size = max(LEAST_BYTES, bytes // 16 * 16)
        self._arrays = Arrays(device, operation, self._size, seed)
        self.work = {"bytes": float(self._size * ARRAYS[operation])}
        self._way = fastest(ways(self._arrays.variants), self._seconds, TUNE_S, partial(self._seconds, passes=PASSES))

    def _seconds(self, way: Way, passes: int = 1) -> float:
        """Of one of so many passes in a row."""
        run = partial(self._arrays.run, way, self._size, 1)

        def queue() -> None:
            for _ in range(passes):
                run()

        return self._device.timed(queue, before=run) / passes

    def probe(self, left_s: float) -> Probe | None:
        """No need: a pass was timed in set-up."""
        return None

    def iterate(self) -> None:
        """Queue one pass."""
        self._arrays.run(self._way, self._size, 1)

    def mark(self) -> None:
        """Nothing is counted."""

    def relative_error(self) -> float | None:
        """0: every number is right.

        Raises:
            WrongResultError: one is not.
        """
        return self._arrays.check(self._way, self._size)

    def notes(self) -> dict[str, Fact]:
        """Which kernel ran, and how far the arrays reach beyond the L2."""
        facts: dict[str, Fact] = {"kernel": f"nvrtc {self._way.label()}", "inputs": "normal"}
        if self._device.cache_bytes:
            facts["footprint_over_cache"] = round(self.work["bytes"] / self._device.cache_bytes, 3)
        return facts
