"""Cycles of a quantity over time by rainflow counting, as ASTM E1049-85 (2017), section 5.4.4, defines it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FULL, HALF = 1.0, 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """One cycle: ``swing`` from its lowest to its highest value, ``mean`` of the two, in the unit of the series.

    ``count`` is 1 for a closed cycle and 0.5 for a half one: a rise or fall that the series never took back.
    """

    swing: float
    mean: float
    count: float


def reversals(values: Sequence[float] | Floats) -> Floats:
    """The turning points of a series, its first and last value among them; plateaus count once. float64 (m,)."""
    series = np.asarray(values, dtype=np.float64)
    if series.size == 0:
        return series
    moved = series[np.concatenate([[True], np.diff(series) != 0])]
    if moved.size < 3:
        return moved
    up = np.diff(moved) > 0
    return moved[np.concatenate([[True], up[1:] != up[:-1], [True]])]


def cycles(values: Sequence[float] | Floats) -> tuple[Cycle, ...]:
    """Every cycle of a series, in the order in which they close; the half cycles of what is left come last.

    ``values``: float64 (n,), finite, in the order of time. Three points at a time: a range that is no larger than the
    one after it is a cycle of its own, a half one where it holds the first point. Each point is pushed and popped once.
    """
    found: list[Cycle] = []
    stack: list[float] = []
    for point in reversals(values).tolist():
        stack.append(point)
        while len(stack) >= 3 and abs(stack[-1] - stack[-2]) >= abs(stack[-2] - stack[-3]):
            if len(stack) == 3:
                found.append(_cycle(stack[0], stack[1], HALF))
                del stack[0]
            else:
                found.append(_cycle(stack[-3], stack[-2], FULL))
                del stack[-3:-1]
    found += [_cycle(a, b, HALF) for a, b in pairwise(stack)]
    return tuple(found)


def _cycle(a: float, b: float, count: float) -> Cycle:
    return Cycle(swing=abs(b - a), mean=0.5 * (a + b), count=count)
