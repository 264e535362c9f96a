# pyright: standard
"""A part of a page that scrolls up and down, as wide inside with its scroll bar as without it."""

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

EDGE = 14
"""Pixels between the border of a pane's card and what stands in it."""
BAR = 10
"""Pixels of a scroll bar, as the style sheet has it."""
WIDE = 1150
"""From this width of a page on (pixels) its side columns have their full width."""


def setup_width(page: int) -> int:
    """Pixels of the pane in which a page is set up, the same on every page of ``page`` pixels."""
    return 280 if page >= WIDE else 236


class Pane(QScrollArea):
    """Keeps the room of the scroll bar free where there is none, so that nothing inside moves when it comes."""

    _holder: QWidget | None = None
    """What holds the scroll bar, shown and hidden with it."""

    def __init__(self, inside: QWidget) -> None:
        super().__init__()
        self.setProperty("role", "clear")
        self.setWidgetResizable(True)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWidget(inside)
        self.setViewportMargins(0, 0, BAR, 0)
        holder = self.verticalScrollBar().parentWidget()
        assert holder is not None
        holder.installEventFilter(self)
        self._holder = holder

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The scroll bar comes or goes: what it takes was kept free for it."""
        if watched is self._holder and event.type() in (QEvent.Type.ShowToParent, QEvent.Type.HideToParent):
            self.setViewportMargins(0, 0, 0 if event.type() == QEvent.Type.ShowToParent else BAR, 0)
        return super().eventFilter(watched, event)


class PaneCard(QFrame):
    """A card whose content (``column``) scrolls where it has no room."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("role", "card")
        inside = QWidget()
        inside.setProperty("role", "clear")
        self.column = QVBoxLayout(inside)
        self.column.setContentsMargins(0, EDGE - 4, 0, EDGE - 4)
        self.column.setSpacing(2)
        self.pane = Pane(inside)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(EDGE - 1, 1, EDGE - BAR, 1)
        layout.addWidget(self.pane)
