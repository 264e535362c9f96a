"""How far trials of the same work differ in one run: what no single trial shows of an uncertainty (methods §1).

On an H200 three trials of the same training gave 3017, 3015 and 3021 samples/s, each with an interval of ± 0.02 %:
start order, allocator, clocks and neighbours move a whole trial. Comparing two trials includes this (start × block).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import log, sqrt

from gputuner.analysis.distributions import student_quantile
from gputuner.model.points import Flag, Point

BETWEEN_TRIALS = 0.003
"""Relative standard deviation between trials of the same work where the run does not tell it: 0.3 %."""
ASSUMED_TRIALS = 2.0
"""The assumed value weighs as much as this many repeated trials of the run's own."""
REPEATED_PHASES = ("alone", "alone_between", "alone_after", "probe", "sustained")
"""Phases of ``train_throughput`` in which the same work may be measured again, with nothing else on the card."""
SAME_WORK = ("batch", "precision", "channels_last", "image")
UNSETTLED = frozenset({Flag.NOT_STEADY, Flag.SPREAD})
"""Flags of a figure whose own scatter says more than that of others."""
UNUSABLE = UNSETTLED | {Flag.TOO_SLOW, Flag.IMPLAUSIBLE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """What repeated trials of the same work showed: squared deviations of logarithms, and their degrees of freedom."""

    squares: float = 0.0
    own: int = 0

    @property
    def between(self) -> float:
        """Relative standard deviation between trials: s² = (2·0.003² + squares) / (2 + own)."""
        return sqrt((ASSUMED_TRIALS * BETWEEN_TRIALS**2 + self.squares) / (ASSUMED_TRIALS + self.own))

    def half(self, share: float, least: float = BETWEEN_TRIALS) -> float:
        """Relative half-width of the 95 % interval of a difference of trials' logarithms (Student).

        The rule of ``interleaved.compared``: the wider of the interval from ``between`` (the assumed 0.3 % stands for
        two trials more) and of that from the repeats alone. The second covers 95 % whatever the true scatter is; the
        first alone, of a run without repeats, needs that scatter to be about 0.3 %.

        Args:
            share: variance of the difference over that of one trial (1 + 1/n: one trial against the mean of n).
            least: the deviation is taken to be no smaller than this.
        """
        half = student_quantile(0.975, ASSUMED_TRIALS + self.own) * max(self.between, least, BETWEEN_TRIALS)
        if self.own:
            half = max(half, student_quantile(0.975, self.own) * sqrt(self.squares / self.own))
        return half * sqrt(share)


def repeats_of(points: Iterable[Point]) -> Repeats:
    """What the trainings that a run repeated tell of the scatter between trials.

    Squared deviations of the logarithms from their group's mean are pooled over all groups (same card, workload,
    batch, format, layout and image). Figures that had not settled are left out.
    """
    groups: dict[tuple[object, ...], list[float]] = {}
    for point in points:
        if point.metric != "train_throughput" or point.params.get("phase") not in REPEATED_PHASES or point.value <= 0:
            continue
        if not UNUSABLE & set(point.flags):
            key = (point.card, point.workload, *(point.params.get(name) for name in SAME_WORK))
            groups.setdefault(key, []).append(log(point.value))
    squares, own = 0.0, 0
    for logs in groups.values():
        mean = sum(logs) / len(logs)
        squares += sum((value - mean) ** 2 for value in logs)
        own += len(logs) - 1
    return Repeats(squares=squares, own=own)


def between_trials(points: Iterable[Point]) -> float:
    """Relative standard deviation between trials of the same work, from the trainings that a run repeated.

    s² = (2·0.003² + Σ deviations²) / (2 + Σ(n_group − 1)): without repeats the assumed 0.3 %, with many what was seen.
    """
    return repeats_of(points).between


def between_of(point: Point, between: float = BETWEEN_TRIALS) -> float:
    """The relative standard deviation between trials to assume for ``point``.

    Where it had not settled or scattered, its IQR over its median stands in if it is larger.
    """
    if point.spread is None or point.spread.median <= 0 or not UNSETTLED & set(point.flags):
        return between
    return max(between, point.spread.iqr / point.spread.median)
