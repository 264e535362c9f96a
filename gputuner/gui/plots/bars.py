# pyright: standard
"""Horizontal bars with interval, marks and words: measured against peak, together against alone."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from gputuner.gui.fonts import painted
from gputuner.gui.theme import TEXT_SMALL, Theme, tinted

ROW, GROUP = 26, 28
"""Height of a row and of a group's heading in pixels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BarRow:
    """One bar. Lengths are in the row's own unit; ``top`` is the full width. ``point_id`` marks it as evidence."""

    name: str
    text: str
    value: float
    top: float
    colour: str
    reference: float | None = None
    """Drawn as an outlined track behind the bar (a peak)."""
    low: float | None = None
    high: float | None = None
    hatched: bool = False
    note: str = ""
    point_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BarGroup:
    """Rows under a heading; ``line`` is a value (in the rows' unit) drawn dashed through all of them."""

    title: str
    rows: tuple[BarRow, ...]
    line: float | None = None


class Bars(QWidget):
    """Groups of bars, painted."""

    def __init__(self, theme: Theme, name_width: int = 150, text_width: int = 150) -> None:
        super().__init__()
        self._theme = theme
        self._names, self._texts = name_width, text_width
        self._groups: tuple[BarGroup, ...] = ()
        self._marked: frozenset[str] = frozenset()
        self._stretch = 1.0
        self._font = painted(TEXT_SMALL)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    @property
    def groups(self) -> tuple[BarGroup, ...]:
        """What is shown."""
        return self._groups

    def show_groups(self, groups: Sequence[BarGroup]) -> None:
        """Show these groups."""
        if tuple(groups) != self._groups:
            self._groups = tuple(groups)
            self.updateGeometry()
            self.update()

    def mark(self, point_ids: frozenset[str]) -> None:
        """Mark the bars of these points as evidence."""
        self._marked = point_ids
        self.update()

    def sizeHint(self) -> QSize:
        """Room for all rows."""
        return QSize(400, 16 + sum(GROUP + ROW * len(group.rows) for group in self._groups))

    def minimumSizeHint(self) -> QSize:
        """As the size hint, but narrow."""
        return QSize(260, min(120, self.sizeHint().height()))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint all groups from the top."""
        painter = QPainter(self)
        painter.setFont(self._font)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._stretch = self._roomy()
        y = 6.0
        for group in self._groups:
            self._heading(painter, group.title, y)
            y += GROUP
            top = y
            for row in group.rows:
                self._row(painter, row, y)
                y += ROW * self._stretch
            if group.line is not None and group.rows:
                x = self._left() + min(1.0, group.line / group.rows[0].top) * self._room()
                painter.setPen(QPen(QColor(self._theme.muted), 1, Qt.PenStyle.DashLine))
                painter.drawLine(QPointF(x, top), QPointF(x, y))

    def _roomy(self) -> float:
        """Rows grow up to half as high again where there is room."""
        rows = sum(len(group.rows) for group in self._groups)
        spare = self.height() - self.sizeHint().height()
        return 1.0 + min(0.5, max(0.0, spare / max(1, rows * ROW)))

    def _left(self) -> float:
        return 12.0 + self._names

    def _room(self) -> float:
        return max(40.0, self.width() - self._left() - self._texts - 12)

    def _heading(self, painter: QPainter, title: str, y: float) -> None:
        painter.setPen(QColor(self._theme.muted))
        painter.drawText(QRectF(12, y, self.width() - 24, GROUP - 4), Qt.AlignmentFlag.AlignVCenter, title)

    def _row(self, painter: QPainter, row: BarRow, y: float) -> None:
        left, room = self._left(), self._room()
        y += ROW * (self._stretch - 1) / 2
        per = room / max(1e-12, row.top)
        painter.setPen(QColor(self._theme.text))
        align = Qt.AlignmentFlag.AlignVCenter
        name = painter.fontMetrics().elidedText(row.name, Qt.TextElideMode.ElideRight, self._names - 8)
        painter.drawText(QRectF(12, y, self._names - 8, ROW), align, name)
        bar = QRectF(left, y + 6, min(room, row.value * per), ROW - 12)
        if row.reference is not None:
            painter.setPen(QPen(QColor(self._theme.strong_line), 1))
            painter.setBrush(QColor(self._theme.sunk))
            painter.drawRoundedRect(QRectF(left, y + 6, min(room, row.reference * per), ROW - 12), 2, 2)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(row.colour) if not row.hatched else tinted(row.colour, 60))
        painter.drawRoundedRect(bar, 2, 2)
        if row.hatched:
            painter.setPen(QPen(QColor(row.colour), 1.2))
            painter.setBrush(Qt.BrushStyle.BDiagPattern)
            painter.drawRoundedRect(bar, 2, 2)
        if row.low is not None and row.high is not None:
            painter.setPen(QPen(QColor(self._theme.text), 1.4))
            x0, x1, middle = left + row.low * per, left + row.high * per, y + ROW / 2
            painter.drawLine(QPointF(x0, middle), QPointF(x1, middle))
            for x in (x0, x1):
                painter.drawLine(QPointF(x, middle - 4), QPointF(x, middle + 4))
        if row.point_id and row.point_id in self._marked:
            painter.setPen(QPen(QColor(self._theme.accent), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(left - 3, y + 3, bar.width() + 6, ROW - 6), 4, 4)
        painter.setPen(QColor(self._theme.text))
        area = QRectF(left + room + 8, y, self._texts, ROW)
        painter.drawText(area, align, row.text)
        if row.note:
            painter.setPen(QColor(self._theme.muted))
            used = painter.fontMetrics().horizontalAdvance(row.text) + 8
            painter.drawText(area.adjusted(used, 0, 0, 0), align, row.note)
