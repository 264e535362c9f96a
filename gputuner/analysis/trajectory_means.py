"""Means over stretches of a loss trajectory, whole turns over the batches wherever it can be."""

from collections.abc import Sequence
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from gputuner.analysis.distributions import student_quantile

Losses = Sequence[float]
Array = NDArray[np.float64]

LAST_SHARE = 3
"""The end of a trajectory is its last third."""
SMOOTHED_SHARE = 12
"""A loss is drawn as the mean of so many-th of the steps around it, and of one turn over the batches at least."""
TURN = 8
"""Batches that come in turn."""


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


def end_of(losses: Losses) -> Array:
    """The last third, rounded to whole turns; all of what is shorter than that."""
    turns = max(1, round(len(losses) / LAST_SHARE / TURN))
    return np.asarray(losses, dtype=np.float64)[-turns * TURN :]


def one_more(runs: int, confidence: float) -> float:
    """Half width of the prediction interval for one more run, in standard deviations: t(n − 1) · √(1 + 1/n).

    Args:
        runs: how many the standard deviation is from; two at least.
        confidence: the level of its upper end.
    """
    return student_quantile(confidence, runs - 1.0) * sqrt(1.0 + 1.0 / runs)
