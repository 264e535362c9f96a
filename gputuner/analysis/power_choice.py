"""Which settings a sweep visits: some spread over the range, then more where the answers lie."""

import numpy as np

from gputuner.analysis.power_curve import Curve
from gputuner.analysis.power_shape import Array, reached

COARSE, FINE = 5, 3
"""Settings over the range, and those chosen by what was seen: 8 in all."""
BELOW_TOP, ABOVE_REACH = 0.97, 1.02
"""A load that reaches less than this share of the highest setting is not held by it; above its reach all is alike."""
KNEE_WEIGHT, PEAK_WEIGHT = 2.0, 4.0
LEAST_GAP = 0.03
"""Of the range: no two settings closer than this are told apart."""


def coarse(low: float, high: float, reach: float | None, grain: float) -> tuple[float, ...]:
    """Settings over the range, lowest first, the highest among them.

    Args:
        low: lowest setting that the card takes.
        high: highest setting of the sweep.
        reach: what the load reaches at the highest (W drawn, MHz run at); None: not known.
        grain: settings are whole multiples of it.
    """
    held = high if reach is None or reach > BELOW_TOP * high or reach <= low else min(high, ABOVE_REACH * reach)
    count = COARSE if held == high else COARSE - 1
    found = [_whole(each, low, high, grain) for each in np.linspace(low, held, count).tolist()]
    return tuple(sorted({*found, high}))


def next_setting(curve: Curve, loss: float, grain: float) -> float | None:
    """The setting that tells most: amid the gap that holds the knee, the least energy, or a peak; None: enough.

    The widest of these gaps comes first, by what hangs on it; where they are narrow, the widest of all.
    """
    settings = curve.settings
    last = len(settings) - 1
    gaps = [(_gap(settings, reached(settings, curve.rate.fit, 1.0 - loss)), KNEE_WEIGHT)]
    if curve.energy is not None:
        at = int(np.argmin(curve.energy.fit))
        gaps += [((i, i + 1), 1.0) for i in (at - 1, at) if 0 <= i < last]
    if curve.falls_above is not None:  # knee and fastest both hang on the height of the peak
        at = int(np.flatnonzero(settings == curve.falls_above)[0])
        gaps += [((i, i + 1), PEAK_WEIGHT) for i in (at - 1, at) if 0 <= i < last]
    widest = max(range(last), key=lambda i: float(settings[i + 1] - settings[i]))
    ranked = sorted(gaps, key=lambda each: -each[1] * float(settings[each[0][1]] - settings[each[0][0]]))
    least = max(LEAST_GAP * float(settings[-1] - settings[0]), 2.0 * grain)
    for (below, above), _ in [*ranked, ((widest, widest + 1), 0.0)]:
        first, second = float(settings[below]), float(settings[above])
        middle = _whole(0.5 * (first + second), first, second, grain)
        if second - first >= 2.0 * least and first < middle < second:
            return middle
    return None


def _gap(settings: Array, at: float) -> tuple[int, int]:
    above = int(np.clip(np.searchsorted(settings, at, side="left"), 1, len(settings) - 1))
    return above - 1, above


def _whole(value: float, low: float, high: float, grain: float) -> float:
    return float(min(max(round(value / grain) * grain, low), high))
