"""What all stored sessions of a card tell of its wear: hours, thermal cycles, resistance, changes, error counters."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from gputuner.analysis.rainflow import Cycle
from gputuner.analysis.wear_air import with_air
from gputuner.analysis.wear_changes import Changed, Counted, changes, counted
from gputuner.analysis.wear_drift import drift
from gputuner.analysis.wear_hours import (
    CycleClass,
    Histogram,
    by_degree,
    classed,
    course,
    histogram,
    limited_seconds,
    thermal_cycles,
)
from gputuner.analysis.wear_steady import Stretch, resting, working
from gputuner.analysis.wear_trace import SENSORS, Floats, WearTrace
from gputuner.analysis.wear_trend import Drift, SteadyPoint
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.quantities import Limiter, Quantity

USUAL_C: dict[str, tuple[float, ...]] = {
    "core": (70.0, 80.0, 90.0),
    "memory": (80.0, 90.0, 100.0),
    "hotspot": (90.0, 100.0, 110.0),
}
"""Temperatures that hours are told above, unless others are asked for, up to the card's own limit."""
OWN_LIMITS: dict[str, tuple[str, ...]] = {"core": ("target_c", "slowdown_c"), "memory": ("memory_max_c",)}
"""The card's own limits by sensor, as its readings name them; the last is its highest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionWear:
    """What one session adds: its trace brought down to figures.

    ``degrees``: seconds by whole °C per sensor (``wear_hours.by_degree``). ``course``: of the core
    (``wear_hours.course``); None where its temperature was not read. ``counters``: first and last reading, with their
    unix times in s.
    """

    session_id: str
    unix_s: float
    observed_s: float
    card: CardInfo
    host: str | None = None
    degrees: dict[str, Floats] = field(default_factory=lambda: {})
    course: tuple[Floats, Floats] | None = None
    work: tuple[Stretch, ...] = ()
    rest: tuple[Stretch, ...] = ()
    room_c: float | None = None
    limited_s: dict[Limiter, float] = field(default_factory=lambda: {})
    counters: dict[Quantity, tuple[tuple[float, float], ...]] = field(default_factory=lambda: {})
    xids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSeen:
    """A session that was read: when it began and how much of the card's life it observed, s."""

    session_id: str
    unix_s: float
    observed_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HoursAbove:
    """Seconds at ``above_c`` or more, of ``observed_s`` in which this sensor was read."""

    sensor: str
    above_c: float
    seconds: float
    observed_s: float
    limit: str | None = None
    """The reading of the card that has this limit of its own; None: it is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wear:
    """The wear of one card, as far as stored sessions tell; what happened between them is not known.

    ``skipped``: sessions of the card that could not be read. ``xids``: number of each XID error that was seen.
    """

    card: CardInfo
    origin: Origin
    sessions: tuple[SessionSeen, ...] = ()
    skipped: int = 0
    hours: tuple[HoursAbove, ...] = ()
    histograms: dict[str, Histogram] = field(default_factory=lambda: {})
    cycles: tuple[CycleClass, ...] = ()
    steady: tuple[SteadyPoint, ...] = ()
    drift: Drift
    changes: tuple[Changed, ...] = ()
    counters: tuple[Counted, ...] = ()
    limited_s: dict[Limiter, float] = field(default_factory=lambda: {})
    xids: dict[int, int] = field(default_factory=lambda: {})

    @property
    def observed_s(self) -> float:
        """Seconds of the card's life that were observed, each once."""
        return sum(session.observed_s for session in self.sessions)

    @property
    def span_s(self) -> float:
        """From the begin of the first session to the end of the last one, s."""
        if not self.sessions:
            return 0.0
        return max(s.unix_s + s.observed_s for s in self.sessions) - min(s.unix_s for s in self.sessions)


