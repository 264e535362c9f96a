"""How long a card was how hot, how often it warmed and cooled, and how long which limit held it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from gputuner.analysis.rainflow import Cycle, cycles
from gputuner.analysis.wear_trace import Finer, Floats, Heat, WearTrace
from gputuner.model.quantities import LimitBit, Limiter, Quantity

COLDEST_C, HOTTEST_C = -50, 200
"""Readings outside are no temperatures of a card."""
CLASSES_K: tuple[float, ...] = (5.0, 10.0, 20.0, 30.0, 40.0, 60.0)
"""Lower bounds of the classes of thermal cycles, K; smaller ones are the sensor's own steps."""
LIMIT_COUNTERS: dict[Quantity, Limiter] = {
    Quantity.LIMITED_POWER_NS: Limiter.POWER,
    Quantity.LIMITED_THERMAL_SOFTWARE_NS: Limiter.THERMAL_SOFTWARE,
    Quantity.LIMITED_THERMAL_HARDWARE_NS: Limiter.THERMAL_HARDWARE,
    Quantity.LIMITED_POWER_BRAKE_NS: Limiter.POWER_BRAKE,
    Quantity.LIMITED_SYNC_BOOST_NS: Limiter.SYNC_BOOST,
}
HOLDING: dict[Limiter, int] = {
    Limiter.POWER: LimitBit.SW_POWER_CAP,
    Limiter.THERMAL_SOFTWARE: LimitBit.SW_THERMAL,
    Limiter.THERMAL_HARDWARE: LimitBit.HW_THERMAL,
    Limiter.POWER_BRAKE: LimitBit.HW_POWER_BRAKE,
    Limiter.SYNC_BOOST: LimitBit.SYNC_BOOST,
}
"""Limits that hold a clock back, with their bit (idle and a cap of the user's do not wear). Bit 0x8 alone tells no
cause, and blinks where the P-state changes: it is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """Seconds at each whole °C from ``first_c`` on."""

    first_c: int
    seconds: tuple[float, ...]

    @property
    def total_s(self) -> float:
        """Seconds in all."""
        return sum(self.seconds)

    def above(self, limit_c: float) -> float:
        """Seconds at ``limit_c`` or more."""
        return sum(s for degree, s in enumerate(self.seconds, self.first_c) if degree >= limit_c)


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleClass:
    """Thermal cycles of ``low_k`` up to ``high_k`` (None: and more), K; a half cycle counts 0.5."""

    low_k: float
    high_k: float | None
    count: float
    largest_k: float


def by_degree(trace: WearTrace, heat: Heat) -> Floats:
    """Seconds at each whole °C from ``COLDEST_C`` to ``HOTTEST_C``, float64.

    A step's seconds are spread evenly over the degrees between its lowest and highest reading.
    """
    seen = np.isfinite(heat.low) & np.isfinite(heat.high) & (trace.seconds > 0)
    seen &= (heat.low >= COLDEST_C) & (heat.high <= HOTTEST_C)
    low = np.rint(heat.low[seen]).astype(np.int64) - COLDEST_C
    high = np.rint(heat.high[seen]).astype(np.int64) - COLDEST_C
    each = trace.seconds[seen] / (high - low + 1)
    change = np.zeros(HOTTEST_C - COLDEST_C + 2)
    np.add.at(change, low, each)
    np.add.at(change, high + 1, -each)
    found = np.cumsum(change)[:-1]
    return np.where(found > 1e-9, found, 0.0)


def histogram(seconds: Floats) -> Histogram | None:
    """Seconds by degree without the empty ends; None where nothing was observed."""
    there = np.flatnonzero(seconds > 0)
    if there.size == 0:
        return None
    first, last = int(there[0]), int(there[-1])
    return Histogram(first_c=first + COLDEST_C, seconds=tuple(seconds[first : last + 1].tolist()))


def course(trace: WearTrace, heat: Heat) -> tuple[Floats, Floats]:
    """The shortest way of a temperature through its lowest and highest reading of every step: unix time in s and °C.

    Within a step nobody kept which came first. The order that moves least invents no turn, so cycles of this way are a
    lower bound; across a pause too, of which the two ends are known. float64 (2 m,) each.
    """
    n = heat.mean.size
    finer = heat.finer or Finer(step=np.arange(n), low=heat.low, high=heat.high)
    seen = (trace.seconds > 0)[finer.step] & (finer.low >= COLDEST_C) & (finer.high <= HOTTEST_C)
    ends = _shortest(finer.low[seen], finer.high[seen])
    return np.repeat(trace.t_s[finer.step[seen]], 2), ends


def _shortest(low: Floats, high: Floats) -> Floats:
    """Both ends of every step, (2 m,), in the order that makes the whole way shortest.

    Step by step the shortest way that ends low and the one that ends high are kept, with where each came from.
    """
    upward: list[tuple[bool, bool]] = []
    at_low, at_high, low_way, high_way = 0.0, 0.0, 0.0, 0.0
    for n, (low_c, high_c) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        if n == 0:
            at_low, at_high = low_c, high_c
            upward.append((False, True))
            continue
        down = low_way + abs(at_low - high_c), high_way + abs(at_high - high_c)
        up = low_way + abs(at_low - low_c), high_way + abs(at_high - low_c)
        upward.append((down[1] < down[0], up[1] < up[0]))
        low_way, high_way = min(down) + high_c - low_c, min(up) + high_c - low_c
        at_low, at_high = low_c, high_c
    ends_high = np.zeros(low.size, dtype=bool)
    last = high_way < low_way
    for n in range(low.size - 1, -1, -1):
        ends_high[n] = last
        last = upward[n][int(last)]
    way = np.empty(2 * low.size)
    way[0::2], way[1::2] = np.where(ends_high, low, high), np.where(ends_high, high, low)
    return way


def thermal_cycles(courses: Sequence[tuple[Floats, Floats]]) -> tuple[Cycle, ...]:
    """Rainflow cycles of one temperature over all its courses, put together in the order of time; small ones left out.

    A session that ended hot before one that began cold tells that the card cooled in between.
    """
    t_s, values = (np.concatenate(parts) for parts in zip(*courses, strict=True)) if courses else (np.empty(0),) * 2
    found = cycles(values[np.argsort(t_s, kind="stable")])
    return tuple(cycle for cycle in found if cycle.swing >= CLASSES_K[0])


def classed(found: Iterable[Cycle]) -> tuple[CycleClass, ...]:
    """Cycles by size, the smallest class first."""
    each = tuple(found)
    bounds = [*CLASSES_K, None]
    classes: list[CycleClass] = []
    for low, high in pairwise(bounds):
        assert low is not None
        own = [c for c in each if c.swing >= low and (high is None or c.swing < high)]
        largest = max((c.swing for c in own), default=0.0)
        classes.append(CycleClass(low_k=low, high_k=high, count=sum(c.count for c in own), largest_k=largest))
    return tuple(classes)


def limited_seconds(trace: WearTrace) -> dict[Limiter, float]:
    """Seconds in each limit: by the card's own counter of it, else by the sampled reasons; none told: no entry.

    Only what was observed counts: a counter that grew in a pause tells nothing here.
    """
    found: dict[Limiter, float] = {}
    for quantity, limiter in LIMIT_COUNTERS.items():
        told = trace.counters.get(quantity)
        sampled = trace.limited.get(limiter)
        if told is not None and np.isfinite(told).sum() >= 2:
            found[limiter] = sum(_grown(told[part], trace.seconds[part]) for part in trace.pieces)
        elif sampled is not None and np.isfinite(sampled).any():
            found[limiter] = float(np.nansum(sampled * trace.seconds))
    return found


def _grown(told_ns: Floats, seconds: Floats) -> float:
    """Seconds that a counter grew by in the steps that count, at most as many as were observed; where it fell it began
    anew.
    """
    there = np.isfinite(told_ns)
    steps_s = np.diff(told_ns[there]) / 1e9
    kept = (seconds > 0)[there][1:]
    return min(float(np.where(steps_s > 0, steps_s, 0.0)[kept].sum()), float(seconds.sum()))
