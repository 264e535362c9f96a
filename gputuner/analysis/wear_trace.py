"""What one stored session tells of a card's wear, in steps of a roll-up: temperatures, power, fan, limits, counters."""

from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gputuner.model.quantities import Limiter, Quantity

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

SENSORS: dict[str, Quantity] = {
    "core": Quantity.CORE_TEMPERATURE_C,
    "memory": Quantity.MEMORY_TEMPERATURE_C,
    "hotspot": Quantity.HOTSPOT_TEMPERATURE_C,
}
"""The temperatures that wear is told of, by the name they have here."""
SILENCE = 2.5
"""Steps further apart than so many usual ones are a pause that nobody observed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finer:
    """A temperature in °C, in steps of a finer width where it moved fast, as the trace's own elsewhere.

    ``step``: of the trace that each of the m lies in, int64, never falling; ``low``, ``high``: float64 (m,).
    """

    step: Ints
    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Heat:
    """A temperature per step in °C: its lowest, mean and highest reading; float64 (n,), NaN where none was read.

    ``finer``: the same closer by; None: nothing closer is known.
    """

    low: Floats
    mean: Floats
    high: Floats
    finer: Finer | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WearTrace:
    """One session of one card; every array has one entry per step, in the order of time (n,).

    ``t_s``: begin of the step, unix time in s. ``seconds``: how much of it was observed, s (0: already told by another
    session of the same time). ``power_w``: W; ``fan``, ``busy`` (use of the card) and ``traffic`` (of its memory):
    fractions; ``limited``: by limit that is sampled, the share of the step's samples in it; ``counters``: the last
    reading of what only grows. NaN where nothing was read.
    """

    t_s: Floats
    seconds: Floats
    heat: dict[str, Heat]
    power_w: Floats
    fan: Floats
    busy: Floats
    traffic: Floats
    limited: dict[Limiter, Floats] = field(default_factory=lambda: {})
    counters: dict[Quantity, Floats] = field(default_factory=lambda: {})
    step_s: float = 10.0
    """Width of a step, s."""

    @property
    def pieces(self) -> tuple[slice, ...]:
        """The parts between pauses, as slices of the arrays."""
        return joined(self.t_s, self.step_s)


def usual_step(t_s: Floats, step_s: float) -> float:
    """The usual distance of two steps in s, at least their width (slow sampling leaves steps out)."""
    return max(step_s, float(np.median(np.diff(t_s)))) if t_s.size > 1 else step_s


def joined(t_s: Floats, step_s: float) -> tuple[slice, ...]:
    """Slices of times that follow each other without a pause."""
    if t_s.size == 0:
        return ()
    cuts = np.flatnonzero(np.diff(t_s) > SILENCE * usual_step(t_s, step_s)) + 1
    edges = [0, *cuts.tolist(), t_s.size]
    return tuple(slice(a, b) for a, b in pairwise(edges))


def observed_seconds(t_s: Floats, rows: Floats, step_s: float) -> Floats:
    """How many seconds of each step were observed: all of those that another follows, of the last before a pause its
    share by the number of samples, ``rows``, against the step before it. float64 (n,).
    """
    if t_s.size == 0:
        return t_s
    usual = usual_step(t_s, step_s)
    ahead = np.append(np.diff(t_s), np.inf)
    whole = ahead <= SILENCE * usual
    before = np.concatenate([[rows[0]], rows[:-1]])
    share = np.minimum(1.0, rows / np.maximum(before, 1.0))
    return np.where(whole, np.minimum(ahead, SILENCE * usual), usual * share)


def told_once(trace: WearTrace, told: list[tuple[float, float]]) -> WearTrace:
    """The trace with no seconds within the spans ``told`` (unix s): two sessions at once tell one hour once."""
    middle = trace.t_s + 0.5 * trace.step_s
    again = np.zeros(middle.size, dtype=bool)
    for begin, end in told:
        again |= (middle >= begin) & (middle < end)
    return replace(trace, seconds=np.where(again, 0.0, trace.seconds))


def spans(trace: WearTrace) -> list[tuple[float, float]]:
    """The time spans in unix s that the trace observed."""
    return [
        (float(trace.t_s[part][0]), float(trace.t_s[part][-1] + max(trace.step_s, trace.seconds[part][-1])))
        for part in trace.pieces
    ]