def session_wear(
    trace: WearTrace,
    card: CardInfo,
    *,
    session_id: str,
    unix_s: float,
    host: str | None = None,
    room_c: float | None = None,
    xids: Sequence[int] = (),
) -> SessionWear:
    """What one session adds to a card's wear.

    Args:
        trace: its steps; without seconds where another session told them already.
        card: the card as the session found it.
        session_id: its id.
        unix_s: its begin.
        host: the computer it ran on.
        room_c: temperature of the air as it was told.
        xids: XID errors it saw.
    """
    limit_w = card.number("power_limit_default_w")
    core = trace.heat.get("core")
    return SessionWear(
        session_id=session_id,
        unix_s=unix_s,
        observed_s=float(trace.seconds.sum()),
        card=card,
        host=host,
        degrees={name: by_degree(trace, heat) for name, heat in trace.heat.items()},
        course=course(trace, core) if core is not None else None,
        work=working(trace, limit_w),
        rest=resting(trace, limit_w),
        room_c=room_c,
        limited_s=limited_seconds(trace),
        counters={quantity: _ends(trace.t_s, values) for quantity, values in trace.counters.items() if _known(values)},
        xids=tuple(xids),
    )


def _known(values: Floats) -> bool:
    return bool(np.isfinite(values).any())


def _ends(t_s: Floats, values: Floats) -> tuple[tuple[float, float], ...]:
    there = np.flatnonzero(np.isfinite(values))[[0, -1]]
    return tuple(zip(t_s[there].tolist(), values[there].tolist(), strict=True))


def wear(
    card: CardInfo, origin: Origin, told: Iterable[SessionWear], *, above: Sequence[float] = (), skipped: int = 0
) -> Wear:
    """A card's wear over its sessions.

    Args:
        card: the card as it was last seen.
        origin: where its figures come from.
        told: what each session adds.
        above: temperatures in °C to tell hours above, for every sensor; empty: the usual ones and the card's limits.
        skipped: sessions that could not be read.
    """
    own = sorted(told, key=lambda each: each.unix_s)
    summed = {name: sum((s.degrees[name] for s in own if name in s.degrees), np.zeros(1)) for name in SENSORS}
    histograms = {name: found for name, seconds in summed.items() if (found := histogram(seconds)) is not None}
    rests = [rest for session in own for rest in session.rest]
    steady = [
        point
        for session in own
        for work in session.work
        if (point := with_air(work, rests, session_id=session.session_id, room_c=session.room_c)) is not None
    ]
    limited: dict[Limiter, float] = {}
    xids: dict[int, int] = {}
    readings: dict[Quantity, list[tuple[float, float]]] = {}
    for session in own:
        for limiter, seconds in session.limited_s.items():
            limited[limiter] = limited.get(limiter, 0.0) + seconds
        for quantity, ends in session.counters.items():
            readings.setdefault(quantity, []).extend(ends)
        for xid in session.xids:
            xids[xid] = xids.get(xid, 0) + 1
    return Wear(
        card=card,
        origin=origin,
        sessions=tuple(SessionSeen(session_id=s.session_id, unix_s=s.unix_s, observed_s=s.observed_s) for s in own),
        skipped=skipped,
        hours=tuple(_hours(card, histograms, above)),
        histograms=histograms,
        cycles=classed(_cycles(own, origin)),
        steady=tuple(steady),
        drift=drift(steady),
        changes=changes([(s.session_id, s.unix_s, s.card, s.host) for s in own]),
        counters=counted(readings),
        limited_s=limited,
        xids=dict(sorted(xids.items())),
    )


def _cycles(sessions: Sequence[SessionWear], origin: Origin) -> Iterable[Cycle]:
    """Thermal cycles of a card's life; a simulated card begins anew in each session."""
    courses = [session.course for session in sessions if session.course is not None]
    if origin is Origin.MEASURED:
        return thermal_cycles(courses)
    return [cycle for each in courses for cycle in thermal_cycles([each])]


def _hours(card: CardInfo, histograms: dict[str, Histogram], above: Sequence[float]) -> Iterable[HoursAbove]:
    for name, found in histograms.items():
        limits = {limit: key for key in OWN_LIMITS.get(name, ()) if (limit := card.number(key)) is not None}
        highest = max(limits, default=np.inf)
        usual = {degree for degree in USUAL_C[name] if degree <= highest} | set(limits)
        for degree in sorted(set(above) or usual):
            yield HoursAbove(
                sensor=name,
                above_c=degree,
                seconds=found.above(degree),
                observed_s=found.total_s,
                limit=limits.get(degree),
            )
