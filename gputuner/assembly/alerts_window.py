"""Alerts as the window has them: the plan of the data folder, and hook and desktop told where no other program does."""

import threading
from collections.abc import Callable, Iterable, Sequence

from gputuner.assembly import alerts_desktop
from gputuner.assembly.alerts import AlertBook, Announcer, heading, hook_log, hook_trouble, rates_of, test_words
from gputuner.engine.alerts import AlertWatch
from gputuner.model.alerts import AlertChange, AlertPlan
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.errors import StoreError


def _nobody(*_words: str) -> None:
    """Nobody listens yet."""


class WindowAlerts:
    """Meets ``gui.alert_port.AlertPort``. Calls may come from any thread."""

    def __init__(self, book: AlertBook, origin: Origin) -> None:
        """Read nothing yet."""
        self._book = book
        self._origin = origin
        self._lock = threading.Lock()
        self._say: Callable[[str], None] = _nobody
        self._tray: Callable[[str, str], None] = _nobody
        self._announcer: Announcer | None = None

    @property
    def acting(self) -> bool:
        """A replay is not watched."""
        return self._origin is not Origin.REPLAYED

    def listen(self, say: Callable[[str], None], tray: Callable[[str, str], None]) -> None:
        """Who is told what went wrong, and who shows what no desktop program can."""
        self._say, self._tray = say, tray

    def read(self) -> tuple[AlertPlan, StoreError | None]:
        """The plan to watch by; hook and desktop are told by it from now on."""
        plan, error = self._book.watched()
        with self._lock:
            if self._announcer is not None:
                self._announcer.follow(plan)
        return plan, error

    def save(self, plan: AlertPlan) -> None:
        """Store a plan.

        Raises:
            StoreError: it cannot be stored, or what lies there is not understood.
        """
        self._book.save(plan)

    def watch(self, cards: Iterable[CardInfo]) -> AlertWatch:
        """Rules over these cards, none yet."""
        return AlertWatch((), cards, rates_of(self._book))

    def tell(self, changes: Sequence[AlertChange], cards: Sequence[CardInfo]) -> None:
        """Tell hook and desktop, where no other program does."""
        with self._lock:
            if self._announcer is None:
                plan = self._book.watched()[0]
                self._announcer = Announcer(self._book, plan, self._origin, lambda text: self._say(text), self._desktop)
            self._announcer.tell(changes, cards)

    def tell_run(self, text: str) -> None:
        """Tell the desktop of a run that has ended; it is this window's own, so no other program does."""
        self._desktop(heading(self._origin), text, urgent=False)

    def try_out(self) -> tuple[str, str]:
        """Run the hook and tell the desktop once."""
        plan = self._book.watched()[0]
        trial = Announcer(self._book, plan, self._origin, self._say)
        try:
            ended = trial.try_out(plan, None)
        finally:
            trial.close()
        trouble = "" if ended is None or not ended.trouble else hook_trouble(plan, ended, hook_log(self._book))
        if not plan.notify:
            return "off", trouble
        return self._desktop(heading(self._origin), test_words()), trouble

    def close(self) -> None:
        """End hooks that run; idempotent."""
        with self._lock:
            announcer, self._announcer = self._announcer, None
        if announcer is not None:
            announcer.close()

    def _desktop(self, title: str, text: str, *, urgent: bool = True) -> str:
        """Tell the desktop, by its own program if it is here; the way."""
        found = alerts_desktop.program()
        if found is not None:
            alerts_desktop.notify_soon(title, text, urgent=urgent, found=found)
            return "desktop"
        self._tray(title, text)
        return "tray"
