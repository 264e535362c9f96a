# pyright: standard
"""Gauges: what is drawn on a track, against limits that stand across it."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QFontMetricsF, QHelpEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from gputuner.gui.fonts import painted
from gputuner.gui.plots.bar_key import BarKey
from gputuner.gui.results_supply import Gauge, Line, Part
from gputuner.gui.theme import TEXT_SMALL, Theme, text_on, tinted

EDGE, TITLE, MARKS, TRACK, GAP = 10.0, 17.0, 14.0, 20.0, 7.0
"""Pixels: sides, line of the title, line of the limits' words, track, between gauges."""
SHORTEST = 60.0
"""Pixels below which nothing is told beside a title (hovering tells it)."""
APART = 14.0
"""Pixels between the words of two limits: nearer they read as one."""
BLOCK = TITLE + MARKS + TRACK + GAP


class SupplyGauges(QWidget):
    """Gauges below each other; the first one's parts are explained by a key."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.gauges: tuple[Gauge, ...] = ()
        self._font, self._bold = painted(TEXT_SMALL), painted(TEXT_SMALL, bold=True)
        self._key = BarKey(theme)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_gauges(self, gauges: Sequence[Gauge]) -> None:
        """Show these; the same again costs nothing."""
        if tuple(gauges) != self.gauges:
            self.gauges = tuple(gauges)
            parts = {part.name: part for gauge in self.gauges[:1] for part in gauge.parts}
            self._key.explain([(name, self._swatch(part)) for name, part in parts.items()])
            self.setAccessibleName("; ".join(f"{gauge.title}: {gauge.text}" for gauge in self.gauges))
            self.updateGeometry()
            self.update()

    def _swatch(self, part: Part):
        return lambda painter, x, y: self._fill(painter, part, QRectF(x, y + 5, 13, 10))

    @property
    def key(self) -> tuple[str, ...]:
        """What the key explains."""
        return self._key.words

    def _head(self) -> float:
        return self._key.height(QFontMetricsF(self._font), max(1.0, self.width() - 2 * EDGE))

    def sizeHint(self) -> QSize:
        """Room for key and all gauges."""
        return QSize(320, int(self._head() + 4 + BLOCK * len(self.gauges)))

    def minimumSizeHint(self) -> QSize:
        """As high as it is."""
        return QSize(220, self.sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The key may need another number of lines."""
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.updateGeometry()

    def event(self, event: QEvent) -> bool:
        """Hovering over a gauge tells its parts and how it was found."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            at = int((event.pos().y() - self._head()) // BLOCK)
            inside = 0 <= at < len(self.gauges)
            QToolTip.showText(event.globalPos(), self.hint(self.gauges[at]) if inside else "", self)
            return True
        return super().event(event)

    @staticmethod
    def hint(gauge: Gauge) -> str:
        """What hovering tells."""
        parts = [f"{part.name}: {part.value:.0f} W" for part in gauge.parts]
        return "\n".join([f"{gauge.title}: {gauge.text}", *dict.fromkeys(parts), gauge.hint])

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the key and every gauge."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(self._font)
        self._key.paint(painter, QFontMetricsF(self._font), EDGE, 0, self.width() - 2 * EDGE)
        top = self._head() + 2
        for gauge in self.gauges:
            self._gauge(painter, gauge, top)
            top += BLOCK

    def _gauge(self, painter: QPainter, gauge: Gauge, top: float) -> None:
        width = self.width() - 2 * EDGE
        metrics = QFontMetricsF(self._font)
        line, middle = QRectF(EDGE, top, width, TITLE), Qt.AlignmentFlag.AlignVCenter
        bold = QFontMetricsF(self._bold)
        title = bold.elidedText(gauge.title, Qt.TextElideMode.ElideRight, width)
        painter.setFont(self._bold)
        painter.setPen(QColor(self._theme.text))
        painter.drawText(line, middle, title)
        painter.setFont(self._font)
        room = width - bold.horizontalAdvance(title) - 12
        told = f"▲ {gauge.text}" if gauge.over else gauge.text
        if room >= SHORTEST:
            painter.setPen(QColor(self._theme.ink(self._theme.danger) if gauge.over else self._theme.muted))
            told = metrics.elidedText(told, Qt.TextElideMode.ElideRight, room)
            painter.drawText(line, middle | Qt.AlignmentFlag.AlignRight, told)
        track = QRectF(EDGE, top + TITLE + MARKS, width, TRACK)
        painter.setPen(QPen(QColor(self._theme.line), 1))
        painter.setBrush(QColor(self._theme.sunk))
        painter.drawRoundedRect(track, 3, 3)
        x = track.left()
        for part in gauge.parts:
            wide = part.value / gauge.top * width
            self._part(painter, part, QRectF(x, track.top() + 1, wide, TRACK - 2))
            x += wide
        self._lines(painter, gauge, track)

    def _part(self, painter: QPainter, part: Part, area: QRectF) -> None:
        self._fill(painter, part, area)
        metrics = QFontMetricsF(self._font)
        solid = part.pattern is Qt.BrushStyle.SolidPattern
        words = next(
            (
                text
                for text in (f"{part.name} {part.value:.0f} W", f"{part.value:.0f} W", f"{part.value:.0f}")
                if metrics.horizontalAdvance(text) + 8 <= area.width()
            ),
            "",
        )
        if words and solid:
            painter.setPen(QColor(text_on(part.colour)))
            painter.drawText(area, Qt.AlignmentFlag.AlignCenter, words)

    def _fill(self, painter: QPainter, part: Part, area: QRectF) -> None:
        solid = part.pattern is Qt.BrushStyle.SolidPattern
        painter.setPen(QPen(QColor(self._theme.surface), 1))
        painter.setBrush(QColor(part.colour) if solid else tinted(part.colour, 45))
        painter.drawRect(area)
        if not solid:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QBrush(QColor(part.colour), part.pattern))
            painter.drawRect(area)

    def _lines(self, painter: QPainter, gauge: Gauge, track: QRectF) -> None:
        """Limits across the track; their words above, moved apart where they would meet."""
        metrics = QFontMetricsF(self._font)
        free = track.right()
        for line in sorted(gauge.lines, key=lambda each: -each.value):
            x = track.left() + line.value / gauge.top * track.width()
            painter.setPen(QPen(QColor(self._theme.text), 1.4, Qt.PenStyle.DashLine))
            painter.drawLine(QPointF(x, track.top() - 3), QPointF(x, track.bottom() + 3))
            free = self._name(painter, metrics, line, x, track, free)

    def _name(
        self, painter: QPainter, metrics: QFontMetricsF, line: Line, x: float, track: QRectF, free: float
    ) -> float:
        wide = metrics.horizontalAdvance(line.text) + 2
        left = max(track.left(), min(x - wide / 2, free - wide))
        painter.setPen(QColor(self._theme.muted))
        painter.drawText(QRectF(left, track.top() - MARKS - 2, wide, MARKS), Qt.AlignmentFlag.AlignVCenter, line.text)
        return left - APART
