"""Latency of one access: a single thread follows pointers through a random single cycle, over growing footprints.

Each node is a line of its own. Footprints of up to four L2 are linked line by line: all threads of the block touch them
once (few nodes are also followed once all round), then one thread chases as many accesses as there are nodes, at most
as many as the L2 has lines: so the curve goes on smoothly where a footprint no longer fits. Of larger footprints as
many lines, spread evenly and at random, are linked, the L2 is flushed, and no node is met twice: every access misses. A
next window goes on where the last one ended. Time is the global timer's, cycles the SM's own.
Peers: gpu-benches (one warp, random cycle), Citadel's Volta paper (fixed strides).
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gputuner.workloads.bodies.body import Fact
from gputuner.workloads.bodies.failures import WrongResultError
from gputuner.workloads.bodies.survey import Pace, Part
from gputuner.workloads.kernels.chase_source import NAMES, RESULT_BYTES, SECTOR_BYTES, SEGMENTS, UNROLL, chase_source
from gputuner.workloads.kernels.device import KernelsDevice
from gputuner.workloads.kernels.runtime import Grid

SMALLEST_BYTES = 4096
PER_OCTAVE = 3
EIGHTHS_OF_CACHE = range(3, 11)
"""Closer to the size of the L2: the far half of a divided L2 shows within less than an octave."""
BEYOND_CACHE = 4
LEAST_NODES = 1 << 18
LEAST_STEPS, COLD_STEPS, MOST_STEPS = 1 << 15, 1 << 15, 1 << 19
LEAST_WINDOWS, MOST_WINDOWS = 3, 15
SETTLE_S, SETTLED = 1.0, 0.005
"""Before anything counts, the clock is brought up until two windows differ by less than this."""
THREADS = 1024
LAP_NODES = 1 << 13
"""So few are followed once all round before the clock starts: whatever the L1 can hold, it holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """The nodes of one footprint: ``order`` are their lines in the order of the chase, ``cold``: each misses the L2."""

    order: NDArray[np.uint32]
    steps: int
    cold: bool


