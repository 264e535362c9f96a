# pyright: standard
"""What is read of a session to show it: roll-ups for the overview and the events that are not telemetry."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gputuner.analysis.faulty import marked
from gputuner.gui.history import History, Span
from gputuner.gui.ports import Series, SessionReader
from gputuner.gui.run_state import RunFacts
from gputuner.model.codec import KINDS
from gputuner.model.quantities import Limiter, Quantity, limiter_of

OVERVIEW = (
    Quantity.CORE_TEMPERATURE_C,
    Quantity.MEMORY_TEMPERATURE_C,
    Quantity.POWER_AVERAGE_W,
    Quantity.POWER_INSTANT_W,
    Quantity.SM_CLOCK_MHZ,
    Quantity.MEMORY_USED_BYTES,
    Quantity.GPU_UTILISATION,
)
"""Quantities of the overview."""
TRACED = ("cooling", "health")
"""Experiments whose pictures draw the telemetry itself."""
AT_MOST = 1000
"""Points per curve: more than a screen has pixels for."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Band:
    """A series ready to draw: seconds from the session's start, and lowest, mean, highest values with NaN at breaks."""

    t_s: Floats
    low: Floats
    mean: Floats
    high: Floats


@dataclass(frozen=True, slots=True)
class SessionContent:
    """Facts and overview of a session."""

    facts: RunFacts
    bands: dict[tuple[str, Quantity], Band]
    length_s: float
    limits: dict[str, list[Span]] = field(default_factory=lambda: {})
    """What limited each card over time, by UUID, in seconds from the session's start."""


def read_content(reader: SessionReader) -> SessionContent:
    """Read facts and overview; called in the background."""
    facts = read_facts(reader)
    cards = tuple(card.uuid for card in reader.cards())
    wanted = (*OVERVIEW, Quantity.LIMIT_BITS)
    series = dict(reader.overview(wanted, cards, at_most_points=AT_MOST)) if cards else {}
    t0_ns = facts.started.t_ns if facts.started else 0
    bits = {uuid: series.pop((uuid, Quantity.LIMIT_BITS), None) for uuid in cards}
    limits = {uuid: limit_spans(entry, t0_ns) for uuid, entry in bits.items() if entry is not None}
    if facts.started is not None and facts.started.experiment in TRACED:
        facts.traces = traces_of(series)
    bands = {key: band for key, entry in series.items() if len((band := _band(entry, t0_ns)).t_s)}
    ends = [float(band.t_s[-1]) for band in bands.values()] + [(facts.t_ns - t0_ns) * 1e-9]
    return SessionContent(facts, bands, max(1.0, *ends), limits)


def read_facts(reader: SessionReader) -> RunFacts:
    """What was told apart from telemetry."""
    facts = RunFacts()
    for event in reader.events(tuple(kind for kind in KINDS if kind != "telemetry_sampled")):
        facts.take(event)
    facts.points = list(marked(facts.points))
    return facts


def traces_of(series: Mapping[tuple[str, Quantity], Series]) -> dict[str, History]:
    """The curves of each card, by UUID, in seconds of the run's clock; silences stay."""
    traces: dict[str, History] = {}
    for (uuid, quantity), entry in series.items():
        if not len(entry.t_ns):
            continue
        history = traces.setdefault(uuid, History())
        breaks = set(entry.breaks.tolist())
        times = (entry.t_ns * 1e-9).tolist()
        for number, (t_s, value) in enumerate(zip(times, entry.mean.tolist(), strict=True)):
            if number in breaks:
                history.tracks[quantity].append(times[number - 1] + 1e-6, float("nan"))
            history.tracks[quantity].append(t_s, value)
        history.last_s = max(history.last_s or times[-1], times[-1])
    return traces


def limit_spans(series: Series, t0_ns: int) -> list[Span]:
    """Stretches of one limiter: a point (the most frequent mask around it) holds until the next one; breaks stay."""
    times, breaks = ((series.t_ns - t0_ns) * 1e-9).tolist(), set(series.breaks.tolist())
    spans: list[Span] = []
    for number, (begin, end) in enumerate(pairwise(times)):
        limiter: Limiter | None = None if number + 1 in breaks else limiter_of(int(series.mean[number]))
        if spans and spans[-1].limiter is limiter:
            begin = spans.pop().t0_s
        spans.append(Span(begin, end, limiter))
    return spans


def _band(series: Series, t0_ns: int) -> Band:
    t_s: Floats = np.asarray((series.t_ns - t0_ns) * 1e-9, dtype=np.float64)
    breaks = series.breaks
    return Band(
        np.insert(t_s, breaks, t_s[breaks] - 1e-6) if len(breaks) else t_s,
        _broken(series.minimum, breaks),
        _broken(series.mean, breaks),
        _broken(series.maximum, breaks),
    )


def _broken(values: Floats, breaks: NDArray[np.int64]) -> Floats:
    return np.insert(values, breaks, np.nan) if len(breaks) else values
