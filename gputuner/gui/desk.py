# pyright: standard
"""Where one experiment is asked for: its state, its thread, its dry run. Outlives the page that shows it."""

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from gputuner.gui.ports import Ports, Run
from gputuner.gui.run_state import RunState
from gputuner.gui.run_worker import Background, RunThread
from gputuner.model.events import Event, RunFinished
from gputuner.model.planned import Planned


class Desk(QObject):
    """One experiment at a time; events come in the window's thread."""

    planned = Signal(object)
    """The dry run: ``Planned``."""
    plan_failed = Signal(object)
    """Why there is no dry run: an exception."""
    kept = Signal(object)
    """The ``Run`` has ended; its session is written."""

    def __init__(self, ports: Ports, background: Background, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._ports = ports
        self._background = background
        self.state = RunState(self)
        self.thread_ = RunThread(self)
        self.last_planned: Planned | None = None
        self.folder = ""
        """Where the recipe of the last run lies; empty: it was of none."""
        self._cards: frozenset[str] = frozenset()
        self._question = 0
        self.thread_.told.connect(self._told)
        self.thread_.refused.connect(self.state.refuse)
        self.thread_.finished.connect(self.state.ended)

    @property
    def holds(self) -> frozenset[str]:
        """UUIDs of the cards that are kept for the run under way."""
        return self._cards if self.thread_.busy else frozenset()

    def start(self, spec: object, cards: tuple[str, ...], share: bool) -> None:
        """Start the experiment in its thread; nothing happens while one runs."""
        if not self.thread_.busy:
            self.folder = str(getattr(spec, "folder", "") or "")
            self._cards = frozenset(cards)
            start: Callable[[], Run] = lambda: self._ports.start(spec, cards, share)  # noqa: E731
            self._begin(start)

    def _begin(self, start: Callable[[], Run]) -> None:
        self.thread_.begin(start)
        self.state.begin()  # after: who hears of it finds the thread busy; what the thread tells comes later

    def stop(self) -> None:
        """End the experiment and keep what was measured."""
        if self.thread_.busy:
            self.state.stopping()
            self.thread_.cancel()

    def preview(self, spec: object, cards: tuple[str, ...], share: bool) -> None:
        """Ask for the dry run; only the last question is answered."""
        self._question += 1
        number = self._question

        def answer(planned: Planned) -> None:
            if number == self._question:
                self.last_planned = planned
                self.planned.emit(planned)

        def fail(err: Exception) -> None:
            if number == self._question:
                self.plan_failed.emit(err)

        self._background.ask(lambda: self._ports.dry_run(spec, cards, share), answer, fail)

    def _told(self, event: Event) -> None:
        self.state.take(event)
        if isinstance(event, RunFinished) and self.thread_.run is not None:
            self.kept.emit(self.thread_.run)
