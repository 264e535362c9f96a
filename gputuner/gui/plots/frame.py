# pyright: standard
"""A titled picture: heading with unit, legend on the right (or below, where it has no room), then the drawing."""

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QLayout, QVBoxLayout, QWidget

from gputuner.gui.fonts import tabular
from gputuner.gui.widgets.flow import FlowLayout
from gputuner.gui.widgets.labels import Elided, label

EDGE, GAP, LEGEND_GAP = 10, 6, 8
"""Pixels at the sides of the heading, between its parts, and between legend entries."""
UNIT_CHARACTERS = 6
"""What is no longer than this beside the title is a unit, and never shortened."""


class PictureFrame(QFrame):
    """Card with a title row and one picture."""

    def __init__(self, title: str, unit: str = "") -> None:
        super().__init__()
        self.setProperty("role", "card")
        self.title = title
        self.unit = unit
        self._unit = Elided(unit)
        self._heading = label(title, "heading")
        self._entries: list[QLabel] = []
        self._left_out: set[QLabel] = set()
        self._legend = QHBoxLayout()
        self._legend.setSpacing(LEGEND_GAP)
        head = QHBoxLayout()
        head.setContentsMargins(EDGE, 6, EDGE, 0)
        head.setSpacing(GAP)
        head.addWidget(self._heading)
        head.addWidget(self._unit, 1, Qt.AlignmentFlag.AlignBottom)
        head.addLayout(self._legend)
        self._below = QWidget()
        self._below.setProperty("role", "clear")
        self._lines = FlowLayout(LEGEND_GAP)
        self._lines.setContentsMargins(EDGE, 0, EDGE, 0)
        self._below.setLayout(self._lines)
        self._below.hide()
        self._wrapped_at = 0
        self.body = QVBoxLayout(self)
        self.body.setContentsMargins(0, 0, 0, 2)
        self.body.setSpacing(0)
        self.body.addLayout(head)
        self.body.addWidget(self._below)

    def show_title(self, text: str) -> None:
        """Change the title as shown."""
        self._heading.setText(text)

    @property
    def shown_title(self) -> str:
        """The title as shown."""
        return self._heading.text()

    def leave_out(self, entry: QLabel, left_out: bool) -> None:
        """Take a legend away that has nothing to tell here, or bring it back."""
        if (entry in self._left_out) is not left_out:
            (self._left_out.add if left_out else self._left_out.remove)(entry)
            entry.setHidden(left_out)
            self._wrapped_at = 0
            self._fit_head()

    def show_unit(self, text: str) -> None:
        """Change what stands beside the title."""
        self._unit.show_text(text)

    @property
    def shown_unit(self) -> str:
        """What stands beside the title, before it is shortened to the room there is."""
        return self._unit.whole

    @property
    def unit_is_cut(self) -> bool:
        """Whether what stands beside the title is shortened."""
        return self._unit.text() != self._unit.whole

    def add_legend(self, tooltip: str = "") -> QLabel:
        """A new legend entry, right of the others."""
        entry = QLabel()
        entry.setProperty("role", "legend")
        entry.setToolTip(tooltip)
        tabular(entry)
        entry.setMinimumWidth(1)  # entries that do not fit go below the title, and keep no frame wide
        self._entries.append(entry)
        self._legend.addWidget(entry)
        return entry

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Legends that have no room go below the title."""
        super().resizeEvent(event)
        self._fit_head()

    def event(self, event: QEvent) -> bool:
        """A legend that grows may have no room any more."""
        if event.type() == QEvent.Type.LayoutRequest:
            self._fit_head()
        return super().event(event)

    @property
    def legend_is_below(self) -> bool:
        """Whether the legends stand below the title."""
        return not self._below.isHidden()

    def _fit_head(self) -> None:
        """All legends beside title and unit, else all below: every curve keeps its name and its figure.

        Once below they stay there at this width: a figure that loses a digit must not move the picture.
        """
        words = self._unit.whole
        unit = self._unit.fontMetrics().horizontalAdvance(words) + 2 if len(words) <= UNIT_CHARACTERS else 0
        self._unit.setMinimumWidth(unit)
        room = self.width() - 2 * EDGE - self._heading.sizeHint().width() - unit - 2 * GAP
        needed = sum(entry.sizeHint().width() + LEGEND_GAP for entry in self._entries if entry not in self._left_out)
        needed -= LEGEND_GAP
        below = needed > room or 0 < self.width() <= self._wrapped_at
        if needed > room:
            self._wrapped_at = max(self._wrapped_at, self.width())
        if below is self.legend_is_below:
            return
        here: QLayout = self._legend if below else self._lines
        there: QLayout = self._lines if below else self._legend
        for entry in self._entries:
            here.removeWidget(entry)
            there.addWidget(entry)
            entry.setHidden(entry in self._left_out)
        self._below.setVisible(below)

    def set_picture(self, widget: QWidget) -> None:
        """Put the drawing in."""
        self.body.addWidget(widget, 1)
