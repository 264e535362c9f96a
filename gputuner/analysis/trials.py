"""How far trials of the same work differ in one run: what no single trial shows of an uncertainty (methods §1).

On an H200 three trials of the same training gave 3017, 3015 and 3021 samples/s, each with an interval of ± 0.02 %:
start order, allocator, clocks and neighbours move a whole trial. Comparing two trials includes this (start × block).
"""

from collections.abc import Iterable
from math import log, sqrt

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


def between_trials(points: Iterable[Point]) -> float:
    """Relative standard deviation between trials of the same work, from the trainings that a run repeated.

    Squared deviations of the logarithms from their group's mean are pooled over all groups (same card, workload,
    batch, format, layout and image), s² = (2·0.003² + Σ deviations²) / (2 + Σ(n_group − 1)): without repeats the
    assumed 0.3 %, with many what was seen. Figures that had not settled are left out.
    """
    groups: dict[tuple[object, ...], list[float]] = {}
    for point in points:
        if point.metric != "train_throughput" or point.params.get("phase") not in REPEATED_PHASES or point.value <= 0:
            continue
        if not UNUSABLE & set(point.flags):
            key = (point.card, point.workload, *(point.params.get(name) for name in SAME_WORK))
            groups.setdefault(key, []).append(log(point.value))
    squares, freedom = ASSUMED_TRIALS * BETWEEN_TRIALS**2, ASSUMED_TRIALS
    for logs in groups.values():
        mean = sum(logs) / len(logs)
        squares += sum((value - mean) ** 2 for value in logs)
        freedom += len(logs) - 1
    return sqrt(squares / freedom)


def between_of(point: Point, between: float = BETWEEN_TRIALS) -> float:
    """The relative standard deviation between trials to assume for ``point``.

    Where it had not settled or scattered, its IQR over its median stands in if it is larger.
    """
    if point.spread is None or point.spread.median <= 0 or not UNSETTLED & set(point.flags):
        return between
    return max(between, point.spread.iqr / point.spread.median)
