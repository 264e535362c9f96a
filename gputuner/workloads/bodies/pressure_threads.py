"""Threads that keep cores busy: the probe of the host's processor.

Digests of a buffer that stays in a core's own cache; Python's lock is not held meanwhile, so that threads run at once.
"""

import hashlib
import time
from concurrent.futures import ThreadPoolExecutor
from math import ceil

from gputuner.workloads.bodies.body import Fact, Probe
from gputuner.workloads.bodies.host_use import allowed_cores

BLOCK = bytes(64 << 10)
THREADS_PER_CORE = 2.0
"""At dial 1."""
TIMED_BLOCKS = 50


def cores() -> int:
    """Cores that this process may keep busy: by affinity and by the quota of its control group, rounded up."""
    return max(1, ceil(allowed_cores()))


def digests(count: int) -> None:
    """Digest the block ``count`` times."""
    for _ in range(count):
        hashlib.sha256(BLOCK).digest()


class Spinning:
    """``dial`` × twice the cores threads, each with digests for ``burst_s`` an iteration."""

    def __init__(self, *, dial: float, burst_s: float, passes: int) -> None:
        self._threads = max(1, round(dial * THREADS_PER_CORE * cores()))
        self._dial, self._burst_s = dial, burst_s
        self._passes = passes or max(1, round(burst_s / self._block_s()))
        self._pool = ThreadPoolExecutor(max_workers=self._threads, thread_name_prefix="pressure")
        self.work = {"digests": float(self._threads * self._passes)}

    @staticmethod
    def _block_s() -> float:
        """Seconds of one digest."""
        start = time.perf_counter()
        digests(TIMED_BLOCKS)
        return max((time.perf_counter() - start) / TIMED_BLOCKS, 1e-7)

    def probe(self, left_s: float) -> Probe | None:
        """No need."""
        return None

    def iterate(self) -> None:
        """One burst in every thread."""
        for done in [self._pool.submit(digests, self._passes) for _ in range(self._threads)]:
            done.result()

    def mark(self) -> None:
        """Nothing is counted."""

    def relative_error(self) -> float | None:
        """Nothing is computed that could be wrong."""
        return None

    def notes(self) -> "dict[str, Fact]":
        """What is needed to run the same burst again."""
        return {
            "kernel": "sha256",
            "passes": self._passes,
            "burst_s": self._burst_s,
            "dial": self._dial,
            "spin_threads": self._threads,
            "cores": cores(),
        }
