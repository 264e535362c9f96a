# pyright: standard
"""Each card of the queue: how much of its memory is held, kept for jobs, and free."""

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QSizePolicy, QVBoxLayout, QWidget

from gputuner.gui.queue_rows import card_hint, card_words
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.labels import Elided, label
from gputuner.language import jobs as words
from gputuner.model.jobs import QueueCard
from gputuner.model.quantities import Quantity

IN_A_ROW = 4
HEIGHT = 8


class ReserveBar(QWidget):
    """Held memory filled, what is kept and not held yet hatched, the rest an empty track."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.held, self.kept = 0.0, 0.0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """Wide and thin."""
        return QSize(80, HEIGHT)

    def show_card(self, card: QueueCard) -> None:
        """Show the memory of this card."""
        total = card.total_bytes or 0
        held = 0.0 if not total or card.free_bytes is None else 1.0 - card.free_bytes / total
        kept = 0.0 if not total else min(1.0, card.reserved_bytes / total)
        if (held, kept) != (self.held, self.kept):
            self.held, self.kept = held, kept
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint track, held part and kept part."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        colour = self._theme.quantity(Quantity.MEMORY_USED_BYTES)
        width, height = float(self.width()), float(self.height())
        painter.setBrush(QColor(self._theme.sunk))
        painter.drawRoundedRect(QRectF(0, 0, width, height), 3, 3)
        kept = max(self.held, self.kept) * width  # what its jobs hold already is part of what is kept
        painter.setBrush(QBrush(QColor(colour), Qt.BrushStyle.BDiagPattern))
        painter.drawRoundedRect(QRectF(0, 0, kept, height), 3, 3)
        painter.setBrush(QColor(colour))
        painter.drawRoundedRect(QRectF(0, 0, self.held * width, height), 3, 3)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QColor(self._theme.strong_line))  # where the track ends must be seen on any ground
        painter.drawRoundedRect(QRectF(0.5, 0.5, width - 1, height - 1), 3, 3)


class _CardPanel(QFrame):
    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setProperty("role", "card")
        self._title, self._told, self._paused = label("", "small"), Elided(), label("", "danger", wrap=True)
        self._title.setMinimumWidth(1)
        self.bar = ReserveBar(theme)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 6, 12, 6)
        layout.setSpacing(3)
        for widget in (self._title, self.bar, self._told, self._paused):
            layout.addWidget(widget)
        layout.addStretch(1)

    def show_card(self, card: QueueCard) -> None:
        hint = card_hint(card)
        self._title.setText(f"{card.index} · {card.title}")
        self.bar.show_card(card)
        self._told.show_text(card_words(card), hint)
        paused = "" if card.paused is None else words.card_reason(card.paused)
        self._paused.setText(paused)
        self._paused.setToolTip(hint)
        self._paused.setVisible(bool(paused))
        self.setToolTip(hint)


class CardReserves(QWidget):
    """All cards, a few in a row."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setProperty("role", "clear")
        self._theme = theme
        self.panels: dict[str, _CardPanel] = {}
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(8)

    def show_cards(self, cards: Sequence[QueueCard]) -> None:
        """Show these cards."""
        wanted = [card.uuid for card in cards]
        if wanted != list(self.panels):
            for panel in self.panels.values():
                self._grid.removeWidget(panel)
                panel.hide()
                panel.deleteLater()
            self.panels = {uuid: _CardPanel(self._theme) for uuid in wanted}
            for number, panel in enumerate(self.panels.values()):
                self._grid.addWidget(panel, number // IN_A_ROW, number % IN_A_ROW)
        for each in cards:
            self.panels[each.uuid].show_card(each)
        self.setVisible(bool(cards))
