"""Steady stretches of ordinary sessions: the card at work, settled, and the card at rest, settled."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from gputuner.analysis.thermal_trace import LEAST_FAN
from gputuner.analysis.wear_trace import Flags, Floats, WearTrace

WORK_S, REST_S = 180.0, 600.0
"""A stretch lasts so long; a sink's time constant is 1 to 3 min, still air's longer."""
WORK_SHARE, REST_SHARE = 0.35, 0.30
"""Work draws at least, rest at most so much of the default power limit."""
MOVED_C = {"work": 1.5, "rest": 1.2}
"""The temperature's means may span so much, °C: a whole-degree sensor between two degrees."""
SLOPE_C_PER_MIN = {"work": 0.25, "rest": 0.06}
"""What is left of settling is this times the time constant: under 0.75 °C at work, under 0.3 °C at rest."""
POWER_SPREAD = 0.05
"""Standard deviation of power over its mean."""
FAN_MOVED = 0.04
IDLE_BUSY = 0.03
MOST_STEPS = 8640
"""Longer pieces are looked at in parts, a day of 10 s each, since windows over all of a month would fill the memory."""
EVERY_S = 1800.0
"""A long stretch tells again each half hour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A settled stretch: means over it. ``unix_s``: its end; ``fan_fraction``, ``traffic``: None where not read."""

    unix_s: float
    temperature_c: float
    power_w: float
    fan_fraction: float | None
    traffic: float | None = None

    @property
    def fan_turns(self) -> bool:
        """Whether its fan moves air (a card without one is cooled by another's)."""
        return self.fan_fraction is None or self.fan_fraction >= LEAST_FAN


def working(trace: WearTrace, default_limit_w: float | None) -> tuple[Stretch, ...]:
    """Stretches of ``WORK_S`` under load in which power, temperature and fan have settled.

    Args:
        trace: a session.
        default_limit_w: the card's default power limit; None: the highest tenth of the trace stands for it.
    """
    full = _full_w(trace, default_limit_w)

    def wanted(power: Floats, _busy: Floats) -> Flags:
        return power >= WORK_SHARE * full

    return _found(trace, WORK_S, "work", wanted)


def resting(trace: WearTrace, default_limit_w: float | None) -> tuple[Stretch, ...]:
    """Stretches of ``REST_S`` without work in which the temperature has settled."""
    full = _full_w(trace, default_limit_w)

    def wanted(power: Floats, busy: Floats) -> Flags:
        return (power <= REST_SHARE * full) & ~(busy > IDLE_BUSY)

    return _found(trace, REST_S, "rest", wanted)


def _full_w(trace: WearTrace, default_limit_w: float | None) -> float:
    if default_limit_w is not None and default_limit_w > 0:
        return default_limit_w
    known = trace.power_w[np.isfinite(trace.power_w)]
    return float(np.quantile(known, 0.95)) if known.size else np.inf


def _found(
    trace: WearTrace, lasts_s: float, kind: str, wanted: Callable[[Floats, Floats], Flags]
) -> tuple[Stretch, ...]:
    core = trace.heat.get("core")
    if core is None:
        return ()
    found: list[Stretch] = []
    n = max(3, round(lasts_s / trace.step_s))
    for part in _parts(trace):
        t_s, temperature, power = trace.t_s[part], core.mean[part], trace.power_w[part]
        if t_s.size < n:
            continue
        fan, busy, traffic = filled(trace.fan[part]), trace.busy[part], trace.traffic[part]
        fits = _settled(t_s, temperature, kind, n) & _level(power, fan, n)
        fits &= wanted(_means(power, n), np.nan_to_num(_means(busy, n), nan=0.0))
        for end in _told(fits, round(EVERY_S / trace.step_s)):
            own = slice(end, end + n)
            found.append(
                Stretch(
                    unix_s=float(t_s[own][-1] + trace.step_s),
                    temperature_c=float(temperature[own].mean()),
                    power_w=float(power[own].mean()),
                    fan_fraction=_mean_or_none(fan[own]),
                    traffic=_mean_or_none(traffic[own]),
                )
            )
    return tuple(found)


def _parts(trace: WearTrace) -> list[slice]:
    return [
        slice(begin, min(begin + MOST_STEPS, piece.stop))
        for piece in trace.pieces
        for begin in range(piece.start, piece.stop, MOST_STEPS)
    ]


def filled(values: Floats) -> Floats:
    """Readings of a slower sensor kept until the next one; NaN only before the first."""
    there = np.isfinite(values)
    last = np.maximum.accumulate(np.where(there, np.arange(values.size), -1))
    return np.where(last >= 0, values[np.maximum(last, 0)], np.nan)


def _settled(t_s: Floats, temperature: Floats, kind: str, n: int) -> Flags:
    """Whether the temperature stands in the window that begins at each step; a reading that is missing says no."""
    windows = sliding_window_view(temperature, n)
    moved = windows.max(axis=1) - windows.min(axis=1)
    minutes = (np.arange(n) - 0.5 * (n - 1)) * float(np.median(np.diff(t_s))) / 60.0
    slope = windows @ minutes / float(minutes @ minutes)
    return (moved <= MOVED_C[kind]) & (np.abs(slope) <= SLOPE_C_PER_MIN[kind])


def _level(power: Floats, fan: Floats, n: int) -> Flags:
    windows = sliding_window_view(power, n)
    level = windows.std(axis=1) <= POWER_SPREAD * windows.mean(axis=1)
    if np.isfinite(fan).any():
        turns = sliding_window_view(fan, n)
        level &= (turns.max(axis=1) - turns.min(axis=1)) <= FAN_MOVED
    return level


def _means(values: Floats, n: int) -> Floats:
    return sliding_window_view(values, n).mean(axis=1)


def _told(fits: Flags, every: int) -> list[int]:
    """The last window of each run of fitting ones, and one each ``every`` steps before it."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], fits, [False]]).astype(np.int8)))
    found: list[int] = []
    for begin, end in zip(edges[0::2].tolist(), edges[1::2].tolist(), strict=True):
        found += sorted(range(end - 1, begin - 1, -every))
    return found


def _mean_or_none(values: Floats) -> float | None:
    mean = float(values.mean())
    return mean if np.isfinite(mean) else None
