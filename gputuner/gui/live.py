# pyright: standard
"""The live state of all cards behind Monitor: fed in the window's thread by queued ticks, apart from any widget."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from time import time_ns

from PySide6.QtCore import QObject, Qt, Signal, Slot

from gputuner.gui.history import History
from gputuner.model.cards import CardInfo, CardState, Origin
from gputuner.model.events import TelemetrySampled
from gputuner.model.quantities import QUANTITIES, Limiter, Quantity, Tier, limiter_of
from gputuner.model.readings import Reason
from gputuner.model.samples import CardProcesses, Sample
from gputuner.telemetry.feed import Feed, Tick


@dataclass(frozen=True, slots=True)
class Shown:
    """A value to show, or the reason for its dash."""

    value: float | None
    reason: Reason | None = None


@dataclass(slots=True)
class LiveCard:
    """What is known of one card now."""

    info: CardInfo
    history: History = field(default_factory=History)
    latest: dict[Quantity, Shown] = field(default_factory=lambda: {})
    processes: CardProcesses | None = None
    last_ns: int | None = None
    answered_ns: int | None = None
    """Time of the last answer of the fast tier; an answer without any value is none."""

    def shown(self, quantity: Quantity) -> Shown:
        """The last reading; of a card that was lost the last value is kept (the page greys it)."""
        if self.info.state is CardState.ASLEEP:
            return Shown(None, Reason.ASLEEP)
        return self.latest.get(quantity, Shown(None, Reason.LOST if self.lost else Reason.NOT_READ))

    def once(self, name: str) -> Shown:
        """A once-read number of the card's identity, or its reason."""
        number = self.info.number(name)
        reading = self.info.readings.get(name)
        return Shown(number, None if number is not None else (reading.reason if reading else Reason.NOT_READ))

    @property
    def lost(self) -> bool:
        """True while the card does not answer any more."""
        return self.info.state is CardState.LOST

    @property
    def limiter(self) -> Limiter:
        """What holds the clock back now."""
        bits = self.shown(Quantity.LIMIT_BITS).value
        return limiter_of(None if bits is None else int(bits))

    @property
    def power_limit_w(self) -> float | None:
        """The enforced power limit in W, from the slow tier or the identity."""
        now = self.latest.get(Quantity.POWER_LIMIT_ENFORCED_W)
        return now.value if now and now.value is not None else self.info.number("power_limit_enforced_w")

    def answered_since(self, t_ns: int) -> bool:
        """True if the card's fast tier was read after ``t_ns``."""
        return self.answered_ns is not None and self.answered_ns > t_ns

    def take(self, sample: Sample) -> None:
        """Take one sample in."""
        self.last_ns = sample.t_ns
        if any(QUANTITIES[quantity].tier is Tier.FAST for quantity in sample.values):
            self.answered_ns = sample.t_ns
        for quantity, value in sample.values.items():
            self.latest[quantity] = Shown(value)
        for quantity, reason in sample.missing.items():
            if not (self.lost and reason is Reason.LOST and quantity in self.latest):
                self.latest[quantity] = Shown(None, reason)
        self.history.add(sample)


class Live(QObject):
    """All cards of one feed. ``ticked`` after each tick, ``cards_changed`` when a card came, went or changed state."""

    ticked = Signal()
    cards_changed = Signal()
    _arrived = Signal(int, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.cards: dict[str, LiveCard] = {}
        self.origin = Origin.MEASURED
        self.now_ns = 0
        self.wall_offset_ns = 0
        """Wall clock minus the feed's clock, in ns."""
        self._feed: Feed | None = None
        self._unsubscribe: Callable[[], None] | None = None
        self._generation = 0
        self._arrived.connect(self._receive, Qt.ConnectionType.QueuedConnection)

    def follow(self, feed: Feed) -> None:
        """Forget everything and follow ``feed``."""
        self.leave()
        self.forget()
        self._feed = feed
        self.origin = feed.origin
        self.learn(feed.cards())
        for uuid, card in self.cards.items():
            card.processes = feed.processes(uuid)
        latest = feed.latest()
        if latest is not None:
            self.take(latest)
        self._unsubscribe = feed.subscribe(partial(self._arrived.emit, self._generation))
        self.cards_changed.emit()

    def look_again(self) -> None:
        """Ask the feed for its cards (it may have found some since)."""
        if self._feed is not None and self._unsubscribe is not None:
            found = self._feed.cards()
            if found:
                self.learn(found)
                self.cards_changed.emit()

    def forget(self) -> None:
        """Forget all cards and their past."""
        self.cards = {}
        self.now_ns = 0

    def begin_anew(self, cards: Iterable[CardInfo]) -> None:
        """Forget the past of these cards and the time; other cards keep their last readings."""
        self.now_ns = 0
        for info in cards:
            self.cards[info.uuid] = LiveCard(info)

    def leave(self) -> None:
        """Stop listening; idempotent."""
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None
        self._generation += 1

    def learn(self, cards: Iterable[CardInfo]) -> None:
        """Take identities in; a known card keeps its past."""
        for info in cards:
            if info.uuid in self.cards:
                self.cards[info.uuid].info = info
            else:
                self.cards[info.uuid] = LiveCard(info)

    @Slot(int, object)
    def _receive(self, generation: int, tick: Tick) -> None:
        if generation == self._generation:  # a tick of a feed we have left may still be queued
            self.take(tick)

    def take(self, tick: Tick | TelemetrySampled) -> None:
        """Take one tick in."""
        self.now_ns = max(self.now_ns, tick.t_ns)
        self.wall_offset_ns = time_ns() - tick.t_ns
        if tick.cards:
            self.learn(tick.cards)
        for gap in tick.gaps:
            for uuid, card in self.cards.items():
                if gap.card in (None, uuid):
                    card.history.add_gap(gap)
        for sample in tick.samples:
            if sample.card in self.cards:
                self.cards[sample.card].take(sample)
        for processes in tick.processes:
            if processes.card in self.cards:
                self.cards[processes.card].processes = processes
        for xid in tick.xids:
            if xid.card in self.cards:
                self.cards[xid.card].history.add_xid(xid)
        if tick.cards:
            self.cards_changed.emit()
        self.ticked.emit()
