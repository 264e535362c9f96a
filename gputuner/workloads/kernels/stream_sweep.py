"""Bandwidth over sizes, from the L2 into DRAM.

Small footprints are gone through many times in one launch and stay in the L2 on purpose, by loads that leave nothing in
the L1, and tile after tile over the whole footprint: where each block goes through a part of its own again and again
(the order of strides), that part stays in a cache, however large the footprint is. From four L2 on, the operation goes
over other memory of twice the L2 between two timed passes, so that each finds nothing of the last one there, and as
many lines to be written back as it leaves.
"""

import time
from collections.abc import Callable, Iterator

from gputuner.workloads.bodies.body import Fact
from gputuner.workloads.bodies.survey import Pace, Part
from gputuner.workloads.kernels.arrays import Arrays
from gputuner.workloads.kernels.device import KernelsDevice
from gputuner.workloads.kernels.stream_source import ARRAYS, PAST_L1, TILES
from gputuner.workloads.kernels.tuning import Way, fastest, ways

SMALLEST_BYTES = 256 << 10
PER_OCTAVE = 2
BEYOND_CACHE = 4
"""From so many L2 on nothing of the last pass is to be found there."""
FLUSH_CACHES = 2
LAUNCH_S = 0.0003
"""A launch should take so long: the gap to the next one is a microsecond."""
MOST_PASSES = 4096
TUNE_S = 0.12
LEAST_WINDOWS, MOST_WINDOWS = 24, 400
"""Twenty give an interval; the first of a row, which follows a pause, does not count."""


class StreamSweep:
    """One operation over arrays that grow until all of them take ``largest_bytes``."""

    def __init__(self, device: KernelsDevice, *, operation: str, largest_bytes: int, seed: int) -> None:
        self._device = device
        self._operation = operation
        self._count = ARRAYS.get(operation, 1)
        self._largest = max(4096, largest_bytes // self._count // 4096 * 4096)
        self._arrays = Arrays(device, operation, self._largest, seed, FLUSH_CACHES * device.cache_bytes)
        self._ways = ways(self._arrays.variants)
        self._repeated = ways(
            [variant for variant in self._arrays.variants if variant.hint in PAST_L1 and variant.order == TILES]
        )
        self.work: dict[str, float] = {}

    def sizes(self) -> list[int]:
        """Bytes of one array, rising, two to an octave; the last is the largest."""
        sizes: list[int] = []
        step = 0
        while (size := int(SMALLEST_BYTES * 2 ** (step / PER_OCTAVE)) // 4096 * 4096) < self._largest:
            sizes.append(size)
            step += 1
        return [*sizes, self._largest]

    def parts(self, pace: Pace) -> Iterator[Part]:
        """One part for each size."""
        sizes = self.sizes()
        for place, size in enumerate(sizes):
            if pace.stopped() or (pace.left_s() < -pace.measure_s and place):  # a curve without its end says little
                return
            yield self._part(size, max(0.0, pace.left_s()) / (len(sizes) - place))

    def _part(self, size: int, seconds: float) -> Part:
        cold = self._device.cache_bytes > 0 and size * self._count >= BEYOND_CACHE * self._device.cache_bytes
        passes = 1 if cold else self._passes(size)
        tried = self._ways if cold else self._repeated
        way = fastest(tried, lambda way: self._once(way, size, passes, cold), TUNE_S)
        t0_ns = time.monotonic_ns()
        until_ns = t0_ns + int(1e9 * max(0.0, seconds - TUNE_S))

        def more(done: int) -> bool:
            return done < LEAST_WINDOWS or (done < MOST_WINDOWS and time.monotonic_ns() < until_ns)

        measured = self._flushed(way, size, more) if cold else self._warm(way, size, passes, more)
        return Part(
            params={"operation": self._operation, "bytes": size * self._count},
            iteration_s=tuple(measured),
            t0_ns=t0_ns,
            t1_ns=time.monotonic_ns(),
            work={"bytes": float(size * self._count)},
            relative_error=self._arrays.check(way, size),
            notes={"kernel": f"nvrtc {way.label()}", "passes": passes, "flushed": cold},
        )

    def _passes(self, size: int) -> int:
        """So many that a launch is long beside the gap to the next one."""
        way, passes = self._repeated[0], 1
        while passes < MOST_PASSES and self._once(way, size, passes, False) < LAUNCH_S:
            passes *= 2
        return passes

    def _once(self, way: Way, size: int, passes: int, cold: bool) -> float:
        if cold:
            self._arrays.flush(way)
        return self._device.timed(lambda: self._arrays.run(way, size, passes))

    def _warm(self, way: Way, size: int, passes: int, more: Callable[[int], bool]) -> list[float]:
        windows = self._device.windows(LAUNCH_S)
        done: list[float] = []
        while more(len(done) + windows.running()):
            done += windows.run(lambda: self._arrays.run(way, size, passes), 1)
        done += windows.drain()
        return [seconds / passes for seconds in done[1:] or done]

    def _flushed(self, way: Way, size: int, more: Callable[[int], bool]) -> list[float]:
        done: list[float] = []
        while more(len(done)):
            done.append(self._once(way, size, 1, True))
        return done

    def notes(self) -> dict[str, Fact]:
        """As of one operation."""
        return {"inputs": "normal"}
