"""Null check: the same measured again (A against A): how often a difference would have been seen that is none.

Methods §1: every comparing experiment can run A against A and prints its own false-difference rate on this machine.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import median

from gputuner.analysis.comparing import apart, bounds, improvement
from gputuner.analysis.headlines import NULL
from gputuner.analysis.regression import LEAST_CHANGE, Verdict, compare
from gputuner.model.points import Point


@dataclass(frozen=True, slots=True, kw_only=True)
class NullCheck:
    """What pairs of equal measurements showed.

    ``beyond``: pairs whose intervals do not overlap (a plain look at intervals calls these different). ``called``:
    pairs that the regression guard would have called worse or better. ``difference``: median |relative difference|;
    ``largest``: the largest.
    """

    pairs: int
    beyond: int
    called: int
    difference: float
    largest: float

    @property
    def false_rate(self) -> float:
        """Share of the pairs whose intervals would have called a difference (0–1)."""
        return self.beyond / self.pairs

    @property
    def guard_rate(self) -> float:
        """Share of the pairs that the guard would have called different (0–1)."""
        return self.called / self.pairs


def null_check(repeats: Mapping[str, Sequence[Point]]) -> NullCheck | None:
    """Over all pairs of repeats of the same work; None where there are none with intervals.

    Args:
        repeats: figures of the same work by name of the work, in the order they were measured.
    """
    differences: list[float] = []
    beyond = called = 0
    for points in repeats.values():
        for first, second in combinations(points, 2):
            ours, theirs = bounds(first), bounds(second)
            if ours is None or theirs is None:
                continue
            change = abs(improvement(first, second))
            differences.append(change)
            beyond += apart(ours, theirs)
            called += change > LEAST_CHANGE and _called(first, second)
    if not differences:
        return None
    return NullCheck(
        pairs=len(differences),
        beyond=beyond,
        called=called,
        difference=median(differences),
        largest=max(differences),
    )


def _called(first: Point, second: Point) -> bool:
    pair = [replace(each, params={k: v for k, v in each.params.items() if k != NULL}) for each in (first, second)]
    return any(each.verdict in (Verdict.WORSE, Verdict.BETTER) for each in compare(pair[:1], pair[1:]))
