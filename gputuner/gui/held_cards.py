# pyright: standard
"""Which cards are measured from this window now, so that no second run is offered on them."""

from collections.abc import Callable, Collection, Mapping

from PySide6.QtCore import QObject, Signal

from gputuner.gui.desk import Desk
from gputuner.language.words import _

TRY = "try"
"""Name of the desk that advice is tried from."""


class HeldCards(QObject):
    """Tells of every desk's cards; asked by those who would start another run."""

    changed = Signal()
    """Another set of desks measures."""

    def __init__(
        self, desks: Mapping[str, Desk], names: Callable[[], Mapping[str, str]], parent: QObject | None = None
    ) -> None:
        """``names``: what the pages of the desks are called, by the desks' names."""
        super().__init__(parent)
        self._desks = dict(desks)
        self._names = names
        self._busy: tuple[str, ...] = ()
        for desk in self._desks.values():
            desk.state.changed.connect(self._look)
            desk.thread_.finished.connect(self._look)

    def by(self, cards: Collection[str], asking: Desk) -> str:
        """Who measures on one of these cards (UUIDs) now, in a sentence; empty: none but who asks."""
        for name, desk in self._desks.items():
            if desk is not asking and not desk.holds.isdisjoint(cards):
                if name == TRY:
                    return _("An advice is being tried on this card")
                return _("{page} is measuring on this card").format(page=self._names().get(name, name))
        return ""

    def _look(self) -> None:
        busy = tuple(name for name, desk in self._desks.items() if desk.holds)
        if busy != self._busy:
            self._busy = busy
            self.changed.emit()
