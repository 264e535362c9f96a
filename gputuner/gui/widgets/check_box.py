# pyright: standard
"""A check box whose tick is painted (a style sheet could only take it from a file)."""

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF, QResizeEvent
from PySide6.QtWidgets import QCheckBox, QStyle, QStyleOptionButton

from gputuner.gui.theme import Theme


class CheckBox(QCheckBox):
    """A check box with a tick (a dash: some of those below it) in the accent's own text colour."""

    def __init__(self, theme: Theme, words: str) -> None:
        super().__init__(words)
        self._theme = theme

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the box as styled, and the tick over it."""
        super().paintEvent(event)
        if not self.isChecked():
            return
        option = QStyleOptionButton()
        self.initStyleOption(option)
        box = self.style().subElementRect(QStyle.SubElement.SE_CheckBoxIndicator, option, self)
        left, top, size = box.x(), box.y(), box.width()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ink = self._theme.on_accent if self.isEnabled() else self._theme.surface
        painter.setPen(QPen(QColor(ink), 1.8, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
        partly = self.checkState() is Qt.CheckState.PartiallyChecked
        points = [(0.25, 0.5), (0.75, 0.5)] if partly else [(0.25, 0.53), (0.44, 0.72), (0.76, 0.3)]
        painter.drawPolyline(QPolygonF([QPointF(left + x * size, top + y * size) for x, y in points]))


class ShortCheckBox(CheckBox):
    """A check box that shortens its words to the room it has; hovering tells the whole of them then."""

    def __init__(self, theme: Theme, words: str) -> None:
        super().__init__(theme, words)
        self._words, self._hint = words, ""
        self.setMinimumWidth(1)
        self.setAccessibleName(words)

    def sizeHint(self) -> QSize:
        """Room for all words."""
        cut = self.fontMetrics().horizontalAdvance(self.text())
        return super().sizeHint() + QSize(self.fontMetrics().horizontalAdvance(self._words) - cut, 0)

    def setToolTip(self, text: str) -> None:
        """What hovering tells, below the words where they are cut."""
        self._hint = text
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit the words anew."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        option = QStyleOptionButton()
        self.initStyleOption(option)
        room = self.style().subElementRect(QStyle.SubElement.SE_CheckBoxContents, option, self).width()
        short = self.fontMetrics().elidedText(self._words, Qt.TextElideMode.ElideRight, room)
        if short != self.text():
            self.setText(short)
        told = [self._hint] if short == self._words else [self._words, self._hint]
        super().setToolTip("\n".join(line for line in told if line))
