"""When a load has become steady, and which part of a long one counts as sustained (methods §1)."""

from collections.abc import Sequence

import numpy as np

WINDOWS = 3
TOLERANCE = 0.01
"""Medians of the last windows may differ by this fraction."""
TEMPERATURE_SLOPE_C_PER_S = 0.1
"""0.5 °C over 5 s, the same bound as for settling."""
SUSTAINED_LAST_S = 30.0


def rate_is_steady(values: Sequence[float], windows: int = WINDOWS, tolerance: float = TOLERANCE) -> bool:
    """True if the medians of the last ``windows`` equal parts lie within ``tolerance`` of each other.

    Fewer than two values per window cannot tell: False.
    """
    series = np.asarray(values, dtype=np.float64)
    if series.size < 2 * windows:
        return False
    medians = [float(np.median(part)) for part in np.array_split(series, windows)]
    lowest, highest = min(medians), max(medians)
    return lowest > 0 and highest / lowest - 1.0 <= tolerance


def slope_per_s(t_s: Sequence[float], values: Sequence[float]) -> float:
    """Least-squares slope in unit of ``values`` per second; 0 for fewer than two points or no spread in time."""
    t = np.asarray(t_s, dtype=np.float64)
    y = np.asarray(values, dtype=np.float64)
    if t.size < 2:
        return 0.0
    centred = t - t.mean()
    square = float(centred @ centred)
    return float(centred @ (y - y.mean())) / square if square > 0 else 0.0


def temperature_is_steady(t_s: Sequence[float], temperature_c: Sequence[float]) -> bool:
    """True if the temperature's slope is at most 0.1 °C/s."""
    return abs(slope_per_s(t_s, temperature_c)) <= TEMPERATURE_SLOPE_C_PER_S


def sustained_part(
    iteration_s: Sequence[float], duration_s: float, last_s: float = SUSTAINED_LAST_S
) -> tuple[float, ...]:
    """The entries that fall into the last ``last_s`` seconds of a window of ``duration_s`` (at least one).

    Entries stand for equal numbers of iterations, so their share of the window is their own time over the sum.
    """
    total = sum(iteration_s)
    if total <= 0 or duration_s <= last_s:
        return tuple(iteration_s)
    wanted, taken, first = total * last_s / duration_s, 0.0, len(iteration_s)
    while first > 0 and taken < wanted:
        first -= 1
        taken += iteration_s[first]
    return tuple(iteration_s[first:])
