"""How long a card was how hot, how often it warmed and cooled, and how long which limit held it."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from gputuner.analysis.rainflow import Cycle, cycles
from gputuner.analysis.wear_trace import Flags, Floats, Heat, WearTrace
from gputuner.model.quantities import Limiter, Quantity, limiter_of

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
HOLDING = tuple(LIMIT_COUNTERS.values())
"""Limits that hold a clock back (idle and a cap of the user's do not wear)."""


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


def thermal_cycles(trace: WearTrace, heat: Heat) -> tuple[Cycle, ...]:
    """Rainflow cycles of a temperature; each part between pauses is counted for itself, since nobody saw between them.

    Of each step the lowest and the highest reading count, in the order that fits the way from the step before it.
    """
    found: list[Cycle] = []
    for part in trace.pieces:
        seen = np.isfinite(heat.mean[part]) & (trace.seconds[part] > 0)
        low, mean, high = (values[part][seen] for values in (heat.low, heat.mean, heat.high))
        if mean.size:
            found += cycles(_course(low, mean, high))
    return tuple(cycle for cycle in found if cycle.swing >= CLASSES_K[0])


def _course(low: Floats, mean: Floats, high: Floats) -> Floats:
    rising = np.concatenate([[True], np.diff(mean) >= 0])
    course = np.empty(2 * mean.size)
    course[0::2], course[1::2] = np.where(rising, low, high), np.where(rising, high, low)
    return course


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
    """Seconds in each limit: by the card's own counters where it has them, else by the sampled reasons."""
    fresh = trace.seconds > 0
    found: dict[Limiter, float] = {}
    for quantity, limiter in LIMIT_COUNTERS.items():
        told = trace.counters.get(quantity)
        if told is not None and np.isfinite(told).sum() >= 2:
            found[limiter] = _grown(told, fresh) / 1e9
    if not found and (trace.limit_bits >= 0).any():
        for bits in np.unique(trace.limit_bits[trace.limit_bits >= 0]).tolist():
            limiter = limiter_of(int(bits))
            if limiter in HOLDING:
                here = (trace.limit_bits == bits) & fresh
                found[limiter] = found.get(limiter, 0.0) + float(trace.seconds[here].sum())
    return found


def _grown(told: Floats, fresh: Flags) -> float:
    """What a counter grew by in fresh steps; where it fell it began anew."""
    there = np.isfinite(told)
    steps = np.diff(told[there])
    kept = fresh[there][1:]
    return float(np.where(steps > 0, steps, 0.0)[kept].sum())
