# pyright: standard
"""Horizontal bars with interval, marks and words: measured against peak, together against alone."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QHelpEvent, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from gputuner.gui.fonts import painted
from gputuner.gui.theme import TEXT_SMALL, Theme, tinted

ROW, GROUP = 26, 28
"""Height of a row and of a group's heading in pixels."""
EDGE, GAP = 12, 10
"""Pixels at the edges and between columns."""
BAR_LEAST = 90.0
"""Pixels for the bars before notes are shown."""
NARROWEST = 3.0
"""An interval narrower than this (pixels) would be a blot on the bar's end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """A range that others reached, in the row's unit."""

    low: float
    high: float
    middle: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BarRow:
    """One bar. Lengths are in the row's own unit; ``top`` is the full width. ``point_id`` marks it as evidence."""

    name: str
    text: str
    value: float
    top: float
    colour: str
    reference: float | None = None
    """Drawn as an outlined track behind the bar, with a line at its end (a peak)."""
    mark: float | None = None
    """A further figure to compare with, drawn as a small triangle."""
    band: Band | None = None
    """Drawn as a thin bracket below the bar."""
    low: float | None = None
    high: float | None = None
    hatched: bool = False
    note: str = ""
    point_id: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BarGroup:
    """Rows under a heading; ``line`` is a value (in the rows' unit) drawn dashed through all of them."""

    title: str
    rows: tuple[BarRow, ...]
    line: float | None = None


class Bars(QWidget):
    """Groups of bars, painted: name, bar, value and note, each in a column as wide as its longest words."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._names, self._texts, self._notes = 0.0, 0.0, 0.0
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
            self._measure()
            self.updateGeometry()
            self.update()

    def _measure(self) -> None:
        metrics = QFontMetricsF(self._font)
        rows = [row for group in self._groups for row in group.rows]

        def widest(words: list[str]) -> float:
            return max((metrics.horizontalAdvance(word) for word in words), default=0.0)

        self._names = widest([row.name for row in rows])
        self._texts = widest([row.text for row in rows])
        notes = widest([row.note for row in rows])
        self._notes = notes + GAP if notes else 0.0

    @property
    def columns(self) -> tuple[float, float, float, float]:
        """Left ends of bar, value and note, and the right end of the notes, in pixels."""
        value = self._left() + self._room() + GAP
        return self._left(), value, value + self._texts + GAP, value + self._texts + self._noted()

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

    def row_at(self, y: float) -> BarRow | None:
        """The bar at a height in pixels."""
        top = 6.0
        for group in self._groups:
            top += GROUP
            for row in group.rows:
                if top <= y < top + ROW * self._stretch:
                    return row
                top += ROW * self._stretch
        return None

    def event(self, event: QEvent) -> bool:
        """Hovering over a bar tells its settings and conditions."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            row = self.row_at(event.pos().y())
            QToolTip.showText(event.globalPos(), row.hint if row else "", self)
            return True
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint all groups from the top."""
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(self._theme.surface))
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
                painter.setPen(QPen(QColor(self._theme.text), 1, Qt.PenStyle.DashLine))
                painter.drawLine(QPointF(x, top), QPointF(x, y))

    def _roomy(self) -> float:
        """Rows grow up to half as high again where there is room."""
        rows = sum(len(group.rows) for group in self._groups)
        spare = self.height() - self.sizeHint().height()
        return 1.0 + min(0.5, max(0.0, spare / max(1, rows * ROW)))

    def _left(self) -> float:
        return EDGE + min(self._names, 0.35 * self.width()) + GAP

    def _noted(self) -> float:
        """Width of the notes; none where the bars would have too little room (hovering tells them)."""
        rest = self.width() - self._left() - GAP - self._texts - EDGE
        return self._notes if rest - self._notes >= BAR_LEAST else 0.0

    def _room(self) -> float:
        return max(40.0, self.width() - self._left() - GAP - self._texts - self._noted() - EDGE)

    def _heading(self, painter: QPainter, title: str, y: float) -> None:
        painter.setPen(QColor(self._theme.muted))
        painter.drawText(QRectF(EDGE, y, self.width() - 2 * EDGE, GROUP - 4), Qt.AlignmentFlag.AlignVCenter, title)

    def _row(self, painter: QPainter, row: BarRow, y: float) -> None:
        left, room = self._left(), self._room()
        y += ROW * (self._stretch - 1) / 2
        per = room / max(1e-12, row.top)
        painter.setPen(QColor(self._theme.text))
        align = Qt.AlignmentFlag.AlignVCenter
        name = painter.fontMetrics().elidedText(row.name, Qt.TextElideMode.ElideRight, int(left - GAP - EDGE) + 1)
        painter.drawText(QRectF(EDGE, y, left - GAP - EDGE + 1, ROW), align, name)
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
        if row.reference is not None:
            self._peak(painter, left + min(room, row.reference * per), y)
        if row.mark is not None and row.mark <= row.top:
            self._triangle(painter, left + row.mark * per, y)
        if row.band is not None:
            self._band(painter, row.band, left, per, y)
        if row.low is not None and row.high is not None:
            self._interval(painter, left + row.low * per, left + row.high * per, y + ROW / 2)
        if row.point_id and row.point_id in self._marked:
            painter.setPen(QPen(QColor(self._theme.accent), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(left - 3, y + 3, bar.width() + 6, ROW - 6), 4, 4)
        painter.setPen(QColor(self._theme.text))
        value = left + room + GAP
        painter.drawText(QRectF(value, y, self._texts + 1, ROW), align | Qt.AlignmentFlag.AlignRight, row.text)
        if row.note and self._noted():
            painter.setPen(QColor(self._theme.muted))
            painter.drawText(QRectF(value + self._texts + GAP, y, self._noted(), ROW), align, row.note)

    def _peak(self, painter: QPainter, x: float, y: float) -> None:
        """Where the sheet's figure lies, also behind a bar that goes beyond it."""
        painter.setPen(QPen(QColor(self._theme.text), 1.4))
        painter.drawLine(QPointF(x, y + 3), QPointF(x, y + ROW - 3))

    def _triangle(self, painter: QPainter, x: float, y: float) -> None:
        """A small triangle above the bar, its tip on the figure."""
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._theme.text))
        painter.drawPolygon(QPolygonF([QPointF(x - 4, y + 1), QPointF(x + 4, y + 1), QPointF(x, y + 7)]))

    def _band(self, painter: QPainter, band: Band, left: float, per: float, y: float) -> None:
        """A thin bracket below the bar, a tick at its middle."""
        room, bottom = self._room(), y + ROW - 3
        x0, x1 = left + min(room, band.low * per), left + min(room, band.high * per)
        painter.setPen(QPen(QColor(self._theme.purple), 2))
        painter.drawLine(QPointF(x0, bottom), QPointF(x1, bottom))
        painter.setPen(QPen(QColor(self._theme.purple), 1.4))
        for x, rise in ((x0, 3), (x1, 3), (None if band.middle is None else left + band.middle * per, 5)):
            if x is not None:
                painter.drawLine(QPointF(x, bottom), QPointF(x, bottom - rise))

    def _interval(self, painter: QPainter, x0: float, x1: float, middle: float) -> None:
        if x1 - x0 < NARROWEST:
            return
        painter.setPen(QPen(QColor(self._theme.text), 1.4))
        painter.drawLine(QPointF(x0, middle), QPointF(x1, middle))
        for x in (x0, x1):
            painter.drawLine(QPointF(x, middle - 4), QPointF(x, middle + 4))
