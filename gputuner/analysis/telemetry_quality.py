"""Whether recorded readings can be believed: a sensor that does not move, sources that contradict each other. Pure."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from statistics import median

from gputuner.model.quantities import Quantity
from gputuner.model.readings import Scalar

STUCK = "temperature_stuck"
LEAST_SAMPLES = 10
LEAST_LOADED_S = 60.0
"""A card under load for a minute is warmer than idle, also with a large heat sink (an H200 moves within 0.6 s)."""
LEAST_RISE_W = 50.0

SOURCES_DISAGREE = "sources_disagree"
NEAR_S = 30.0
"""A reading counts where the other source has one within this time: programs log once a minute at the slowest."""
TOLERANCE_C = 5.0
"""Medians of a temperature that differ by more than this disagree."""
TOLERANCE_POWER = 0.10
"""Medians of a power that differ by more than this share of the larger one disagree."""
COMPARED: dict[Quantity, bool] = {
    Quantity.CORE_TEMPERATURE_C: False,
    Quantity.MEMORY_TEMPERATURE_C: False,
    Quantity.POWER_AVERAGE_W: True,
    Quantity.POWER_INSTANT_W: True,
}
"""What is compared between sources; True: by share, else in degC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityNote:
    """A reading that cannot be believed; ``code`` and ``params`` become a sentence in ``language``."""

    code: str
    params: dict[str, Scalar] = field(default_factory=lambda: {})

    @property
    def withholds_thermal(self) -> bool:
        """True if no verdict about heat may rest on this recording."""
        return self.code == STUCK


def stuck_temperature(
    t_s: Sequence[float], temperature_c: Sequence[float], power_w: Sequence[float]
) -> QualityNote | None:
    """A note if the temperature never moves although power does.

    Args:
        t_s: times in seconds, rising.
        temperature_c: temperature at these times, in degC.
        power_w: power at these times, in W.

    Returns:
        A note when all of at least ``LEAST_SAMPLES`` temperatures are the same while the card spent at least
        ``LEAST_LOADED_S`` seconds in the upper two thirds (``LEAST_RISE_W`` above the lowest at least) of a range of
        power that doubles.
    """
    if len(temperature_c) < LEAST_SAMPLES or len(set(temperature_c)) > 1:
        return None
    low, high = min(power_w), max(power_w)
    if high - low < LEAST_RISE_W or high < 2 * low:
        return None
    loaded_w = low + max(LEAST_RISE_W, (high - low) / 3)
    steps = zip(t_s, t_s[1:], power_w, power_w[1:], strict=False)
    loaded_s = sum(t1 - t0 for t0, t1, p0, p1 in steps if min(p0, p1) >= loaded_w)
    if loaded_s < LEAST_LOADED_S:
        return None
    return QualityNote(
        code=STUCK,
        params={
            "temperature_c": temperature_c[0],
            "power_low_w": low,
            "power_high_w": high,
            "loaded_s": round(loaded_s, 1),
            "samples": len(temperature_c),
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSeries:
    """What one source read of one quantity of a card: times (unix s, rising) and values in the quantity's unit."""

    source: str
    quantity: Quantity
    t_unix_s: Sequence[float]
    values: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcesCompared:
    """Two sources that read the same quantity at the same time: medians over their common time, in its unit."""

    quantity: Quantity
    source: str
    other: str
    value: float
    other_value: float

    @property
    def difference(self) -> float:
        """How far the medians lie apart, in the quantity's unit; never negative."""
        return abs(self.other_value - self.value)

    @property
    def disagree(self) -> bool:
        """True if that is more than ``TOLERANCE_C``, or ``TOLERANCE_POWER`` of the larger median."""
        if COMPARED[self.quantity]:
            return self.difference > TOLERANCE_POWER * max(abs(self.value), abs(self.other_value))
        return self.difference > TOLERANCE_C


def compare_sources(series: Sequence[SourceSeries]) -> tuple[SourcesCompared, ...]:
    """Which sources of one card overlap in time and how their medians differ; nothing is merged.

    Args:
        series: of one card, in any order; of a pair the earlier one is ``source``.

    Returns:
        One entry for each pair of series of a quantity in ``COMPARED`` from different sources that overlap. Two series
        overlap where one begins before the other ends (a single reading stands for ``NEAR_S`` around it). Medians are
        over the readings that have one of the other source within ``NEAR_S``, so that a pause of one source is left
        out on both sides.
    """
    found: list[SourcesCompared] = []
    for one, two in combinations(series, 2):
        if one.quantity is not two.quantity or one.source == two.source or one.quantity not in COMPARED:
            continue
        if not _overlap(one.t_unix_s, two.t_unix_s):
            continue
        value, other_value = _median_near(one, two.t_unix_s), _median_near(two, one.t_unix_s)
        if value is not None and other_value is not None:
            found.append(
                SourcesCompared(
                    quantity=one.quantity,
                    source=one.source,
                    other=two.source,
                    value=value,
                    other_value=other_value,
                )
            )
    return tuple(found)


def _overlap(one_s: Sequence[float], two_s: Sequence[float]) -> bool:
    if not one_s or not two_s:
        return False
    slack_s = NEAR_S if 1 in (len(one_s), len(two_s)) else 0.0
    return max(one_s[0], two_s[0]) <= min(one_s[-1], two_s[-1]) + slack_s


def _median_near(series: SourceSeries, others_s: Sequence[float]) -> float | None:
    """Median of the readings that have one of ``others_s`` (rising) within ``NEAR_S``; None where none has."""
    near: list[float] = []
    for t_s, value in zip(series.t_unix_s, series.values, strict=True):
        place = bisect_left(others_s, t_s)
        if any(abs(other_s - t_s) <= NEAR_S for other_s in others_s[max(0, place - 1) : place + 1]):
            near.append(value)
    return median(near) if near else None
