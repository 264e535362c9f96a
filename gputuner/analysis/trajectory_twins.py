"""A format against FP32 runs of the same start: what starts and orders scatter by is out of this comparison.

Such runs (twins) see the same batches in the same order and start from the same weights, but for a rounding of them.
They show how far roundings alone are driven apart by this training; often that is very little, and then a harm far
smaller than what other seeds differ by is seen. Two stretches are compared: the way down, and the last third.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, sqrt

import numpy as np

from gputuner.analysis.trajectory_means import LAST_SHARE, TURN, Array, Losses, end_of, one_more, smoothed

LEAST_TURNS = 3
"""Of steps that are compared."""
CONFIDENCE = 0.9875
"""Upper end for one of two stretches: together they blame one run in forty that rounds only (Bonferroni)."""
POWER = 1.2816
"""Normal quantile of 90 %: a harm so many standard deviations above what is judged with is seen nine times in ten."""
DOWN = 0.9
"""The way down ends where so much of the fall is made, or with the second third."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Mean losses over the same steps of all runs."""

    loss: float
    """Of the format."""
    twins: tuple[float, ...]
    """Of the FP32 runs; the one that nothing was changed in first."""
    tolerance: float
    """What one more run that rounds only might lie above their mean."""
    seen: float
    """A harm of this size is seen nine times in ten."""

    @property
    def difference(self) -> float:
        """To the mean of the FP32 runs."""
        return self.loss - sum(self.twins) / len(self.twins)

    @property
    def worse(self) -> bool:
        """Above what rounding does."""
        return self.difference > self.tolerance


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """The format beside the FP32 runs of its start."""

    steps: int
    early_steps: int
    """Of the way down."""
    early: Stretch
    end: Stretch


def paired(losses: Losses, twins: Sequence[Losses], least: float, skipped: Sequence[bool] = ()) -> Paired | None:
    """Compare a format with the FP32 runs of its start; None with fewer than two of these, or too few steps.

    Steps that changed nothing (skipped by a gradient scaler, or without a finite loss) are taken out of the format's
    run, so that a search for the scale is no slower training; the batches still come in turn.

    Args:
        losses: of the format by step.
        twins: of the FP32 runs.
        least: a difference of this size is none, however alike the twins.
        skipped: whether the format skipped each step; empty: none.
    """
    whole = [twin for twin in twins if all(map(isfinite, twin))]
    skips = list(skipped) or [False] * len(losses)
    useful = [loss for loss, skip in zip(losses, skips, strict=True) if isfinite(loss) and not skip]
    steps = min(len(useful), *map(len, whole)) // TURN * TURN if whole else 0
    if len(whole) < 2 or steps < LEAST_TURNS * TURN:
        return None
    runs = np.array([useful[:steps], *(twin[:steps] for twin in whole)], dtype=np.float64)
    early_steps = _way_down(runs[1])
    ends = np.array([end_of(run.tolist()).mean() for run in runs])
    return Paired(
        steps=steps,
        early_steps=early_steps,
        early=_stretch(runs[:, :early_steps].mean(axis=1), least),
        end=_stretch(ends, least),
    )


def _stretch(means: Array, least: float) -> Stretch:
    """Args: ``means``: [1 + twins], the format's first."""
    twins = means[1:]
    scatter = float(twins.std(ddof=1))
    tolerance = max(one_more(len(twins), CONFIDENCE) * scatter, least)
    seen = tolerance + POWER * scatter * sqrt(1.0 + 1.0 / len(twins))
    return Stretch(loss=float(means[0]), twins=tuple(twins.tolist()), tolerance=tolerance, seen=seen)


def _way_down(line: Array) -> int:
    """Steps until most of the fall is made, in whole turns; one turn at least, two thirds of the steps at most."""
    most = max(1, round((1.0 - 1.0 / LAST_SHARE) * len(line) / TURN))
    curve = smoothed(line.tolist())
    end = float(end_of(line.tolist()).mean())
    made = np.flatnonzero(curve[0] - curve >= DOWN * (curve[0] - end))
    first = int(made[0]) if len(made) and curve[0] > end else len(line)
    return TURN * min(most, max(1, -(-first // TURN)))
