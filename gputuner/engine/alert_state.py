"""When an alert is raised and cleared: a condition must hold by readings, unknown time counts for nothing. No clock."""

from collections import deque
from collections.abc import Mapping
from enum import IntEnum

from gputuner.model.alerts import LIMIT_WINDOW_S
from gputuner.model.quantities import LimitBit, Limiter, Quantity, limiter_of

NS = 1_000_000_000
HELD_NS = 2 * NS
"""A reading of a limit holds until the next one, at most so long where readings come often."""
COUNTED = (Limiter.THERMAL_SOFTWARE, Limiter.THERMAL_HARDWARE, Limiter.POWER_BRAKE, Limiter.HARDWARE)
COUNTERS: Mapping[Quantity, Limiter] = {
    Quantity.LIMITED_THERMAL_SOFTWARE_NS: Limiter.THERMAL_SOFTWARE,
    Quantity.LIMITED_THERMAL_HARDWARE_NS: Limiter.THERMAL_HARDWARE,
    Quantity.LIMITED_POWER_BRAKE_NS: Limiter.POWER_BRAKE,
}
"""Nanoseconds since the driver was loaded, and the limit that they were spent in."""
HEAT_NS = NS // 20
"""From so much growth between two readings on the hardware's thermal limit counts as seen."""


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
    """Seconds of the last minute that a card spent in the limits that count, by sampled bits and by its own counters.

    What the bits missed between two readings the counters have, which come less often; where both tell, the longer of
    the two counts. A slowdown of the hardware that names no cause counts between two readings that both show it: alone
    in one, it is mostly a change of the P-state.
    """

    def __init__(self, held_ns: int = HELD_NS) -> None:
        """Nothing seen yet; a reading of the bits holds for at most ``held_ns``."""
        self._held_ns = held_ns
        self._sampled, self._counted = _Minute(), _Minute()
        self._last: tuple[int, Limiter] | None = None
        self._counters: dict[Limiter, tuple[int, float]] = {}
        self._hot_ns: int | None = None
        self.limiter = Limiter.NONE
        """The one that counted last."""
        self.hardware = False
        """True while the newest reading tells the hardware's thermal limit."""

    def take(self, t_ns: int, bits: int) -> None:
        """Take a reading of the limit bits."""
        now = _counting(bits)
        if self._last is not None:
            before_ns, limiter = self._last
            span_ns = t_ns - before_ns
            if limiter in COUNTED and span_ns > 0 and (limiter is not Limiter.HARDWARE or now in COUNTED):
                self._sampled.add(t_ns, min(span_ns, self._held_ns))
                self.limiter = limiter
        self._last = t_ns, now
        self.hardware = now is Limiter.THERMAL_HARDWARE
        self._heat(t_ns)

    def count(self, t_ns: int, counters: Mapping[Limiter, float]) -> None:
        """Take a reading of the card's counters of nanoseconds in each limit; one that fell began anew."""
        grown: dict[Limiter, float] = {}
        for limiter, value in counters.items():
            before_ns, before = self._counters.get(limiter, (t_ns, value))
            self._counters[limiter] = t_ns, value
            if t_ns > before_ns and value > before:
                within = min(1.0, LIMIT_WINDOW_S * NS / (t_ns - before_ns))
                grown[limiter] = min(value - before, t_ns - before_ns) * within
        self.hardware = grown.get(Limiter.THERMAL_HARDWARE, 0.0) >= HEAT_NS
        self._heat(t_ns)
        if grown:
            limiter = max(grown, key=lambda each: grown[each])
            self._counted.add(t_ns, round(grown[limiter]))
            self.limiter = Limiter.THERMAL_HARDWARE if self.hardware else limiter

    def seconds(self, t_ns: int) -> float:
        """Seconds in a counted limit within the minute up to ``t_ns``."""
        return max(self._sampled.total(t_ns), self._counted.total(t_ns)) / NS

    def level(self, t_ns: int, threshold_s: float, margin_s: float) -> Level:
        """Where the last minute stands; the hardware's thermal limit is over at once, and not forgotten within it."""
        if self.hardware:
            return Level.OVER
        found = level(self.seconds(t_ns), threshold_s, margin_s)
        hot = self._hot_ns is not None and t_ns - self._hot_ns < LIMIT_WINDOW_S * NS
        return max(found, Level.BETWEEN) if hot else found

    def _heat(self, t_ns: int) -> None:
        if self.hardware:
            self._hot_ns, self.limiter = t_ns, Limiter.THERMAL_HARDWARE


class _Minute:
    """Spans of time with their ends, of which those within the last minute are added up."""

    __slots__ = ("_spans", "_total_ns")

    def __init__(self) -> None:
        self._spans: deque[tuple[int, int]] = deque()
        self._total_ns = 0

    def add(self, end_ns: int, span_ns: int) -> None:
        self._spans.append((end_ns, span_ns))
        self._total_ns += span_ns

    def total(self, t_ns: int) -> int:
        while self._spans and self._spans[0][0] <= t_ns - LIMIT_WINDOW_S * NS:
            self._total_ns -= self._spans.popleft()[1]
        return self._total_ns


def _counting(bits: int) -> Limiter:
    """The limiter of a mask; heat that software names goes before a slowdown of the hardware that names nothing."""
    found = limiter_of(bits)
    return Limiter.THERMAL_SOFTWARE if found is Limiter.HARDWARE and bits & LimitBit.SW_THERMAL else found
