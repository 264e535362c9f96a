"""Shares a total of watts over several cards: by their measured rates, else in proportion to their default limits.

Where power sweeps tell a card's rate over its limit, the split makes the work of all as large as it can be: the sum of
the rates where all sweeps are of one load in one unit, else of the relative rates (a card's best is 1), which trades
a per cent of one card for a per cent of another. At an inner optimum a watt more gains every card the same. It is found
exactly on whole watts, whatever the shape of the curves (plateaus, falls by heat), by combining the cards one after the
other; watts that gain nothing are not given out. Cards without a sweep cannot be weighed against others: they get what
the proportional split gives them, and what the others leave.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
HALVINGS = 60
SAME = 1e-9
"""Sums of rates (largest best rate: 1) that differ by less are one; then less of the total is given out."""
SURE = (0.025, 0.975)
"""Quantiles of an interval of 95 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RateCurve:
    """Relative rate (1: the card's best) at measured limits, W, rising.

    Between them it is linear; above the highest it stays. Below the lowest it falls in proportion to the watts: more
    than a real card gives where its best rate per watt lies above that limit, less where it lies below.

    ``best``: the rate that 1 stands for, in ``unit``. ``load``: what was trained with all that makes its samples other
    ones; curves of one load and unit are of the same work. ``draws``: float64 (rows, n), the relative rates as they may
    be as well (from how far equal visits differ), for intervals; None: not known.
    """

    caps_w: tuple[float, ...]
    rates: tuple[float, ...]
    session: str = ""
    workload: str = ""
    load: str = ""
    unit: str = ""
    best: float = 1.0
    draws: Floats | None = field(default=None, compare=False)

    def at(self, watts: float | Floats) -> Floats:
        """Relative rate at limits in W, float64 of their shape."""
        return self._read(np.asarray(watts, dtype=np.float64), np.array(self.rates))

    def drawn_at(self, watts: float) -> Floats | None:
        """Relative rates at one limit in W as they may be, float64 (rows,)."""
        if self.draws is None:
            return None
        at = np.asarray(watts, dtype=np.float64)
        weights = np.array([self._read(at, unit) for unit in np.eye(len(self.caps_w))])
        return np.asarray(self.draws @ weights, dtype=np.float64)

    def _read(self, watts: Floats, rates: Floats) -> Floats:
        first = self.caps_w[0]
        inside = np.interp(watts, self.caps_w, rates)
        return np.where(watts < first, rates[0] * watts / first, inside)


@dataclass(frozen=True, slots=True, kw_only=True)
class CardRange:
    """A card whose limit may be set from ``low_w`` to ``high_w``; ``default_w`` is its weight without a curve."""

    card: str
    low_w: float
    high_w: float
    default_w: float
    curve: RateCurve | None = None

    @property
    def whole(self) -> tuple[int, int]:
        """The whole watts within the range."""
        return ceil(self.low_w - SAME), floor(self.high_w + SAME)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """Summed rate against the proportional split, as a fraction, with its interval of 95 %."""

    value: float
    low: float
    high: float

    @property
    def shown(self) -> bool:
        """Whether more work is done for sure."""
        return self.low > 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Watts for each card, in their order.

    ``by_curves``: the cards that their sweeps decided on. ``rate`` and ``rate_in_proportion``: summed rates of those,
    here and in the proportional split, in ``unit`` ("": relative rates); None: there is none. ``gain``: None where it
    cannot be told, as where a limit lies below those that were measured.
    """

    watts: tuple[int, ...]
    by_curves: tuple[str, ...] = ()
    rate: float | None = None
    rate_in_proportion: float | None = None
    unit: str = ""
    gain: Gain | None = None

    @property
    def total_w(self) -> int:
        """All together."""
        return sum(self.watts)


def least_total(ranges: Sequence[CardRange]) -> int:
    """Sum of the lowest limits in whole watts: no total below can be kept."""
    return sum(each.whole[0] for each in ranges)


def split(ranges: Sequence[CardRange], total_w: float) -> Split:
    """The split of a total over at least one card.

    Args:
        ranges: the cards.
        total_w: at most so many watts in all.

    Raises:
        ValueError: the total is below the sum of the lowest limits.
    """
    if floor(total_w + SAME) < least_total(ranges):
        raise ValueError("the total is below what the cards take at least")
    even = in_proportion(ranges, total_w)
    known = [i for i, each in enumerate(ranges) if each.curve is not None]
    others = [i for i in range(len(ranges)) if i not in known]
    if len(known) < 2 or sum(each.whole[1] for each in ranges) <= total_w:
        return Split(watts=even)
    whole = floor(total_w + SAME)
    curved, before = [ranges[i] for i in known], [even[i] for i in known]
    best = _best(curved, whole - sum(even[i] for i in others))
    left = in_proportion([ranges[i] for i in others], whole - sum(best)) if others else ()
    watts = dict(zip((*known, *others), (*best, *left), strict=True))
    unit = common_unit(ranges)
    return Split(
        watts=tuple(watts[i] for i in range(len(ranges))),
        by_curves=tuple(each.card for each in curved),
        rate=summed_rate(curved, best),
        rate_in_proportion=summed_rate(curved, before),
        unit=unit,
        gain=_gain(curved, best, before),
    )


def common_unit(ranges: Sequence[CardRange]) -> str:
    """The unit of all curves if they are of one load, whose rates then add up to work done; else ""."""
    kinds = {(each.curve.load, each.curve.unit) for each in ranges if each.curve is not None}
    load, unit = kinds.pop() if len(kinds) == 1 else ("", "")
    return unit if load else ""


def _scales(ranges: Sequence[CardRange]) -> list[float]:
    """What a relative rate of 1 counts for each card: its best rate, where rates may be added, else 1."""
    absolute = bool(common_unit(ranges))
    return [each.curve.best if absolute and each.curve is not None else 1.0 for each in ranges]


def summed_rate(ranges: Sequence[CardRange], watts: Sequence[float]) -> float:
    """Sum of the rates of cards that all have a curve, in their common unit; of the relative ones without such."""
    told = zip(ranges, watts, _scales(ranges), strict=True)
    return sum(scale * float(each.curve.at(w)) for each, w, scale in told if each.curve is not None)


def _gain(ranges: Sequence[CardRange], watts: Sequence[float], before: Sequence[float]) -> Gain | None:
    """What the split gains against another one by the curves, and by the curves as they may be as well."""
    if any(each.curve is None or min(pair) < each.curve.caps_w[0] for each, *pair in _zip(ranges, watts, before)):
        return None
    if list(watts) == list(before):
        return Gain(value=0.0, low=0.0, high=0.0)
    here, there = (_drawn(ranges, each) for each in (watts, before))
    if here is None or there is None:
        return None
    low, high = np.quantile(here / there - 1.0, SURE)
    value = summed_rate(ranges, watts) / summed_rate(ranges, before) - 1.0
    return Gain(value=value, low=float(low), high=float(high))


def _zip(
    ranges: Sequence[CardRange], watts: Sequence[float], before: Sequence[float]
) -> "zip[tuple[CardRange, float, float]]":
    return zip(ranges, watts, before, strict=True)


def _drawn(ranges: Sequence[CardRange], watts: Sequence[float]) -> Floats | None:
    """Summed rates as they may be, float64 (rows,); the cards' draws are independent of each other."""
    found = [each.curve.drawn_at(w) if each.curve is not None else None for each, w in zip(ranges, watts, strict=True)]
    drawn = [rates for rates in found if rates is not None]
    if len(drawn) < len(found):
        return None
    rows = min(len(rates) for rates in drawn)
    return np.sum([scale * rates[:rows] for scale, rates in zip(_scales(ranges), drawn, strict=True)], axis=0)


