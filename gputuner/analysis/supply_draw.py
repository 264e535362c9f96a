"""What a card drew, out of a stored trace of its power: the highest mean over a stretch, and the highest reading.

A trace is sampled 2 to 10 times a second and the driver's average field trails by about a second, so that peaks of
milliseconds are not in it: sizing adds a stated factor for them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
STRETCH_S = 15.0
"""Sustained is the highest mean over so many seconds: a power cap holds within a fraction of one, and loads of sweeps
and benchmarks last no longer …"""
NEAR, SUSTAINED_S = 0.9, 60.0
"""… but it is firm only where so many seconds in all were spent within this share of it."""


class DrawSource(StrEnum):
    """How the watts of a card are known, best first."""

    MEASURED = "measured"
    TOLD = "told"
    """By the user."""
    LIMIT = "limit"
    """The card's power limit; not measured."""
    SHEET = "sheet"
    """The catalogue's figure; not measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What one trace shows, W: ``sustained_w`` over 15 s (or a longer bucket), ``peak_w`` the highest reading.

    ``held_s``: seconds in all that it drew nearly as much. ``interval_s``: between two readings (of roll-ups: the
    bucket's width).
    """

    sustained_w: float
    held_s: float
    peak_w: float
    interval_s: float
    session: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CardDraw:
    """The watts that a card is sized by.

    ``limit_w``: its power limit, where known. ``sessions``: how many stored sessions were looked at.
    """

    name: str
    source: DrawSource
    sustained_w: float
    peak_w: float
    uuid: str = ""
    limit_w: float | None = None
    seen: Seen | None = None
    sessions: int = 0
    simulated: bool = False

    @property
    def measured(self) -> bool:
        """Whether it is from a card's own readings (of a simulated card: from the model's)."""
        return self.source is DrawSource.MEASURED

    @property
    def short(self) -> bool:
        """Whether it was drawn for too short a time to be firm."""
        return self.seen is not None and self.seen.held_s < SUSTAINED_S


def seen_in(
    t_ns: NDArray[np.int64],
    mean_w: Floats,
    peak_w: float,
    segments: tuple[slice, ...],
    *,
    bucket_s: float = 0.0,
    session: str = "",
) -> Seen | None:
    """What a trace shows; None where it holds no unbroken stretch of 15 s.

    Args:
        t_ns: times, int64 (n,), rising.
        mean_w: power, float64 (n,): readings, or means of buckets.
        peak_w: the highest reading.
        segments: unbroken parts of the arrays.
        bucket_s: width of a bucket, of which ``t_ns`` is the middle; 0: single readings.
        session: its id.
    """
    if bucket_s >= STRETCH_S and len(mean_w):
        best: float | None = float(np.max(mean_w))
    else:
        means = [_highest_mean(t_ns[part] / 1e9, mean_w[part], STRETCH_S) for part in segments]
        best = max((mean for mean in means if mean is not None), default=None)
    if best is None:
        return None
    steps = np.diff(t_ns) / 1e9
    interval = bucket_s or float(np.median(steps))
    held = float(np.count_nonzero(mean_w >= NEAR * best)) * interval
    return Seen(sustained_w=best, held_s=held, peak_w=max(peak_w, best), interval_s=interval, session=session)


def _highest_mean(t_s: Floats, watts: Floats, stretch_s: float) -> float | None:
    """Highest mean over ``stretch_s`` seconds, by trapezoids between readings; None: the part is shorter."""
    if len(t_s) < 2 or t_s[-1] - t_s[0] < stretch_s:
        return None
    joules = np.concatenate(([0.0], np.cumsum(0.5 * (watts[1:] + watts[:-1]) * np.diff(t_s))))
    begins = t_s[t_s <= t_s[-1] - stretch_s]
    energy = np.interp(begins + stretch_s, t_s, joules) - joules[: len(begins)]
    return float(np.max(energy)) / stretch_s


def highest(found: Sequence[Seen]) -> Seen | None:
    """Of several traces the one that drew most, with the highest reading of all and the seconds of all near it."""
    if not found:
        return None
    best = max(found, key=lambda each: each.sustained_w)
    held = sum(each.held_s for each in found if each.sustained_w >= NEAR * best.sustained_w)
    return replace(best, peak_w=max(each.peak_w for each in found), held_s=held)
