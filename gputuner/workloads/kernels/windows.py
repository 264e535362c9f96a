"""Windows on the card's own clock; the end of one is the start of the next."""

import collections
from collections.abc import Callable

from gputuner.workloads.kernels.runtime import Mark, Runtime

IN_FLIGHT = 2
"""Windows queued ahead at least: the card never waits for the host between two of them."""
AHEAD_S = 0.02
"""Work queued ahead in short windows: waking up from an event takes the host up to some milliseconds."""


class MarkWindows:
    """A row of windows, some of them in flight."""

    def __init__(self, runtime: Runtime, length_s: float) -> None:
        self._runtime = runtime
        self._ahead = max(IN_FLIGHT, round(AHEAD_S / length_s))
        self._borders: collections.deque[tuple[Mark, int]] = collections.deque([(runtime.mark(), 0)])

    def run(self, iterate: Callable[[], None], count: int) -> list[float]:
        """Queue one window; seconds per iteration of those that are over."""
        for _ in range(count):
            iterate()
        self._borders.append((self._runtime.mark(), count))
        return self._collect(self._ahead)

    def drain(self) -> list[float]:
        """Seconds per iteration of the windows still in flight."""
        return self._collect(0)

    def running(self) -> int:
        """Windows in flight."""
        return len(self._borders) - 1

    def _collect(self, keep: int) -> list[float]:
        done: list[float] = []
        while len(self._borders) - 1 > keep:
            start, _ = self._borders.popleft()
            end, count = self._borders[0]
            self._runtime.wait(end)
            done.append(self._runtime.seconds(start, end) / count)
        return done
