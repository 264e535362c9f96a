"""When an alert is raised and cleared: a condition must hold by readings, unknown time counts for nothing. No clock."""

from collections import deque
from enum import IntEnum

from gputuner.model.alerts import LIMIT_WINDOW_S
from gputuner.model.quantities import Limiter, limiter_of

NS = 1_000_000_000
HELD_NS = 2 * NS
"""A reading of a limit holds until the next one, at most so long."""
COUNTED = (Limiter.THERMAL_SOFTWARE, Limiter.THERMAL_HARDWARE, Limiter.POWER_BRAKE)


class Level(IntEnum):
    """Where a value stands: beyond the threshold, between it and the margin behind it, or well behind."""

    OVER = 1
    BETWEEN = 0
    UNDER = -1


def level(value: float, threshold: float, margin: float, *, falls: bool = False) -> Level:
    """The level of a value; ``falls``: the alert is about values at or below the threshold."""
    if falls:
        value, threshold = -value, -threshold
    if value >= threshold:
        return Level.OVER
    return Level.UNDER if value <= threshold - margin else Level.BETWEEN


class Debounce:
    """States: *calm* → *raised* once ``OVER`` has held for ``hold_ns`` → *calm* once ``UNDER`` has held for as long.

    The time that a level has held runs from its first reading to its newest, all readings between being of that level
    and none further than ``gap_ns`` behind the one before: of a silence, a suspend or a jump of the clock nothing is
    known, so the count begins anew behind it. What is not read is simply not handed in: it neither raises nor clears.
    """

    __slots__ = ("_gap_ns", "_hold_ns", "_last_ns", "_since_ns", "raised")

    def __init__(self, hold_ns: int, gap_ns: int) -> None:
        """Start calm."""
        self.raised = False
        self._hold_ns, self._gap_ns = hold_ns, gap_ns
        self._last_ns: int | None = None
        self._since_ns: int | None = None

    def take(self, t_ns: int, found: Level) -> bool:
        """Take a reading's level; True if the state changes with it."""
        if self._last_ns is not None and not 0 <= t_ns - self._last_ns <= self._gap_ns:
            self._since_ns = None
        self._last_ns = t_ns
        if found is not (Level.UNDER if self.raised else Level.OVER):
            self._since_ns = None
            return False
        if self._since_ns is None:
            self._since_ns = t_ns
        if t_ns - self._since_ns < self._hold_ns:
            return False
        self.raised, self._since_ns = not self.raised, None
        return True


class LimitTally:
    """Seconds of the last minute that a card spent in the limits that count."""

    def __init__(self) -> None:
        """Nothing seen yet."""
        self._spans: deque[tuple[int, int]] = deque()
        self._total_ns = 0
        self._last: tuple[int, Limiter] | None = None
        self.limiter = Limiter.NONE
        """The one that counted last."""

    def take(self, t_ns: int, bits: int) -> float:
        """Take a reading of the limit bits; seconds in a counted limit within the minute up to now."""
        if self._last is not None:
            before_ns, limiter = self._last
            span_ns = t_ns - before_ns
            if limiter in COUNTED and span_ns > 0:
                self._spans.append((t_ns, min(span_ns, HELD_NS)))
                self._total_ns += min(span_ns, HELD_NS)
        now = limiter_of(bits)
        self._last = t_ns, now
        if now in COUNTED:
            self.limiter = now
        while self._spans and self._spans[0][0] <= t_ns - LIMIT_WINDOW_S * NS:
            self._total_ns -= self._spans.popleft()[1]
        return self._total_ns / NS

    @property
    def hardware(self) -> bool:
        """True while the newest reading tells the hardware's thermal limit."""
        return self._last is not None and self._last[1] is Limiter.THERMAL_HARDWARE