def track(footprint: int, stride: int, cache_bytes: int, rng: np.random.Generator) -> Track:
    """A random single cycle through a footprint.

    Nodes in random order, each linked to the next, are a cycle as Sattolo's algorithm draws it, all equally likely.

    Args:
        footprint: bytes that the nodes are spread over.
        stride: bytes from one line to the next.
        cache_bytes: of the L2; 0: not known.
        rng: draws the order.
    """
    lines, most = footprint // stride, max(LEAST_NODES, BEYOND_CACHE * cache_bytes // stride)
    if lines <= most:
        wanted = min(lines, cache_bytes // stride) if cache_bytes else lines
        steps = min(max(wanted, LEAST_STEPS), MOST_STEPS)
        return Track(order=rng.permutation(lines).astype(np.uint32), steps=_whole(steps), cold=False)
    slots = rng.permutation(most).astype(np.uint64)
    low, high = slots * lines // most, (slots + 1) * lines // most
    order = low + (rng.random(most) * (high - low)).astype(np.uint64)
    return Track(order=order.astype(np.uint32), steps=_whole(COLD_STEPS), cold=True)


def _whole(steps: int) -> int:
    return -(-steps // (UNROLL * SEGMENTS)) * UNROLL * SEGMENTS


def footprints(largest: int, cache_bytes: int) -> list[int]:
    """Bytes, rising: three to an octave, and eighths of the L2 around its size."""
    found: set[int] = set()
    step = 0
    while (size := round(SMALLEST_BYTES * 2 ** (step / PER_OCTAVE)) // 1024 * 1024) <= largest:
        found.add(size)
        step += 1
    found |= {size for k in EIGHTHS_OF_CACHE if 0 < (size := k * cache_bytes // 8 // 4096 * 4096) <= largest}
    return sorted(found)


class Chase:
    """Footprints up to ``largest_bytes``, lines of ``stride_bytes``."""

    def __init__(self, device: KernelsDevice, *, largest_bytes: int, stride_bytes: int, seed: int) -> None:
        self._device = device
        self._stride = stride_bytes
        self._sizes = footprints(largest_bytes, device.cache_bytes)
        self._rng = np.random.default_rng(seed)
        self._kernels = device.kernels(chase_source(), NAMES)
        self._base = device.allocate(max(largest_bytes, SMALLEST_BYTES))
        most = max(LEAST_NODES, BEYOND_CACHE * device.cache_bytes // stride_bytes)
        self._order = device.allocate(4 * most)
        self._result = device.allocate(RESULT_BYTES)
        self._flush_bytes = 2 * device.cache_bytes
        self._flush = device.allocate(self._flush_bytes) if self._flush_bytes else 0
        self.work: dict[str, float] = {}

    def parts(self, pace: Pace) -> Iterator[Part]:
        """One part for each footprint."""
        self._bring_clock_up()
        for place, size in enumerate(self._sizes):
            if pace.stopped() or (pace.left_s() < -pace.measure_s and place):  # without its end a curve has no DRAM
                return
            yield self._part(size, max(0.0, pace.left_s()) / (len(self._sizes) - place))

    def _bring_clock_up(self) -> None:
        made = self._laid(SMALLEST_BYTES)
        at, before = self._start(made), 0.0
        until = time.monotonic() + SETTLE_S
        while time.monotonic() < until:
            at, _, each = self._window(made, at)
            seconds = sum(each) / len(each)
            if abs(seconds - before) <= SETTLED * before:
                return
            before = seconds

    def _laid(self, size: int) -> Track:
        """The nodes linked in memory."""
        made = track(size, self._stride, self._device.cache_bytes, self._rng)
        runtime, count = self._device.runtime, len(made.order)
        runtime.write(self._order, made.order.tobytes())
        grid = Grid(blocks=4 * self._device.sm_count, threads=256)
        runtime.launch(self._kernels["link"], grid, self._base, self._order, count, self._stride)
        if made.cold and self._flush_bytes:
            runtime.launch(self._kernels["look"], grid, self._flush, self._flush_bytes // SECTOR_BYTES)
        return made

    def _start(self, made: Track) -> int:
        return self._base + int(made.order[0]) * self._stride

    def _window(self, made: Track, at: int) -> tuple[int, float, list[float]]:
        """Chase once from ``at``: where it ended, cycles of an access, and seconds of one in each stretch.

        A stretch is too short for the coarse timer of some chips: its cycles are told in seconds by the whole's.
        """
        runtime = self._device.runtime
        touched = 0 if made.cold else len(made.order)
        lap = touched if touched <= LAP_NODES else 0
        one = Grid(blocks=1, threads=THREADS)
        runtime.launch(
            self._kernels["chase"], one, at, self._base, touched, lap, self._stride, made.steps, self._result
        )  # fmt: skip
        end, nanoseconds, *cycles = np.frombuffer(runtime.read(self._result, RESULT_BYTES), np.uint64).tolist()
        whole = max(1, sum(cycles))
        cycle_s = nanoseconds / 1e9 / whole
        return end, whole / made.steps, [count * cycle_s * SEGMENTS / made.steps for count in cycles]

    def _part(self, size: int, seconds: float) -> Part:
        t_ns = time.monotonic_ns()
        made = self._laid(size)
        at, *_ = self._window(made, self._start(made))
        windows = 1
        t0_ns = time.monotonic_ns()
        until_ns = t_ns + int(seconds * 1e9)
        found: list[float] = []
        cycles: list[float] = []
        while len(cycles) < LEAST_WINDOWS or (len(cycles) < self._most(made) and time.monotonic_ns() < until_ns):
            at, cycles_each, seconds_each = self._window(made, at)
            windows += 1
            found += seconds_each
            cycles.append(cycles_each)
        self._check(made, at, windows * made.steps)
        each = sorted(cycles)[len(cycles) // 2]
        return Part(
            params={"bytes": size, "stride_bytes": self._stride},
            iteration_s=tuple(found),
            t0_ns=t0_ns,
            t1_ns=time.monotonic_ns(),
            work={"calls": 1.0},
            relative_error=0.0,
            notes={"cycles": round(each, 2), "nodes": len(made.order), "steps": made.steps, "cold": made.cold},
        )

    @staticmethod
    def _most(made: Track) -> int:
        """Cold nodes are not met twice."""
        return min(MOST_WINDOWS, len(made.order) // made.steps - 1) if made.cold else MOST_WINDOWS

    def _check(self, made: Track, at: int, steps: int) -> None:
        """The chase ended where so many steps lead.

        Raises:
            WrongResultError: somewhere else.
        """
        expected = self._base + int(made.order[steps % len(made.order)]) * self._stride
        if at != expected:
            raise WrongResultError(
                f"after {steps} steps the chase is at {at - self._base}, not {expected - self._base}"
            )

    def notes(self) -> dict[str, Fact]:
        """What kind of chase."""
        return {"kernel": "nvrtc", "threads": 1, "cycle": "random"}
