"""Loss trajectories of one training in several number formats, judged against the band that FP32 spans by itself.

The same training started with other seeds does not follow the same losses either. What a format changes matters only
where it goes beyond that (methods §5). The reference is a handful of FP32 runs that differ in their seed (weights,
dropout, order of the batches); a format's run starts like the first of them and sees the same batches in its order.
All runs take whole turns over the same few batches: means over whole turns do not depend on the order.
Other seeds may differ by much, so the format is compared with FP32 runs of its own start too (``trajectory_twins``).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import inf, isfinite, sqrt

import numpy as np

from gputuner.analysis.trajectory_means import TURN, Array, Losses, end_of, one_more, smoothed
from gputuner.analysis.trajectory_twins import POWER, Paired, paired

LEAST_STEPS = 24
"""Fewer common steps carry no verdict: their last third is a handful of losses."""
CONFIDENCE = 0.975
"""Upper end of the interval that one more FP32 run would lie below."""
FLOOR_OF_FALL, FLOOR_OF_LOSS = 0.02, 1e-3
"""Differences below 2 % of how far the loss fell, or 0.1 % of the loss, are taken as none however alike the seeds."""
FLAT = 2.0
"""A loss that fell by less than so many times the harm that is seen says nothing about learning."""
ENOUGH = 0.05
"""Where no harm above this share of the fall could hide, a format trains as FP32 does."""


class Verdict(StrEnum):
    """How the trajectory of a format compares with the FP32 band."""

    REFERENCE = "reference"
    """FP32 itself."""
    KEPT = "kept"
    """No harm was seen, and one of a twentieth of the fall would have been."""
    UNSEEN = "unseen"
    """No harm was seen; how large one may hide is told."""
    APART = "apart"
    """Above FP32."""
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
    losses were compared but FP32's hardly fell beside what is seen. Of what is apart: ``seeds`` (its end lies above
    what other seeds reach), else ``end`` or ``early`` (above FP32 of the same start at the end, or on the way down).
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
    ends: tuple[float, ...] = ()
    """Mean loss of the last third of each FP32 run, the one from the same start first."""
    least: float | None = None
    """Differences below it are taken as none."""
    fall: float | None = None
    """How far FP32 fell, from its start to the mean of its last third."""
    seen: float | None = None
    """A harm of this size would have been seen nine times in ten, wherever it showed."""
    twins: Paired | None = None
    """The comparison with FP32 runs of the same start."""
    end_loss: float | None = None
    fp32_end_loss: float | None = None
    first_bad_step: int | None = None
    """The first step whose loss is no number."""

    @property
    def seen_share(self) -> float | None:
        """``seen`` as a share of FP32's fall."""
        if self.seen is None or self.fall is None:
            return None
        return self.seen / self.fall if self.fall > 0.0 else inf


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
    half = np.maximum(one_more(len(draws), CONFIDENCE) * np.sqrt(variance), _floor(mean))
    return Band(mean=mean, low=mean - half, high=mean + half, draws=len(draws))


def _floor(line: Array) -> float:
    known = line[np.isfinite(line)]
    if not len(known):
        return 0.0
    return max(FLOOR_OF_FALL * float(known.max() - known.min()), FLOOR_OF_LOSS * float(abs(known[-1])))


def first_bad(losses: Losses) -> int | None:
    """The first step whose loss is no number."""
    return next((step for step, loss in enumerate(losses) if not isfinite(loss)), None)


def judge(
    losses: Losses,
    draws: Sequence[Losses],
    twins: Sequence[Losses] = (),
    *,
    skipped: Sequence[bool] = (),
    collapsed: bool = False,
    ended: bool = False,
) -> Judgement:
    """The verdict on a format's losses beside those of FP32 runs.

    Args:
        losses: of the format by step; NaN or infinite where they are no numbers.
        draws: of the FP32 runs, the one from the same start first.
        twins: of further FP32 runs from the same start, which differ from the first by roundings.
        skipped: whether its gradient scaler skipped each step; empty: none.
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
    floor = _floor(np.stack([smoothed(draw) for draw in told[1:]]).mean(axis=0))
    return _compared(told[0], told[1:], paired(losses, [draws[0], *twins], floor, skipped), bad)


def _compared(losses: Losses, draws: Sequence[Losses], twins: Paired | None, bad: int | None) -> Judgement:
    ends = np.array([end_of(draw).mean() for draw in draws])
    middle, scatter = float(ends.mean()), float(ends.std(ddof=1))
    line = np.stack([smoothed(draw) for draw in draws]).mean(axis=0)
    least = _floor(line)
    tolerance = max(one_more(len(draws), CONFIDENCE) * scatter, least)
    end = float(end_of(losses).mean())
    seen = tolerance + POWER * scatter * sqrt(1.0 + 1.0 / len(draws))
    if twins is not None:
        seen = max(min(seen, twins.end.seen), twins.early.seen)
    judged = Judgement(
        verdict=Verdict.UNSEEN,
        steps=len(losses),
        difference=end - middle,
        tolerance=tolerance,
        same_start=end - float(ends[0]),
        ends=tuple(ends.tolist()),
        least=least,
        fall=float(line[0]) - middle,
        seen=seen,
        twins=twins,
        end_loss=end,
        fp32_end_loss=middle,
        first_bad_step=bad,
    )
    verdict, why = _verdict(judged)
    return replace(judged, verdict=verdict, why=why)


def _verdict(judged: Judgement) -> tuple[Verdict, str]:
    """The verdict on figures that are there, and what it rests on."""
    twins, share = judged.twins, judged.seen_share or inf
    if (judged.difference or 0.0) > (judged.tolerance or 0.0):
        return Verdict.APART, "seeds"
    if twins is not None and (twins.end.worse or twins.early.worse):
        return Verdict.APART, "end" if twins.end.worse else "early"
    if share * FLAT > 1.0:
        return Verdict.UNDECIDED, "flat"
    return Verdict.KEPT if share <= ENOUGH else Verdict.UNSEEN, ""