def in_proportion(ranges: Sequence[CardRange], total_w: float) -> tuple[int, ...]:
    """Whole watts in proportion to the default limits, each within its range, together at most ``total_w``."""
    low, high = 0.0, max(each.high_w / each.default_w for each in ranges)
    if sum(each.whole[1] for each in ranges) <= total_w:
        return tuple(each.whole[1] for each in ranges)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if sum(_scaled(ranges, middle)) <= total_w:
            low = middle
        else:
            high = middle
    return _scaled(ranges, low)


def _scaled(ranges: Sequence[CardRange], factor: float) -> tuple[int, ...]:
    found: list[int] = []
    for each in ranges:
        least, most = each.whole
        found.append(min(max(floor(factor * each.default_w + SAME), least), most))
    return tuple(found)


def _best(ranges: Sequence[CardRange], total_w: int) -> list[int]:
    """Whole watts that make the summed rate largest, together at most ``total_w`` and no more than that takes.

    ``best[t]`` is the largest sum of the cards so far with exactly ``t`` watts above their least.
    """
    room = total_w - least_total(ranges)
    best = np.zeros(1)
    choices: list[NDArray[np.int64]] = []
    scales = _scales(ranges)
    for each, scale in zip(ranges, scales, strict=True):
        best, choice = _with_card(best, each, room, scale / max(scales))
        choices.append(choice)
    at = int(np.flatnonzero(best >= np.max(best) - SAME)[0])
    watts: list[int] = []
    for each, choice in zip(reversed(ranges), reversed(choices), strict=True):
        given = int(choice[at])
        watts.append(each.whole[0] + given)
        at -= given
    return watts[::-1]


def _with_card(best: Floats, card: CardRange, room: int, weight: float) -> tuple[Floats, NDArray[np.int64]]:
    """One card more: the best sums, and what this card gets in each of them above its least."""
    assert card.curve is not None
    least, most = card.whole
    rates = weight * card.curve.at(np.arange(least, most + 1, dtype=np.float64))
    length = min(room, len(best) - 1 + most - least) + 1
    found = np.full(length, -np.inf)
    choice = np.zeros(length, dtype=np.int64)
    for given, rate in enumerate(rates[:length]):
        reach = min(len(best), length - given)
        here = slice(given, given + reach)
        better = best[:reach] + rate > found[here] + SAME
        found[here] = np.where(better, best[:reach] + rate, found[here])
        choice[here] = np.where(better, given, choice[here])
    return found, choice
