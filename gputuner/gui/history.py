# pyright: standard
"""What Monitor remembers of one card for drawing: growing arrays per quantity, the limiter over time, gaps and XIDs."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gputuner.model.quantities import Limiter, Quantity, limiter_of
from gputuner.model.samples import Gap, Sample, XidSeen

CAPACITY = 100_000
"""Samples kept per quantity: half a day at 2 Hz, about 1.6 MB."""

DRAWN_AT_MOST = 3000
"""Points handed to one curve: a few per pixel."""

DRAWN = (
    Quantity.CORE_TEMPERATURE_C,
    Quantity.MEMORY_TEMPERATURE_C,
    Quantity.HOTSPOT_TEMPERATURE_C,
    Quantity.POWER_AVERAGE_W,
    Quantity.POWER_INSTANT_W,
    Quantity.SM_CLOCK_MHZ,
    Quantity.MEMORY_CLOCK_MHZ,
    Quantity.MEMORY_USED_BYTES,
    Quantity.GPU_UTILISATION,
    Quantity.TENSOR_ACTIVE,
)
"""Quantities that have a curve."""

_LIMITERS = tuple(Limiter)
_CODES = {limiter: code for code, limiter in enumerate(_LIMITERS)}


class Track:
    """Times (s) and values of one curve; missing values are NaN, for the drawing only."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._times = np.empty(256, dtype=np.float64)
        self._values = np.empty(256, dtype=np.float64)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def append(self, t_s: float, value: float) -> None:
        """Add a value (NaN: missing); a time that is not later than the last one is dropped."""
        if self._count and t_s <= self._times[self._count - 1]:
            return
        if self._count == len(self._times):
            self._grow()
        self._times[self._count] = t_s
        self._values[self._count] = value
        self._count += 1

    def window(self, t0_s: float, t1_s: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Times and values from just before ``t0_s`` to ``t1_s`` (views, float64)."""
        times = self._times[: self._count]
        first = max(0, int(np.searchsorted(times, t0_s)) - 1)
        last = int(np.searchsorted(times, t1_s, side="right"))
        return times[first:last], self._values[first:last]

    def at(self, t_s: float) -> float | None:
        """The value that held at ``t_s``: the last one before it, None where there was none or it was missing."""
        index = int(np.searchsorted(self._times[: self._count], t_s, side="right")) - 1
        if index < 0 or np.isnan(self._values[index]):
            return None
        return float(self._values[index])

    def _grow(self) -> None:
        if self._count >= self._capacity:
            keep = self._capacity * 3 // 4
            self._times[:keep] = self._times[self._count - keep : self._count].copy()
            self._values[:keep] = self._values[self._count - keep : self._count].copy()
            self._count = keep
            return
        size = min(2 * len(self._times), self._capacity)
        self._times = np.resize(self._times, size)
        self._values = np.resize(self._values, size)


def thinned(
    times: NDArray[np.float64], values: NDArray[np.float64], at_most: int = DRAWN_AT_MOST
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """About ``at_most`` points that look the same: lowest and highest of each bucket, broken where one is NaN."""
    width = -(-3 * len(values) // at_most)
    if width <= 3:
        return times, values
    whole = len(values) // width * width
    blocks = values[:whole].reshape(-1, width)
    low, high = np.fmin.reduce(blocks, axis=1), np.fmax.reduce(blocks, axis=1)
    last = np.where(np.isnan(blocks).any(axis=1), np.nan, high)
    starts = times[:whole].reshape(-1, width)[:, 0]
    drawn = np.column_stack((low, high, last)).ravel()
    return np.concatenate((np.repeat(starts, 3), times[whole:])), np.concatenate((drawn, values[whole:]))


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the ribbon in seconds; ``limiter`` None: no telemetry."""

    t0_s: float
    t1_s: float
    limiter: Limiter | None


@dataclass(frozen=True, slots=True)
class AlertTold:
    """What one of the user's alerts told: when (s of the feed's clock), its name, the sentence, whether it is over."""

    t_s: float
    name: str
    text: str
    over: bool


class History:
    """The drawn past of one card, in seconds of the feed's clock."""

    def __init__(self) -> None:
        self.tracks: dict[Quantity, Track] = {quantity: Track() for quantity in DRAWN}
        self.gaps: list[Gap] = []
        self.xids: list[XidSeen] = []
        self.alerts: list[AlertTold] = []
        self._limits = Track()
        self.last_s: float | None = None

    def add(self, sample: Sample) -> None:
        """Take one sample in."""
        t_s = sample.t_ns * 1e-9
        for quantity, track in self.tracks.items():
            if quantity in sample.values:
                track.append(t_s, sample.values[quantity])
            elif quantity in sample.missing:
                track.append(t_s, np.nan)
        if Quantity.LIMIT_BITS in sample.values:
            limiter = limiter_of(int(sample.values[Quantity.LIMIT_BITS]))
            self._limits.append(t_s, float(_CODES[limiter]))
        elif Quantity.LIMIT_BITS in sample.missing:
            self._limits.append(t_s, float(_CODES[Limiter.UNKNOWN]))
        self.last_s = t_s

    def add_gap(self, gap: Gap) -> None:
        """Break every curve where telemetry was silent."""
        self.gaps = [*self.gaps[-199:], gap]
        for track in (*self.tracks.values(), self._limits):
            track.append(gap.t0_ns * 1e-9 + 1e-6, np.nan)

    def add_xid(self, xid: XidSeen) -> None:
        """Remember an XID error."""
        self.xids = [*self.xids[-199:], xid]

    def add_alert(self, told: AlertTold) -> None:
        """Remember what one of the user's alerts told."""
        self.alerts = [*self.alerts[-199:], told]

    def paths(self, quantity: Quantity, t0_s: float, at_most: int) -> list[list[tuple[float, float]]]:
        """A curve since ``t0_s`` as (time, value), thinned to about ``at_most`` places; a gap ends a path."""
        if self.last_s is None:
            return []
        times, values = thinned(*self.tracks[quantity].window(t0_s, self.last_s), at_most)
        breaks = np.flatnonzero(np.isnan(values))
        parts = zip(np.split(times, breaks), np.split(values, breaks), strict=True)
        paths = [[(t, v) for t, v in zip(ts.tolist(), vs.tolist(), strict=True) if v == v] for ts, vs in parts]
        return [path for path in paths if len(path) > 1]

    def spans(self, t0_s: float, t1_s: float) -> list[Span]:
        """The limiter over time as merged stretches between two times."""
        times, codes = self._limits.window(t0_s, t1_s)
        result: list[Span] = []
        if len(times) == 0:
            return result
        changes = np.flatnonzero(~((codes[1:] == codes[:-1]) | (np.isnan(codes[1:]) & np.isnan(codes[:-1])))) + 1
        starts = np.concatenate(([0], changes))
        for number, start in enumerate(starts):
            begin = max(t0_s, float(times[start]))
            end = float(times[starts[number + 1]]) if number + 1 < len(starts) else min(t1_s, self.last_s or t1_s)
            code = codes[start]
            if end > begin:
                result.append(Span(begin, end, None if np.isnan(code) else _LIMITERS[int(code)]))
        return result


def shares(spans: list[Span]) -> dict[Limiter, float]:
    """Fraction of the observed time in each limiter, largest first."""
    seconds: dict[Limiter, float] = {}
    for span in spans:
        if span.limiter is not None:
            seconds[span.limiter] = seconds.get(span.limiter, 0.0) + span.t1_s - span.t0_s
    total = sum(seconds.values())
    ordered = sorted(seconds.items(), key=lambda item: -item[1])
    return {limiter: value / total for limiter, value in ordered} if total > 0 else {}
