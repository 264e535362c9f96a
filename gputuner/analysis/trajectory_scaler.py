"""The trace of a gradient scaler: a harmless search for its scale, or a collapse.

A dynamic scale starts high (65 536 in PyTorch) and is halved, with its step skipped, as long as gradients overflow;
it is doubled every 2 000 good steps, so that one halving in about as many is normal. Halving without end means that
something is infinite or NaN at every scale (methods §5).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from math import exp, factorial, isfinite

ROW_DIVERGED = 20
"""More skips in a row than this is no search: from 65 536 it would lead below 1/16."""
SCALE_DIVERGED = 1.0
"""Below it, gradients are made smaller than they are, and they still overflow."""
FREQUENT_STEPS = 200
"""One skip in so many steps, once the scale was found, is ten times what is normal."""
CHANCE = 0.01
"""More skips than such a rate brings in a run with this chance are frequent: five in 200 steps; fewer are ordinary in
a run that is young."""


class Scaler(StrEnum):
    """What the trace says."""

    NORMAL = "normal"
    FREQUENT = "frequent"
    """It skips far more often than once in 2 000 steps."""
    COLLAPSED = "collapsed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalerTrace:
    """A judged trace. Steps count from 0."""

    state: Scaler
    steps: int
    skipped: int
    skips_in_a_row: int
    halvings: int
    scale_last: float
    scale_lowest: float
    collapsed_step: int | None = None
    """At which it was clear."""
    first_bad_step: int | None = None
    """The first step whose loss is no number; else the first of the row of skips that was the collapse."""

    @property
    def useful_share(self) -> float:
        """Share of the steps that changed the weights: skipped ones are no throughput."""
        return 1.0 - self.skipped / self.steps if self.steps else 0.0


def judge_scaler(scales: Sequence[float], skipped: Sequence[bool], losses: Sequence[float] = ()) -> ScalerTrace | None:
    """What a trace says; None for an empty one.

    Args:
        scales: the gradient scale after each step.
        skipped: whether each step was skipped.
        losses: by step, where they are known.
    """
    if not scales:
        return None
    row, longest, collapsed, began, settled_at = 0, 0, None, None, None
    for step, (scale, skip) in enumerate(zip(scales, skipped, strict=True)):
        row = row + 1 if skip else 0
        longest = max(longest, row)
        if not skip and settled_at is None:
            settled_at = step
        if collapsed is None and (row > ROW_DIVERGED or scale < SCALE_DIVERGED):
            collapsed, began = step, step - max(0, row - 1)
    later = sum(skipped[settled_at:]) if settled_at is not None else 0
    after = len(scales) - (settled_at or 0)
    bad = next((step for step, loss in enumerate(losses) if not isfinite(loss)), None)
    state = Scaler.COLLAPSED if collapsed is not None else Scaler.NORMAL
    if state is Scaler.NORMAL and later and _chance(later, after / FREQUENT_STEPS) < CHANCE:
        state = Scaler.FREQUENT
    return ScalerTrace(
        state=state,
        steps=len(scales),
        skipped=sum(map(bool, skipped)),
        skips_in_a_row=longest,
        halvings=sum(1 for before, now in pairwise(scales) if now < before),
        scale_last=scales[-1],
        scale_lowest=min(scales),
        collapsed_step=collapsed,
        first_bad_step=began if bad is None else bad,
    )


def _chance(count: int, mean: float) -> float:
    """Probability of ``count`` or more of a Poisson number."""
    return 1.0 - sum(exp(-mean) * mean**k / factorial(k) for k in range(count))
