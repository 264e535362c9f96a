"""What watching yields (ticks) and what every way of watching offers (``Feed``)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from operator import attrgetter
from typing import Protocol

from gputuner.model.cards import CardInfo, Origin
from gputuner.model.quantities import Tier
from gputuner.model.readings import Scalar
from gputuner.model.samples import CardProcesses, Gap, Sample, XidSeen


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """What was seen at one time: the content of ``events.TelemetrySampled`` without run and number.

    ``cards`` holds cards whose identity or state changed. A sample's own ``t_ns`` is when that card was read.
    """

    t_ns: int
    samples: tuple[Sample, ...] = ()
    processes: tuple[CardProcesses, ...] = ()
    gaps: tuple[Gap, ...] = ()
    xids: tuple[XidSeen, ...] = ()
    cards: tuple[CardInfo, ...] = ()


class FeedState(StrEnum):
    """How a feed does."""

    STARTING = "starting"
    OK = "ok"
    ABSENT = "absent"
    """Nothing to watch with: no library, no driver, no binding (``code`` says which)."""
    MISMATCH = "mismatch"
    """Driver files and loaded driver module differ."""
    FAILING = "failing"
    """The driver answers with errors; tried again with growing pauses."""
    HUNG = "hung"
    """A call never came back; the collector was ended and is started again after a pause."""
    RESTARTING = "restarting"
    """The collector died and is started again after a pause."""
    ENDED = "ended"
    """A replay is over."""
    CLOSED = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something a reader must know once; ``code`` and ``params`` become a sentence in ``language``."""

    code: str
    t_ns: int
    params: dict[str, Scalar] = field(default_factory=lambda: {})
    count: int = 1
    """How often it happened; told once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallCost:
    """Wall time of reading one tier of one card since the start, in seconds."""

    median_s: float
    worst_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HungCall:
    """A reading of a card that has not come back for longer than the deadline."""

    card: str
    tier: Tier
    function: str = ""
    """The driver's function that it is in, where that is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedStatus:
    """State of a feed and what it costs."""

    state: FeedState
    code: str = ""
    """Stable key of the sentence that explains a state other than ``ok``."""
    params: dict[str, Scalar] = field(default_factory=lambda: {})
    restarts: int = 0
    ticks: int = 0
    """Fast readings asked for so far, over all cards."""
    missed_ticks: int = 0
    """Fast readings skipped because the one before was not back yet, or because time was lost."""
    dropped_ticks: int = 0
    """Ticks a slow reader of this feed did not get (their gaps, XIDs and card changes were kept)."""
    rejected_values: int = 0
    """Sentinels and impossible values that the driver gave."""
    own_cpu_s: float | None = None
    """Processor time that watching itself has used."""
    own_cpu_fraction: float | None = None
    """The same as a share of one core since the start."""
    own_memory_bytes: int | None = None
    interval_s: float | None = None
    """Median real time between two fast readings of a card."""
    fast_cost: CallCost | None = None
    slow_cost: CallCost | None = None
    hung_calls: tuple[HungCall, ...] = ()
    """Readings, of either tier, that have not come back for longer than the deadline while others do."""
    notices: tuple[Notice, ...] = ()

    @property
    def hung_cards(self) -> tuple[str, ...]:
        """The cards of ``hung_calls``, each once."""
        return tuple(dict.fromkeys(call.card for call in self.hung_calls))

    def hangs(self, card: str, tier: Tier) -> HungCall | None:
        """The reading of this card and tier that hangs, or None."""
        return next((call for call in self.hung_calls if call.card == card and call.tier is tier), None)


Callback = Callable[[Tick], None]
Unsubscribe = Callable[[], None]


class Feed(Protocol):
    """A running watch over a set of cards. Every method may be called from any thread and returns at once."""

    @property
    def origin(self) -> Origin:
        """Measured, simulated or replayed."""
        ...

    def cards(self) -> tuple[CardInfo, ...]:
        """All cards known now, lost and sleeping ones included; empty until the first answer."""
        ...

    def subscribe(self, callback: Callback) -> Unsubscribe:
        """Call ``callback`` with every tick from a thread of the feed; returns what ends that.

        A slow callback loses intermediate ticks, it never delays reading.
        """
        ...

    def latest(self) -> Tick | None:
        """The last tick that held samples."""
        ...

    def processes(self, card: str) -> CardProcesses | None:
        """The last process table of a card."""
        ...

    def status(self) -> FeedStatus:
        """State, counters and own cost."""
        ...

    def close(self) -> None:
        """Stop watching; idempotent. No callback runs after it returned."""
        ...


SAME_ROW_NS = 250_000_000
"""Tiers of a card that were read within this time of each other make one row, under the time of the first."""


def merged(samples: Iterable[Sample]) -> tuple[Sample, ...]:
    """Rows in order of time: the tiers of a card that were read together become one."""
    ordered = sorted(samples, key=attrgetter("t_ns"))
    if len({sample.card for sample in ordered}) == len(ordered):
        return tuple(ordered)
    rows: list[Sample] = []
    last: dict[str, int] = {}
    for sample in ordered:
        place = last.get(sample.card)
        first = None if place is None else rows[place]
        if place is None or first is None or sample.t_ns - first.t_ns > SAME_ROW_NS or _overlap(first, sample):
            last[sample.card] = len(rows)
            rows.append(sample)
        else:
            rows[place] = Sample(
                card=first.card,
                t_ns=first.t_ns,
                values={**first.values, **sample.values},
                missing={**first.missing, **sample.missing},
            )
    return tuple(rows)


def _overlap(first: Sample, second: Sample) -> bool:
    """True if a quantity is in both."""
    return any(name in first.values or name in first.missing for name in (*second.values, *second.missing))


def joined(first: Tick, second: Tick) -> Tick:
    """``second`` with the gaps, XIDs, processes and card changes of ``first`` but without its samples."""
    cards = {card.uuid: card for card in (*first.cards, *second.cards)}
    processes = {table.card: table for table in (*first.processes, *second.processes)}
    return Tick(
        t_ns=second.t_ns,
        samples=second.samples,
        processes=tuple(processes.values()),
        gaps=first.gaps + second.gaps,
        xids=first.xids + second.xids,
        cards=tuple(cards.values()),
    )
