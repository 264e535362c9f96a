# pyright: standard
"""The user's alerts behind bell and panel: judged with every tick of the cards, also while a page is hidden or a
replay is shown. Outlives the pages."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from threading import Thread
from time import monotonic, monotonic_ns

from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QSystemTrayIcon

from gputuner.engine.alerts import AlertWatch
from gputuner.gui.alert_port import AlertPort
from gputuner.gui.history import AlertTold
from gputuner.gui.icons import glyph_icon
from gputuner.gui.live import Live
from gputuner.gui.run_worker import Background
from gputuner.language import alerts as words
from gputuner.language import sentences
from gputuner.model.alerts import DEFAULT_RULES, AlertChange, AlertKind, AlertPlan
from gputuner.model.cards import CardInfo, CardState
from gputuner.model.errors import GputunerError
from gputuner.model.quantities import Quantity
from gputuner.telemetry.feed import Feed, Tick

PLAN_S = 2.0
"""Least time between two looks whether the alerts were changed, here or on the command line."""
LOOK_MS = 1000
TRAY_MS = 10_000
TRAY_COLOUR = "#d55e00"
WORST = (AlertKind.LOST, AlertKind.XID, AlertKind.SILENT, AlertKind.STUCK)
"""Of what is raised these are told first: the card may be gone, or alerts on heat are blind."""
_READ = {
    AlertKind.TEMPERATURE: Quantity.CORE_TEMPERATURE_C,
    AlertKind.MEMORY_TEMPERATURE: Quantity.MEMORY_TEMPERATURE_C,
    AlertKind.HOTSPOT: Quantity.HOTSPOT_TEMPERATURE_C,
}


class AlertDesk(QObject):
    """Plan, what is raised, and what went wrong. Reading, storing and telling are done in the background."""

    changed = Signal()
    """Plan, raised alerts or ``error`` are new."""
    moved = Signal()
    """Sentences of what is raised tell newer readings."""
    said = Signal(str)
    """What went wrong with the hook, or came of a test."""
    _arrived = Signal(object)
    _tray_wanted = Signal(str, str)

    def __init__(
        self, port: AlertPort, feed: Feed, live: Live, background: Background, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._port, self._feed, self._live, self._background = port, feed, live, background
        self.plan = AlertPlan()
        self.error: Exception | None = None
        self._cards: dict[str, CardInfo] = {}
        self._watch = port.watch(())
        self._stop: Callable[[], None] | None = None
        self._last: tuple[int, float] | None = None
        self._since: dict[tuple[str, str, str], str] = {}
        self._read: dict[tuple[str, Quantity], float] = {}
        self._told: tuple[str, ...] = ()
        self._trial: Thread | None = None
        self._reading = self._rehearsing = False
        self._tray: QSystemTrayIcon | None = None
        queued = Qt.ConnectionType.QueuedConnection
        self._arrived.connect(self._take, queued)
        self._tray_wanted.connect(self._show_tray, queued)
        port.listen(self.said.emit, self._tray_wanted.emit)
        self._look_timer = QTimer(self)
        self._look_timer.setInterval(LOOK_MS)
        self._look_timer.timeout.connect(self._look)
        self._open = port.acting
        self._read_s = float("-inf")
        live.ticked.connect(self._read_if_due)
        self._read_if_due()

    @property
    def acting(self) -> bool:
        """Whether cards are watched: a replay is not."""
        return self._port.acting

    @property
    def watching(self) -> bool:
        """True while the cards are judged."""
        return self._stop is not None

    @property
    def raised(self) -> tuple[AlertChange, ...]:
        """What is raised now, oldest first."""
        return self._watch.raised

    @property
    def lines(self) -> tuple[str, ...]:
        """The raised ones in sentences, with the time of the day at which they were raised: worst and newest first."""
        told = ((self._since.get(change.key, ""), change) for change in sorted(self.raised, key=_rank))
        return tuple(
            f"{since}  {words.standing(change, self._title(change.card), self._value(change))}"
            for since, change in told
        )

    @contextmanager
    def rehearsal(self, plan: AlertPlan, tick: Tick) -> Generator[None]:
        """Show what this plan raises at this tick: for a picture. Meanwhile nothing is read, stored or told."""
        kept = self.plan, self._watch, self._cards, self._since, self._reading
        self._cards = {uuid: card.info for uuid, card in self._live.cards.items()}
        self.plan, self._watch, self._reading = plan, AlertWatch(plan.rules, self._cards.values()), True
        self._rehearsing = True
        now = datetime.now().strftime("%H:%M:%S")
        self._since = {change.key: now for change in self._watch.take(tick)}
        self.changed.emit()
        try:
            yield
        finally:
            self.plan, self._watch, self._cards, self._since, self._reading = kept
            self._rehearsing = False
            self.changed.emit()

    def read(self) -> None:
        """Read the plan, unless that is under way."""
        if not self._reading:
            self._reading, self._read_s = True, monotonic()
            self._background.ask(self._port.read, self._planned, self._unread)

    def save(self, plan: AlertPlan) -> None:
        """Store a plan and use it."""

        def stored(_nothing: object) -> None:
            self._planned((plan, None))

        self._background.ask(lambda: self._port.save(plan), stored, self._unread)

    def take_usual(self) -> None:
        """Switch the usual alerts on, where none is set."""
        if not self.plan.rules:
            self.save(replace(self.plan, rules=DEFAULT_RULES))

    def tell_run(self, text: str) -> None:
        """Tell the desktop of a run that has ended."""
        self._background.ask(lambda: self._port.tell_run(text), lambda _nothing: None, self._unread)

    def try_out(self) -> None:
        """Run the hook and tell the desktop once; ``said`` tells what came of it. One at a time."""
        if self._trial is None or not self._trial.is_alive():
            self._trial = Thread(target=self._try, name="alert test", daemon=True)
            self._trial.start()

    def _try(self) -> None:
        """In a thread of its own: a hook may take its whole time-out."""
        hook = bool(self.plan.hook)
        try:
            way, trouble = self._port.try_out()
        except GputunerError as err:
            told = sentences.error(err)
        else:
            told = trouble or words.tried(way, hook=hook)
        with suppress(RuntimeError):  # the window was closed meanwhile
            self.said.emit(told)

    def close(self) -> None:
        """Watch no more; idempotent."""
        self._open = False
        self._leave()
        self._port.close()
        if self._tray is not None:
            self._tray.hide()

    def _read_if_due(self) -> None:
        """Driven by ticks, so that a hidden window keeps no timer for it."""
        if self._open and monotonic() - self._read_s >= PLAN_S:
            self.read()

    def _planned(self, answer: tuple[AlertPlan, Exception | None]) -> None:
        self._reading = False
        plan, error = answer
        if plan == self.plan and error == self.error:
            return
        self.plan, self.error = plan, error
        if plan.active and self._open:
            self._follow()
        else:
            self._leave()
        self._tell(self._watch.follow(plan.rules, 0 if self._last is None else self._last[0]))
        self.changed.emit()

    def _unread(self, err: Exception) -> None:
        self._reading = False
        self.error = err
        self.changed.emit()

    def _follow(self) -> None:
        if self._stop is None:
            self._cards = {card.uuid: card for card in self._feed.cards()}
            self._watch = self._port.watch(self._cards.values())
            self._stop = self._feed.subscribe(self._arrived.emit)
            self._look_timer.start()

    def _leave(self) -> None:
        if self._stop is not None:
            self._stop()
            self._stop = None
        self._look_timer.stop()

    @Slot(object)
    def _take(self, tick: Tick) -> None:
        if self._stop is None or self._rehearsing:  # still under way when we left
            return
        self._last = tick.t_ns, monotonic()
        self._cards |= {card.uuid: card for card in tick.cards}
        for sample in tick.samples:
            for quantity in _READ.values():
                if quantity in sample.values:
                    self._read[sample.card, quantity] = sample.values[quantity]
        self._tell(self._watch.take(tick))

    def _look(self) -> None:
        if self._rehearsing:
            return
        self._read_if_due()  # also where no ticks come
        # feeds that may hang tell the host's monotonic time, so it stands for a first tick that never comes
        t_ns, read_s = self._last or (monotonic_ns(), monotonic())
        self._tell(self._watch.look(t_ns + round((monotonic() - read_s) * 1e9)))
        if self.raised and self._told != (told := self.lines):
            self._told = told
            self.moved.emit()

    def _tell(self, changes: Sequence[AlertChange]) -> None:
        if not changes:
            return
        for change in changes:
            self._since[change.key] = datetime.now().strftime("%H:%M:%S")
            card = self._live.cards.get(change.card)
            if card is not None and self._live.origin is self._feed.origin:
                text = words.told(change, card.info.title)
                card.history.add_alert(AlertTold(change.t_ns * 1e-9, change.rule.name, text, not change.raised))
        cards = tuple(self._cards.values())
        self._background.ask(lambda: self._port.tell(changes, cards), lambda _nothing: None, self._unread)
        self.changed.emit()

    def _value(self, change: AlertChange) -> float | None:
        """What is read now of what the alert is about; None: not known, or the card gives nothing any more."""
        quantity, card = _READ.get(change.rule.kind), self._cards.get(change.card)
        if quantity is None or self._rehearsing or (card is not None and card.state is not CardState.READY):
            return None
        return self._read.get((change.card, quantity))

    def _title(self, uuid: str) -> str:
        card = self._cards.get(uuid)
        return card.title if card is not None else uuid

    @Slot(str, str)
    def _show_tray(self, title: str, text: str) -> None:
        """By an icon in the tray, which takes no focus; without a tray the window's own lines must do."""
        if not QSystemTrayIcon.isSystemTrayAvailable():
            return
        if self._tray is None:
            self._tray = QSystemTrayIcon(QIcon(glyph_icon("bell", TRAY_COLOUR, 22)), self)
        self._tray.show()
        self._tray.showMessage(title, text, self._tray.icon(), TRAY_MS)


def _rank(change: AlertChange) -> tuple[int, int]:
    """Worst first, of equal ones the newest."""
    kind = change.rule.kind
    return WORST.index(kind) if kind in WORST else len(WORST), -change.t_ns
