# pyright: standard
"""The list of pages at the left: icons with words, or icons only."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QButtonGroup, QFrame, QToolButton, QVBoxLayout

from gputuner.gui.icons import page_icon
from gputuner.gui.theme import Theme
from gputuner.language.words import _

WIDE, NARROW = 116, 48
"""Width in pixels with words (more where a page's name needs it) and with icons only."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One page: stable name, words, key."""

    name: str
    words: str
    keys: str


class Navigation(QFrame):
    """Order: look, tune, keep."""

    chosen = Signal(str)
    """Name of the page."""

    def __init__(self, theme: Theme, entries: Sequence[Entry]) -> None:
        super().__init__()
        self.setObjectName("navigation")
        self.narrow = False
        self.entries = {entry.name: entry for entry in entries}
        self.buttons: dict[str, QToolButton] = {}
        group = QButtonGroup(self)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(6, 10, 6, 8)
        layout.setSpacing(2)
        for entry in entries:
            button = QToolButton()
            button.setProperty("nav", True)
            button.setCheckable(True)
            button.setIcon(page_icon(entry.name, theme.muted))
            button.setIconSize(QSize(16, 16))
            button.setText("  " + entry.words)
            button.setToolTip(f"{entry.words} ({entry.keys})")
            button.setAccessibleName(entry.words)
            button.clicked.connect(lambda _checked=False, name=entry.name: self.chosen.emit(name))
            group.addButton(button)
            layout.addWidget(button)
            self.buttons[entry.name] = button
        layout.addStretch(1)
        self._fold = QToolButton()
        self._fold.setProperty("nav", True)
        self._fold.setAccessibleName(_("icons only"))
        self._fold.setToolTip(_("Show icons only (Ctrl+B)"))
        self._fold.clicked.connect(lambda _checked=False: self.set_narrow(not self.narrow))
        layout.addWidget(self._fold)
        self.set_narrow(False)

    def set_narrow(self, narrow: bool) -> None:
        """Show icons only, or icons with words."""
        self.narrow = narrow
        style = Qt.ToolButtonStyle.ToolButtonIconOnly if narrow else Qt.ToolButtonStyle.ToolButtonTextBesideIcon
        for button in self.buttons.values():
            button.setToolButtonStyle(style)
            button.setMinimumWidth(0)
        self._fit()
        for button in self.buttons.values():
            button.setMinimumWidth(self.width() - 12)
        self._fold.setText("»" if narrow else "«")

    def showEvent(self, event: QShowEvent) -> None:
        """Measure the words again: the style sheet reaches the buttons only now."""
        super().showEvent(event)
        self.set_narrow(self.narrow)

    def changeEvent(self, event: QEvent) -> None:
        """Another font or style sheet makes other widths."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.StyleChange, QEvent.Type.FontChange) and self.isVisible():
            self.set_narrow(self.narrow)

    def _fit(self) -> None:
        for button in self.buttons.values():
            button.ensurePolished()  # else the hint lacks what the style sheet adds
        widest = max((button.sizeHint().width() for button in self.buttons.values()), default=0)
        self.setFixedWidth(NARROW if self.narrow else max(WIDE, widest + 12))

    def show_page(self, name: str) -> None:
        """Mark the page that is shown."""
        self.buttons[name].setChecked(True)
