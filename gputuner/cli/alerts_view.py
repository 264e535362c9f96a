"""Alerts of a run on the command line: a line for each, and hook and desktop where no other program tells them."""

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gputuner.cli import document
from gputuner.cli.output import Output
from gputuner.cli.ports import Setup
from gputuner.language import alerts as words
from gputuner.language.words import _
from gputuner.model.alerts import KINDS
from gputuner.model.cards import CardInfo
from gputuner.model.events import AlertCleared, AlertRaised, Event, RunStarted, TelemetrySampled

if TYPE_CHECKING:
    from gputuner.assembly.alerts import AlertBook, Announcer


class AlertView:
    """A view of a run that tells its alerts to hook and desktop; the line is written by whoever shows the run."""

    def __init__(self, setup: Setup, output: Output) -> None:
        """Take nothing yet: the first alert does."""
        self._setup, self._output = setup, output
        self._cards: dict[str, CardInfo] = {}
        self._announcer: Announcer | None = None
        self._book: AlertBook | None = None

    def show(self, event: Event) -> None:
        """Tell an alert."""
        match event:
            case RunStarted():
                self._cards = {card.uuid: card for card in event.cards}
            case TelemetrySampled() if event.cards:
                self._cards |= {card.uuid: card for card in event.cards}
            case AlertRaised() | AlertCleared():
                self.tell(event, self._cards.values())
            case _:
                pass

    def tell(self, event: AlertRaised | AlertCleared, cards: Iterable[CardInfo]) -> None:
        """Tell hook and desktop of an alert on one of these cards."""
        from gputuner.assembly.alerts import AlertBook, Announcer, change_of

        if self._book is None or self._announcer is None:
            self._book = AlertBook(self._setup.data_dir)
            self._announcer = Announcer(self._book, self._book.watched()[0], self._setup.origin, self._output.warn)
        self._announcer.follow(self._book.watched()[0])
        self._announcer.tell([change_of(event)], cards)

    def close(self, patient: Callable[[], bool]) -> None:
        """Give hooks that run their time, at most until Ctrl-C or ``patient`` says no, and let another program tell."""
        if self._announcer is not None:
            self._announcer.close(patient)


@contextmanager
def telling(setup: Setup, output: Output, patient: Callable[[], bool] = lambda: True) -> Generator[AlertView]:
    """A view while the context lasts; ``patient``: whether hooks that run at its end get their time."""
    view = AlertView(setup, output)
    try:
        yield view
    finally:
        view.close(patient)


def line(event: AlertRaised | AlertCleared, cards: Iterable[CardInfo]) -> str:
    """An alert in one line."""
    title = next((card.title for card in cards if card.uuid == event.card), event.card)
    text = _("Alert: {text}") if isinstance(event, AlertRaised) else _("Alert over: {text}")
    return text.format(text=words.event(event, title))


def alert_document(event: AlertRaised | AlertCleared, cards: Iterable[CardInfo]) -> document.Json:
    """An alert of a run as ``--json`` tells it; ``t_ns`` on the run's clock."""
    title = next((card.title for card in cards if card.uuid == event.card), event.card)
    raised = isinstance(event, AlertRaised)
    return {
        "event": "raised" if raised else "cleared",
        "t_ns": event.t_ns,
        "alert": event.rule,
        "kind": event.alert.value,
        "card": event.card,
        "value": event.value,
        "threshold": event.threshold,
        "unit": KINDS[event.alert].unit or None,
        "detail": event.detail,
        "lasted_s": event.lasted_s if isinstance(event, AlertCleared) else None,
        "message": words.event(event, title),
    }
