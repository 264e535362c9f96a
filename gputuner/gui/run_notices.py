# pyright: standard
"""A long run that ends while nobody looks at the window is told to the desktop, unless the user switched that off."""

from collections.abc import Callable, Mapping
from time import monotonic

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QGuiApplication

from gputuner.gui.alert_desk import AlertDesk
from gputuner.gui.desk import Desk
from gputuner.gui.run_state import Phase
from gputuner.language import numbers, sentences
from gputuner.language.words import _
from gputuner.model.events import Outcome

LONG_RUN_S = 180.0
"""Whoever starts less than this waits for it."""


def in_front() -> bool:
    """True while a window of this program has the keyboard."""
    return QGuiApplication.applicationState() is Qt.ApplicationState.ApplicationActive


class RunNotices(QObject):
    """Each desk's run: begun → (long, not stopped by the user, window not in front) told once at its end."""

    def __init__(
        self,
        desks: Mapping[str, Desk],
        alerts: AlertDesk,
        names: Callable[[], Mapping[str, str]],
        parent: QObject | None = None,
        *,
        looks: Callable[[], bool] = in_front,
        now_s: Callable[[], float] = monotonic,
    ) -> None:
        """``names`` of the experiments for people; ``looks``: is the window in front; ``now_s``: seconds of a clock."""
        super().__init__(parent)
        self._desks, self._alerts, self._names = dict(desks), alerts, names
        self._looks, self._now_s = looks, now_s
        self._begun_s: dict[str, float] = {}
        for name, desk in self._desks.items():
            desk.state.changed.connect(lambda name=name: self._changed(name))
            desk.kept.connect(lambda _run, name=name: self._ended(name))

    def _changed(self, name: str) -> None:
        phase = self._desks[name].state.phase
        if phase in (Phase.IDLE, Phase.REFUSED):
            self._begun_s.pop(name, None)
        elif phase is Phase.STARTING:
            self._begun_s.setdefault(name, self._now_s())

    def _ended(self, name: str) -> None:
        begun_s = self._begun_s.pop(name, None)
        finished = self._desks[name].state.facts.finished
        if begun_s is None or finished is None or finished.outcome is Outcome.CANCELLED:
            return
        took_s = self._now_s() - begun_s
        if took_s < LONG_RUN_S or self._looks() or not self._alerts.plan.notify_runs:
            return
        text = _("{run} on {card}: {outcome} (it took {time})").format(
            run=self._names().get(name, name),
            card=self._card(name),
            outcome=sentences.outcome(finished.outcome),
            time=numbers.duration(took_s),
        )
        self._alerts.tell_run(text)

    def _card(self, name: str) -> str:
        started = self._desks[name].state.facts.started
        return ", ".join(card.title for card in started.cards) if started is not None else ""
