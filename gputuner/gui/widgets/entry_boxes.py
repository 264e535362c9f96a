# pyright: standard
"""Boxes to choose and to count in, with arrows that are painted (a style sheet could only take them from a file)."""

from PySide6.QtCore import QEvent, QPointF, QRect, Qt
from PySide6.QtGui import QColor, QHelpEvent, QPainter, QPaintEvent, QPalette, QPen, QPolygonF
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QComboBox,
    QDoubleSpinBox,
    QSpinBox,
    QStyle,
    QStyleOptionComboBox,
    QStyleOptionSpinBox,
    QStylePainter,
    QToolTip,
    QWidget,
)

WIDE, HIGH = 3.5, 3.5
"""Half the width and the height of an arrow in pixels."""
ARROW_ROOM = 20
"""Pixels at the right end of a box for choosing."""
INSET = 7
"""Pixels that the words of a box to count in stand from its edge, so that they begin where those of other fields do."""
LEAST_CHARACTERS = 10
"""A box for choosing that shrinks may become as narrow as this many characters."""


class ChoiceBox(QComboBox):
    """A combo box that shortens its words with an ellipsis; the whole of them is told on hover."""

    _cut = False

    def shrink(self) -> None:
        """Let it become narrower than its words are."""
        self.setMinimumContentsLength(LEAST_CHARACTERS)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)

    def event(self, event: QEvent) -> bool:
        """Hovering tells the words that are shortened."""
        if event.type() == QEvent.Type.ToolTip and self._cut and isinstance(event, QHelpEvent):
            lines = [line for line in (self.currentText(), self.toolTip()) if line]
            QToolTip.showText(event.globalPos(), "\n".join(lines), self)
            return True
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint frame, shortened words and arrow."""
        painter = QStylePainter(self)
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        style = QStyle.ComplexControl.CC_ComboBox
        field = self.style().subControlRect(style, option, QStyle.SubControl.SC_ComboBoxEditField, self)
        room = field.width() - 4
        words = option.fontMetrics.elidedText(self.currentText(), Qt.TextElideMode.ElideRight, room)
        option.currentText = words  # type: ignore[attr-defined]
        painter.drawComplexControl(style, option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)
        self._cut = words != self.currentText()
        right = QRect(self.width() - ARROW_ROOM, 0, ARROW_ROOM - 4, self.height())
        _arrow(painter, self, right, up=False)


class WholeBox(QSpinBox):
    """A box for a whole number."""

    def __init__(self) -> None:
        super().__init__()
        self.lineEdit().setTextMargins(INSET, 0, 0, 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint it as styled, and the arrows over it."""
        super().paintEvent(event)
        option = QStyleOptionSpinBox()
        self.initStyleOption(option)
        _arrows(self, option)


class DecimalBox(QDoubleSpinBox):
    """A box for a number with decimals."""

    def __init__(self) -> None:
        super().__init__()
        self.lineEdit().setTextMargins(INSET, 0, 0, 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint it as styled, and the arrows over it."""
        super().paintEvent(event)
        option = QStyleOptionSpinBox()
        self.initStyleOption(option)
        _arrows(self, option)


def _arrows(box: QAbstractSpinBox, option: QStyleOptionSpinBox) -> None:
    painter = QPainter(box)
    for part, up in ((QStyle.SubControl.SC_SpinBoxUp, True), (QStyle.SubControl.SC_SpinBoxDown, False)):
        place = box.style().subControlRect(QStyle.ComplexControl.CC_SpinBox, option, part, box)
        _arrow(painter, box, place, up=up)


def _arrow(painter: QPainter, widget: QWidget, place: QRect, *, up: bool) -> None:
    """A small chevron in the middle of ``place``, muted where the widget is off."""
    group = QPalette.ColorGroup.Active if widget.isEnabled() else QPalette.ColorGroup.Disabled
    role = QPalette.ColorRole.Text if widget.isEnabled() else QPalette.ColorRole.PlaceholderText
    middle = QPointF(place.center()) + QPointF(0.5, 0.5)
    way = -1.0 if up else 1.0
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor(widget.palette().color(group, role)), 1.5))
    ends = [(-WIDE, -HIGH / 2 * way), (0.0, HIGH / 2 * way), (WIDE, -HIGH / 2 * way)]
    painter.drawPolyline(QPolygonF([middle + QPointF(x, y) for x, y in ends]))
