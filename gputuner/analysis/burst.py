"""How long a cold load ran free: the stretch of windows before the power cap or the heat took hold (methods §1).

On an H200 a BF16 matrix product runs at 813 TFLOP/s for the first 35 to 70 ms, then at 702, or swings between levels
while the cap settles: a median over a fixed 200 ms mixes them. The free stretch ends at the first lasting drop.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

LEAST_WINDOWS = 8
"""Fewer windows than this are not split."""
LEAST_STRETCH = 4
"""Windows on either side of a split at least."""
STRETCH = 8
"""Windows on either side that are compared at most: what comes later, a second step or a recovery, does not matter."""
DROP = 0.03
"""A lasting drop of the level by more than this share is a limit taking hold; less is noise."""
NOISES = 5.0
"""A drop counts only above so many standard errors of the two levels' difference: about a hundred places are tried."""
STEP_OVER_LINE = 0.75
"""A step counts if it leaves less than this share of what a straight line leaves (sums of squared residuals)."""


def free_stretch(rates: Sequence[float]) -> int:
    """Number of leading windows before the first lasting drop; all of them where there is none.

    At each place the medians of up to ``STRETCH`` windows before and after are compared. The first place where the
    level falls by more than ``DROP`` and noise explain, and by a step rather than steadily, marks the drop; it lies
    where, from there on, the two means differ most.

    Args:
        rates: one rate per window in order of time, any unit, shape (n,).
    """
    series = np.asarray(rates, dtype=np.float64)
    if series.size < LEAST_WINDOWS:
        return series.size
    places = range(LEAST_STRETCH, series.size - LEAST_STRETCH + 1)
    sides = {place: _sides(series, place) for place in places}
    for place, (before, after) in sides.items():
        drop = 1.0 - float(np.median(after)) / float(np.median(before))
        if drop > max(DROP, NOISES * _noise(series[:place])) and _is_step(before, after):
            near = [other for other in sides if place <= other <= place + STRETCH]
            return max(near, key=lambda other: float(sides[other][0].mean() - sides[other][1].mean()))
    return series.size


def _sides(series: NDArray[np.float64], place: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return series[max(0, place - STRETCH) : place], series[place : place + STRETCH]


def _noise(series: NDArray[np.float64]) -> float:
    """Standard error of the difference of two medians of ``STRETCH`` windows, relative.

    From neighbours among the windows before: what comes after a limit took hold may swing.
    """
    deviation = 1.4826 * float(np.median(np.abs(np.diff(series)))) / np.sqrt(2.0)
    return float(1.2533 * deviation * np.sqrt(2.0 / STRETCH) / np.median(series))


def _is_step(before: NDArray[np.float64], after: NDArray[np.float64]) -> bool:
    """Whether two levels explain the windows clearly better than one straight line through all of them does."""
    two_levels = float(((before - before.mean()) ** 2).sum() + ((after - after.mean()) ** 2).sum())
    both = np.concatenate([before, after])
    place, centred = np.arange(both.size) - (both.size - 1) / 2.0, both - both.mean()
    return two_levels < STEP_OVER_LINE * float(centred @ centred - (place @ centred) ** 2 / (place @ place))
