"""How long a cold load ran free: the stretch of windows before the power cap or the heat took hold (methods §1).

On an H200 a BF16 matrix product runs at 813 TFLOP/s for the first 35 to 70 ms, then at 702: a median over a fixed
200 ms mixes the two. The free stretch ends at the change point that splits the windows into two levels best.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

LEAST_WINDOWS = 8
"""Fewer windows than this are not split."""
LEAST_STRETCH = 4
"""Windows on either side of a split."""
DROP = 0.03
"""A lasting drop of the level by more than this share is a limit taking hold; less is noise."""

STEP_OVER_LINE = 0.75
"""A step counts if it leaves less than this share of what a straight line leaves (sums of squared residuals)."""


def free_stretch(rates: Sequence[float]) -> int:
    """Number of leading windows before the first lasting drop; all of them where there is none.

    The split minimises the squared distances to the means of its two sides (binary segmentation with
    one change point); it counts only if the second level lies below the first by more than ``DROP`` and if two levels
    explain the windows clearly better than a straight line does: a steady decline has no point where it changes.

    Args:
        rates: one rate per window in order of time, any unit, shape (n,).
    """
    series = np.asarray(rates, dtype=np.float64)
    n = series.size
    if n < LEAST_WINDOWS:
        return n
    centred = series - series.mean()
    sums, squares = np.cumsum(centred), np.cumsum(centred**2)
    splits = np.arange(LEAST_STRETCH, n - LEAST_STRETCH + 1)
    left = squares[splits - 1] - sums[splits - 1] ** 2 / splits
    right = squares[-1] - squares[splits - 1] - (sums[-1] - sums[splits - 1]) ** 2 / (n - splits)
    step = left + right
    best = int(np.argmin(step))
    split = int(splits[best])
    if float(step[best]) >= STEP_OVER_LINE * _around_line(series):
        return n
    before, after = float(np.median(series[:split])), float(np.median(series[split:]))
    return split if after < before * (1.0 - DROP) else n


def _around_line(series: NDArray[np.float64]) -> float:
    """Sum of squared residuals of the least-squares line through equally spaced values."""
    place = np.arange(series.size) - (series.size - 1) / 2.0
    centred = series - series.mean()
    return float(centred @ centred - (place @ centred) ** 2 / (place @ place))
