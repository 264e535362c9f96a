"""Loss trajectories of one training in several number formats, judged against the band that FP32 spans by itself.

The same training started with other seeds does not follow the same losses either. What a format changes matters only
where it goes beyond that (methods §5). The reference is a handful of FP32 runs that differ in their seed (weights,
dropout, order of the batches); a format's run starts like the first of them and sees the same batches in its order.
All runs take whole turns over the same few batches: means over whole turns do not depend on the order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite, sqrt

import numpy as np
from numpy.typing import NDArray

from gputuner.analysis.distributions import student_quantile

Losses = Sequence[float]
Array = NDArray[np.float64]

LEAST_STEPS = 24
"""Fewer common steps carry no verdict: their last third is a handful of losses."""
LAST_SHARE = 3
"""The end of a trajectory is its last third."""
SMOOTHED_SHARE = 12
"""A loss is drawn as the mean of so many-th of the steps around it, and of one turn over the batches at least."""
TURN = 8
"""Batches that come in turn."""
CONFIDENCE = 0.975
"""Upper end of the interval that one more FP32 run would lie below."""
FLOOR_OF_FALL, FLOOR_OF_LOSS = 0.02, 1e-3
"""Differences below 2 % of how far the loss fell, or 0.1 % of the loss, are taken as none however alike the seeds."""
FLAT = 2.0
"""A loss that fell by less than so many tolerances says nothing about learning."""


class Verdict(StrEnum):
    """How the trajectory of a format compares with the FP32 band."""

    REFERENCE = "reference"
    """FP32 itself."""
    KEPT = "kept"
    """Within what FP32 seeds span, or below."""
    APART = "apart"
    """Above it at the end."""
    DIVERGED = "diverged"
    """The loss, or the gradients for good, are no numbers."""
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """The FP32 band by step; smoothed losses. NaN where a reference run has no finite loss around."""

    mean: Array
    low: Array
    high: Array
    draws: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A verdict with its figures; losses in the training's own unit.

    ``why`` names what the verdict rests on where it is not the comparison: ``short`` (too few steps), ``fp32`` (FP32
    itself diverges, or has too few runs), ``scaler`` (the gradient scale collapsed), ``not_finite``; ``flat`` where the
    losses were compared but FP32's hardly fell, so that nothing shows that anything was learnt.
    """

    verdict: Verdict
    why: str = ""
    steps: int = 0
    difference: float | None = None
    """Mean loss of the last third less that of the FP32 runs."""
    tolerance: float | None = None
    """What one more FP32 run might differ by."""
    same_start: float | None = None
    """The same difference to the FP32 run from the same start alone."""
    end_loss: float | None = None
    fp32_end_loss: float | None = None
    first_bad_step: int | None = None
    """The first step whose loss is no number."""


def smoothed(losses: Losses) -> Array:
    """Centred moving mean over a turn, or a twelfth of the steps; losses that are no numbers are left out.

    Returns:
        float64 [steps]; NaN where no loss around is a number.
    """
    known = np.asarray(losses, dtype=np.float64)
    if not len(known):
        return known
    finite = np.isfinite(known)
    window = _window(len(known))
    kernel = np.ones(2 * window + 1)
    total = np.convolve(np.where(finite, known, 0.0), kernel)[window : window + len(known)]
    count = np.convolve(finite.astype(np.float64), kernel)[window : window + len(known)]
    return np.divide(total, count, out=np.full(len(known), np.nan), where=count > 0.5)


def _window(steps: int) -> int:
    """Steps on either side."""
    return max(TURN // 2, steps // SMOOTHED_SHARE // 2)


def fp32_band(draws: Sequence[Losses]) -> Band | None:
    """What FP32 runs with different seeds span over the steps that all of them made; None with fewer than two.

    At each step mean ± the half width of a 95 % prediction interval for one more run,
    t(0.975, n − 1) · s · √(1 + 1/n), of the smoothed losses; s² is the mean of the variances of the steps around.
    """
    steps = min(map(len, draws), default=0)
    if len(draws) < 2 or not steps:
        return None
    lines = np.stack([smoothed(losses[:steps]) for losses in draws])
    mean = lines.mean(axis=0)
    variance = smoothed(lines.var(axis=0, ddof=1).tolist())
    half = np.maximum(_factor(len(draws)) * np.sqrt(variance), _floor(mean))
    return Band(mean=mean, low=mean - half, high=mean + half, draws=len(draws))


def _factor(draws: int) -> float:
    return student_quantile(CONFIDENCE, draws - 1.0) * sqrt(1.0 + 1.0 / draws)


def _floor(line: Array) -> float:
    known = line[np.isfinite(line)]
    if not len(known):
        return 0.0
    return max(FLOOR_OF_FALL * float(known.max() - known.min()), FLOOR_OF_LOSS * float(abs(known[-1])))


def end_of(losses: Losses) -> Array:
    """The last third, rounded to whole turns; all of what is shorter than that."""
    turns = max(1, round(len(losses) / LAST_SHARE / TURN))
    return np.asarray(losses, dtype=np.float64)[-turns * TURN :]


def first_bad(losses: Losses) -> int | None:
    """The first step whose loss is no number."""
    return next((step for step, loss in enumerate(losses) if not isfinite(loss)), None)


def judge(losses: Losses, draws: Sequence[Losses], *, collapsed: bool = False, ended: bool = False) -> Judgement:
    """The verdict on a format's losses beside those of FP32 runs.

    Args:
        losses: of the format by step; NaN or infinite where they are no numbers.
        draws: of the FP32 runs, the one from the same start first.
        collapsed: whether its gradient scaler collapsed (``trajectory_scaler``).
        ended: whether the run was given up since its losses are no numbers.
    """
    bad = first_bad(losses)
    if collapsed or (ended and bad is not None):
        why = "scaler" if collapsed else "not_finite"
        return Judgement(verdict=Verdict.DIVERGED, why=why, steps=len(losses), first_bad_step=bad)
    steps = min(len(losses), *map(len, draws)) // TURN * TURN if draws else 0
    told = [losses[:steps], *(draw[:steps] for draw in draws)]
    if len(draws) < 2 or any(first_bad(draw) is not None for draw in told[1:]):
        return Judgement(verdict=Verdict.UNDECIDED, why="fp32", steps=steps, first_bad_step=bad)
    if steps < LEAST_STEPS:
        return Judgement(verdict=Verdict.UNDECIDED, why="short", steps=steps, first_bad_step=bad)
    if first_bad(end_of(told[0]).tolist()) is not None:
        return Judgement(verdict=Verdict.DIVERGED, why="not_finite", steps=steps, first_bad_step=bad)
    return _compared(told[0], told[1:], steps, bad)


def _compared(losses: Losses, draws: Sequence[Losses], steps: int, bad: int | None) -> Judgement:
    ends = np.array([end_of(draw).mean() for draw in draws])
    middle = float(ends.mean())
    line = np.stack([smoothed(draw) for draw in draws]).mean(axis=0)
    tolerance = max(_factor(len(draws)) * float(ends.std(ddof=1)), _floor(line))
    end = float(end_of(losses).mean())
    apart = end - middle > tolerance
    flat = not apart and float(line[0]) - middle < FLAT * tolerance
    return Judgement(
        verdict=Verdict.APART if apart else Verdict.UNDECIDED if flat else Verdict.KEPT,
        why="flat" if flat else "",
        steps=steps,
        difference=end - middle,
        tolerance=tolerance,
        same_start=end - float(ends[0]),
        end_loss=end,
        fp32_end_loss=middle,
        first_bad_step=bad,
    )
