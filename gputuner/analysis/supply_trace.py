"""What a stored trace of a card's power shows: the highest mean over a stretch, and the highest reading.

A trace is sampled 2 to 10 times a second and the driver's average field trails by about a second, so that peaks of
milliseconds are not in it: sizing adds a stated factor for them.
"""

import numpy as np
from numpy.typing import NDArray

from gputuner.analysis.supply_draw import NEAR, Seen

Floats = NDArray[np.float64]
STRETCH_S = 15.0
"""Sustained is the highest mean over so many seconds: a power cap holds within a fraction of one, and loads of sweeps
and benchmarks last no longer."""


def seen_in(
    t_ns: NDArray[np.int64],
    mean_w: Floats,
    peak_w: float,
    segments: tuple[slice, ...],
    *,
    bucket_s: float = 0.0,
    session: str = "",
    used: float | None = None,
) -> Seen | None:
    """What a trace shows; None where it holds no unbroken stretch of 15 s.

    Args:
        t_ns: times, int64 (n,), rising.
        mean_w: power, float64 (n,): readings, or means of buckets.
        peak_w: the highest reading.
        segments: unbroken parts of the arrays.
        bucket_s: width of a bucket, of which ``t_ns`` is the middle; 0: single readings.
        session: its id.
        used: highest share of its time in use over as long.
    """
    best = highest_mean(t_ns, mean_w, segments, bucket_s)
    if best is None:
        return None
    steps = np.diff(t_ns) / 1e9
    interval = bucket_s or float(np.median(steps))
    held = float(np.count_nonzero(mean_w >= NEAR * best)) * interval
    peak_w = max(peak_w, best)
    return Seen(sustained_w=best, held_s=held, peak_w=peak_w, interval_s=interval, session=session, used=used)


def highest_mean(t_ns: NDArray[np.int64], mean: Floats, segments: tuple[slice, ...], bucket_s: float) -> float | None:
    """Highest mean over an unbroken stretch of 15 s, or over a bucket where they are longer; None: there is none."""
    if bucket_s >= STRETCH_S and len(mean):
        return float(np.max(mean))
    means = [_highest_mean(t_ns[part] / 1e9, mean[part], STRETCH_S) for part in segments]
    return max((each for each in means if each is not None), default=None)


def _highest_mean(t_s: Floats, watts: Floats, stretch_s: float) -> float | None:
    """Highest mean over ``stretch_s`` seconds, by trapezoids between readings; None: the part is shorter."""
    if len(t_s) < 2 or t_s[-1] - t_s[0] < stretch_s:
        return None
    joules = np.concatenate(([0.0], np.cumsum(0.5 * (watts[1:] + watts[:-1]) * np.diff(t_s))))
    begins = t_s[t_s <= t_s[-1] - stretch_s]
    energy = np.interp(begins + stretch_s, t_s, joules) - joules[: len(begins)]
    return float(np.max(energy)) / stretch_s
