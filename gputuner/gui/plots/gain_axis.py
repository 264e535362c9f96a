# pyright: standard
"""Gains as dots with their intervals on one axis with zero: what was predicted beside what came."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from gputuner.gui.fonts import painted
from gputuner.gui.plots.bar_marks import BAR_HEIGHT
from gputuner.gui.plots.style import even_ticks
from gputuner.gui.theme import TEXT_SMALL, Theme

ROW, AXIS = 26, 22
"""Height of a row and of the axis in pixels."""
EDGE, GAP = 12, 10
"""Pixels at the edges and between columns."""
DOT = 4.5
"""Radius of a dot, pixels."""
SPARE = 0.06
"""Share of the span that stays free at both ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GainRow:
    """One gain as a fraction, with its interval where it has one; ``hollow``: not measured but predicted."""

    name: str
    text: str
    value: float
    colour: str
    low: float | None = None
    high: float | None = None
    hollow: bool = False
    point_id: str = ""


class GainAxis(QWidget):
    """Rows of a name, a dot with its interval, and the figure; below them the axis in per cent."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._rows: tuple[GainRow, ...] = ()
        self._font = painted(TEXT_SMALL)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def rows(self) -> tuple[GainRow, ...]:
        """What is shown."""
        return self._rows

    def show_rows(self, rows: Sequence[GainRow]) -> None:
        """Show these."""
        if tuple(rows) != self._rows:
            self._rows = tuple(rows)
            self.setAccessibleName(", ".join(f"{row.name} {row.text}" for row in rows))
            self.updateGeometry()
            self.update()

    def sizeHint(self) -> QSize:
        """Room for all rows and the axis."""
        return QSize(300, ROW * len(self._rows) + AXIS)

    def minimumSizeHint(self) -> QSize:
        """As high as its rows."""
        return QSize(160, self.sizeHint().height())

    @property
    def span(self) -> tuple[float, float]:
        """Ends of the axis (fractions); zero is among them."""
        told = [v for row in self._rows for v in (row.value, row.low, row.high) if v is not None]
        low, high = min([*told, 0.0]), max([*told, 0.0])
        room = SPARE * ((high - low) or 0.01)
        return low - room, high + room

    def place(self, gain: float) -> float:
        """Pixels from the left."""
        left, right = self._ends()
        low, high = self.span
        return left + (gain - low) / (high - low) * (right - left)

    def _ends(self) -> tuple[float, float]:
        metrics = QFontMetricsF(self._font)
        names = max((metrics.horizontalAdvance(row.name) for row in self._rows), default=0.0)
        texts = max((metrics.horizontalAdvance(row.text) for row in self._rows), default=0.0)
        left = EDGE + names + GAP
        return left, max(left + 40.0, self.width() - EDGE - texts - GAP)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint axis, zero line and rows."""
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(self._theme.surface))
        painter.setFont(self._font)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if not self._rows:
            return
        bottom = float(ROW * len(self._rows))
        self._axis(painter, bottom)
        for number, row in enumerate(self._rows):
            self._row(painter, row, ROW * number)

    def _axis(self, painter: QPainter, bottom: float) -> None:
        left, right = self._ends()
        painter.setPen(QPen(QColor(self._theme.line), 1))
        painter.drawLine(QPointF(left, bottom), QPointF(right, bottom))
        low, high = self.span
        middle = Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop
        for gain in even_ticks(low, high, max(2, int((right - left) / 90))):
            x = self.place(gain)
            zero = abs(gain) < 1e-9
            painter.setPen(QPen(QColor(self._theme.strong_line if zero else self._theme.line), 1))
            painter.drawLine(QPointF(x, 0 if zero else bottom), QPointF(x, bottom + 3))
            painter.setPen(QColor(self._theme.muted))
            words = f"{100 * gain:+g} %".replace("-", "−") if not zero else "0"
            painter.drawText(QRectF(x - 40, bottom + 4, 80, AXIS), middle, words)

    def _row(self, painter: QPainter, row: GainRow, y: float) -> None:
        left, right = self._ends()
        middle = y + ROW / 2
        align = Qt.AlignmentFlag.AlignVCenter
        painter.setPen(QColor(self._theme.text))
        painter.drawText(QRectF(EDGE, y, left - EDGE, ROW), align, row.name)
        painter.drawText(QRectF(right + GAP, y, self.width(), ROW), align, row.text)
        ink = QPen(QColor(row.colour), 2)
        painter.setPen(ink)
        if row.low is not None and row.high is not None:
            x0, x1 = self.place(row.low), self.place(row.high)
            painter.drawLine(QPointF(x0, middle), QPointF(x1, middle))
            for x in (x0, x1):
                painter.drawLine(QPointF(x, middle - BAR_HEIGHT / 3), QPointF(x, middle + BAR_HEIGHT / 3))
        painter.setBrush(QColor(self._theme.surface if row.hollow else row.colour))
        painter.drawEllipse(QPointF(self.place(row.value), middle), DOT, DOT)
