# pyright: standard
"""What is read of a session to show it: roll-ups for the overview and the events that are not telemetry."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gputuner.gui.ports import Series, SessionReader
from gputuner.gui.run_state import RunFacts
from gputuner.model.codec import KINDS
from gputuner.model.quantities import Quantity

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


def read_content(reader: SessionReader) -> SessionContent:
    """Read facts and overview; called in the background."""
    facts = read_facts(reader)
    cards = tuple(card.uuid for card in reader.cards())
    series = reader.overview(OVERVIEW, cards, at_most_points=AT_MOST) if cards else {}
    t0_ns = facts.started.t_ns if facts.started else 0
    bands = {key: band for key, entry in series.items() if len((band := _band(entry, t0_ns)).t_s)}
    ends = [float(band.t_s[-1]) for band in bands.values()] + [(facts.t_ns - t0_ns) * 1e-9]
    return SessionContent(facts, bands, max(1.0, *ends))


def read_facts(reader: SessionReader) -> RunFacts:
    """What was told apart from telemetry."""
    facts = RunFacts()
    for event in reader.events(tuple(kind for kind in KINDS if kind != "telemetry_sampled")):
        facts.take(event)
    return facts


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
