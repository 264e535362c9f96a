# pyright: standard
"""What cards drew by their stored sessions: asked for in the background, for whichever page sizes a supply."""

from PySide6.QtCore import QObject, Signal

from gputuner.analysis.supply_draw import CardDraw
from gputuner.gui.ports import Ports
from gputuner.gui.run_worker import Background


class Draws(QObject):
    """The draw of cards; outlives the pages."""

    known = Signal(str, object)
    """A card's UUID and its ``CardDraw``."""
    failed = Signal(str, object)
    """A card's UUID, and why its watts are not known."""

    def __init__(self, ports: Ports, background: Background, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._ports = ports
        self._background = background
        self.typed: tuple[float, ...] = ()
        """What stands in the form of the supply; outlives the pages, as the rest here does."""

    def ask(self, card: str) -> None:
        """Look what the card with this UUID drew."""

        def answer(draw: CardDraw) -> None:
            self.known.emit(card, draw)

        self._background.ask(lambda: self._ports.draw(card), answer, lambda err: self.failed.emit(card, err))
