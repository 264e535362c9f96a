"""Shares a total of watts over several cards: by their measured rates, else in proportion to their default limits.

Where power sweeps tell a card's rate over its limit, the split makes the sum of the relative rates (a card's own best
is 1) as large as it can be: at an inner optimum a watt more gains every card the same. It is found exactly on whole
watts, whatever the shape of the curves (plateaus, falls by heat), by combining the cards one after the other. Cards
without a sweep cannot be weighed against others: they get what the proportional split gives them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
HALVINGS = 60
SAME = 1e-9
"""Sums of rates that differ by less are one; then more of the total is given out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RateCurve:
    """Relative rate (1: the card's best) at measured limits, W, rising.

    Between them it is linear. Below the lowest it falls in proportion to the watts, which is kinder than real cards
    are; above the highest it stays.
    """

    caps_w: tuple[float, ...]
    rates: tuple[float, ...]
    session: str = ""
    workload: str = ""

    def at(self, watts: float | Floats) -> Floats:
        """Relative rate at limits in W, float64 of their shape."""
        given = np.asarray(watts, dtype=np.float64)
        first = self.caps_w[0]
        inside = np.interp(given, self.caps_w, self.rates)
        return np.where(given < first, self.rates[0] * given / first, inside)


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
class Split:
    """Watts for each card, in their order.

    ``by_curves``: the cards that their sweeps decided on. ``rate`` and ``rate_in_proportion``: summed relative rates of
    those, here and in the proportional split; None: there is none.
    """

    watts: tuple[int, ...]
    by_curves: tuple[str, ...] = ()
    rate: float | None = None
    rate_in_proportion: float | None = None

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
    if len(known) < 2:
        return Split(watts=even)
    share = sum(even[i] for i in known)
    room = floor(total_w + SAME) - (sum(even) - share)
    best = _best([ranges[i] for i in known], room)
    watts = list(even)
    for i, chosen in zip(known, best, strict=True):
        watts[i] = chosen
    return Split(
        watts=tuple(watts),
        by_curves=tuple(ranges[i].card for i in known),
        rate=summed_rate([ranges[i] for i in known], best),
        rate_in_proportion=summed_rate([ranges[i] for i in known], [even[i] for i in known]),
    )


def summed_rate(ranges: Sequence[CardRange], watts: Sequence[float]) -> float:
    """Sum of the relative rates of cards that all have a curve."""
    return sum(float(each.curve.at(w)) for each, w in zip(ranges, watts, strict=True) if each.curve is not None)


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
    """Whole watts that make the summed rate largest, together at most ``total_w``.

    ``best[t]`` is the largest sum of the cards so far with exactly ``t`` watts above their least.
    """
    room = total_w - least_total(ranges)
    best = np.zeros(1)
    choices: list[NDArray[np.int64]] = []
    for each in ranges:
        best, choice = _with_card(best, each, room)
        choices.append(choice)
    at = int(np.flatnonzero(best >= np.max(best) - SAME)[-1])
    watts: list[int] = []
    for each, choice in zip(reversed(ranges), reversed(choices), strict=True):
        given = int(choice[at])
        watts.append(each.whole[0] + given)
        at -= given
    return watts[::-1]


def _with_card(best: Floats, card: CardRange, room: int) -> tuple[Floats, NDArray[np.int64]]:
    """One card more: the best sums, and what this card gets in each of them above its least."""
    assert card.curve is not None
    least, most = card.whole
    rates = card.curve.at(np.arange(least, most + 1, dtype=np.float64))
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
