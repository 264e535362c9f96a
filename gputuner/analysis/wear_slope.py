"""Theil–Sen slope over pairs that are alike, with a bootstrap interval."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gputuner.analysis.wear_trace import Floats

DAY_S = 86400.0
MONTH_S = 30.44 * DAY_S
"""A month of the mean Gregorian year."""
RESAMPLES = 400
BLOCK_DAYS = 2.0
"""Days that are drawn together: what is measured on one day shares its room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slopes:
    """Slopes of pairs per month, ascending, float64 (m,); ``first`` and ``second``: which two each is of, int (m,)."""

    per_month: Floats
    first: NDArray[np.intp]
    second: NDArray[np.intp]

    @property
    def members(self) -> NDArray[np.intp]:
        """Which entries have a partner at all, ascending."""
        return np.unique(np.concatenate([self.first, self.second]))


def slopes(t_s: Floats, values: Floats, alike: NDArray[np.bool_]) -> Slopes:
    """Slopes of all pairs that are alike, per month.

    Args:
        t_s: unix time in s, (n,).
        values: float64 (n,).
        alike: bool (n, n): which pairs may be compared; only those with ``t_s`` of the second later count.
    """
    first, second = np.nonzero(alike & (t_s[None, :] > t_s[:, None]))
    each = (values[second] - values[first]) / ((t_s[second] - t_s[first]) / MONTH_S)
    order = np.argsort(each, kind="stable")
    return Slopes(per_month=each[order], first=first[order], second=second[order])


def slope_interval(found: Slopes, t_s: Floats, seed: int) -> tuple[float, float, float]:
    """The median slope and its 95 % interval, per month (Theil 1950, Sen 1968; at least one pair).

    The interval is that of a bootstrap over blocks of ``BLOCK_DAYS``: a pair weighs as often as both its blocks were
    drawn. Sen's own interval takes readings of one day for independent, which makes it too narrow here.
    """
    centre = float(np.median(found.per_month))
    blocks = np.unique(np.floor(t_s / (BLOCK_DAYS * DAY_S)), return_inverse=True)[1]
    count = int(blocks.max()) + 1
    rng = np.random.default_rng(seed)
    drawn: list[float] = []
    for _ in range(RESAMPLES):
        weight = np.bincount(rng.integers(0, count, count), minlength=count)[blocks]
        total = np.cumsum(weight[found.first] * weight[found.second])
        if total[-1] > 0:
            drawn.append(float(found.per_month[np.searchsorted(total, 0.5 * total[-1])]))
    low, high = np.quantile(drawn, (0.025, 0.975)) if drawn else (centre, centre)
    return centre, min(float(low), centre), max(float(high), centre)
