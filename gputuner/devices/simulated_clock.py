"""Clocks of simulated cards: one that is moved, one that follows the wall."""

import threading
import time


class SimulatedClock:
    """A clock that stands still until it is moved: a run lives on it at the speed of the processor."""

    def __init__(self, start_ns: int = 0) -> None:
        """Start at ``start_ns``."""
        self._now_ns = start_ns

    def now_ns(self) -> int:
        """Nanoseconds on this clock."""
        return self._now_ns

    def advance_to_ns(self, t_ns: int) -> None:
        """Move to ``t_ns``; a time that has passed is ignored (clocks never go back)."""
        self._now_ns = max(self._now_ns, t_ns)

    def close(self) -> None:
        """Nothing is held."""


class WallDrivenClock:
    """Follows the host's monotonic clock, so that simulated cards can be watched live.

    Moving it means waiting: a scripted hung call then really blocks the thread that made it, until ``close()``.
    """

    def __init__(self) -> None:
        """Start now."""
        self._closed = threading.Event()

    def now_ns(self) -> int:
        """``time.monotonic_ns()``."""
        return time.monotonic_ns()

    def advance_to_ns(self, t_ns: int) -> None:
        """Wait until ``t_ns``, or until the clock is closed."""
        self._closed.wait(max(0.0, (t_ns - self.now_ns()) / 1e9))

    def close(self) -> None:
        """End every wait; idempotent."""
        self._closed.set()


CardClock = SimulatedClock | WallDrivenClock
