"""Two thermal tests of one card: what a new cooler, paste or pad changed (methods §7: by R, not by T)."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, hypot, log
from typing import Literal

from gputuner.analysis.statistics import NORMAL_975
from gputuner.model.points import Point

NORMAL_95 = 1.6448536
"""Half of a 90 % band in standard deviations."""
FAN_APART = 0.05
"""Fans further apart than this (fraction) explain a part of the difference."""

Verdict = Literal["better", "worse", "not_shown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CoolingCompared:
    """``ratio`` of the resistances (after over before) and ``degrees`` (K, at ``power_w``), with 95 % intervals.

    A room or a power that differed does not matter, since resistances are compared; a fan does: ``fans`` are both
    steady speeds (fraction; None: not read). ``loads``: what heated the card; different ones are not comparable.
    """

    before_k_per_w: float
    after_k_per_w: float
    ratio: float
    ratio_low: float
    ratio_high: float
    power_w: float
    degrees: float
    degrees_low: float
    degrees_high: float
    verdict: Verdict
    fans: tuple[float | None, float | None]
    loads: tuple[str, str]
    closed: tuple[bool, bool]

    @property
    def fans_apart(self) -> bool:
        """Whether the fans ran at noticeably different speeds."""
        a, b = self.fans
        return a is not None and b is not None and abs(a - b) > FAN_APART


def resistance_of(points: Sequence[Point]) -> Point | None:
    """The thermal resistance that a session ended with; None where it is no thermal test."""
    found = [p for p in points if p.metric == "thermal_resistance"]
    return found[-1] if found else None


def compared(before: Point, after: Point) -> CoolingCompared:
    """What ``after`` is against ``before``, two thermal resistances with 90 % bands (extra ``low90``, ``high90``).

    The bands are taken as those of a log-normal; the interval of the ratio is 1.96 times the root of the sum of the
    squares of their standard deviations.
    """
    ratio = after.value / before.value
    half = NORMAL_975 * hypot(_sd(before), _sd(after))
    low, high = ratio * exp(-half), ratio * exp(half)
    power = float(before.extra["power_w"])
    change = [power * before.value * (r - 1.0) for r in (ratio, low, high)]
    return CoolingCompared(
        before_k_per_w=before.value,
        after_k_per_w=after.value,
        ratio=ratio,
        ratio_low=low,
        ratio_high=high,
        power_w=power,
        degrees=change[0],
        degrees_low=change[1],
        degrees_high=change[2],
        verdict="better" if high < 1.0 else "worse" if low > 1.0 else "not_shown",
        fans=(_fan(before), _fan(after)),
        loads=(before.workload, after.workload),
        closed=(before.extra.get("closed") is True, after.extra.get("closed") is True),
    )


def _sd(point: Point) -> float:
    low, high = float(point.extra["low90"]), float(point.extra["high90"])
    return log(high / low) / (2.0 * NORMAL_95)


def _fan(point: Point) -> float | None:
    fan = point.extra.get("fan_fraction")
    return float(fan) if isinstance(fan, int | float) else None
