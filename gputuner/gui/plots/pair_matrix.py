# pyright: standard
"""A matrix of pairs: how much the job of a row is slowed down beside the job of a column, a number in every cell."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import log

from PySide6.QtCore import QEvent, QPoint, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QHelpEvent, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from gputuner.gui.fonts import painted
from gputuner.gui.theme import TEXT_BODY, TEXT_SMALL, Theme, readable, text_on, tinted
from gputuner.language import numbers
from gputuner.language.words import _

EDGE, GAP, LINE = 12.0, 8.0, 17.0
"""Pixels at the edges, between names and cells, and of a line of words."""
WIDEST, HIGHEST, NARROWEST, LOWEST = 150.0, 78.0, 54.0, 30.0
"""Most and least width and height of a cell, pixels."""
NAMES_AT_MOST = 0.3
"""Share of the width that the names of the rows take at most."""
HEAD_LINES = 3
"""Lines that a column's name may have at most."""
LEGEND = 26.0
STEPS = (1.0, 1.5, 2.0, 3.0, 4.0)
"""What the key of colours shows: the same in every run, so that runs can be held against each other."""
ROOMY = 46.0
"""From this height on (pixels) a cell has its interval below its number."""

Place = tuple[int, int]
_CENTRE = Qt.AlignmentFlag.AlignCenter
_WRAPPED = int(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignBottom) | int(Qt.TextFlag.TextWordWrap)
_STEPS: dict[int, Place] = {
    Qt.Key.Key_Up: (-1, 0),
    Qt.Key.Key_Down: (1, 0),
    Qt.Key.Key_Left: (0, -1),
    Qt.Key.Key_Right: (0, 1),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PairCell:
    """How much one job is slowed down by another (1: not at all), with its interval where it was measured."""

    value: float
    low: float | None = None
    high: float | None = None
    predicted: bool = False
    """Worked out and not run."""
    doubtful: bool = False
    """The same job alone changed meanwhile, or it came out faster than alone."""
    point_id: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairTable:
    """Names of the jobs, and cells by row (the job) and column (its partner)."""

    names: tuple[str, ...] = ()
    cells: Mapping[Place, PairCell] = field(default_factory=lambda: {})


class PairMatrix(QWidget):
    """Paints a table of pairs; arrow keys go from cell to cell and tell what hovering tells."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.table = PairTable()
        self._marked: frozenset[str] = frozenset()
        self._at: Place = (0, 0)
        self._small, self._number = painted(TEXT_SMALL), painted(TEXT_BODY)
        self._number.setWeight(QFont.Weight.DemiBold)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def show_table(self, table: PairTable) -> None:
        """Show these pairs; the same again costs nothing."""
        if table != self.table:
            self.table, self._at = table, (0, 0)
            self.setAccessibleName(_("pairs of jobs"))
            self.updateGeometry()
            self.update()

    def mark(self, point_ids: frozenset[str]) -> None:
        """Mark the cells of these points as evidence."""
        self._marked = point_ids
        self.update()

    @property
    def has_predicted(self) -> bool:
        """Whether a cell was worked out and not run."""
        return any(cell.predicted for cell in self.table.cells.values())

    def sizeHint(self) -> QSize:
        """Room for cells that can be read."""
        count = len(self.table.names)
        width = 2 * EDGE + 110 + count * 90
        return QSize(int(width), int(2 * EDGE + HEAD_LINES * LINE + GAP + count * 48 + LEGEND))

    def minimumSizeHint(self) -> QSize:
        """Room for the least cells."""
        count = len(self.table.names)
        width = 2 * EDGE + 80 + count * NARROWEST
        return QSize(int(width), int(2 * EDGE + HEAD_LINES * LINE + GAP + count * LOWEST + LEGEND))

    def area(self, place: Place) -> QRectF:
        """Where a cell is, in pixels."""
        left, top, width, height = self._grid()
        row, column = place
        return QRectF(left + column * width, top + row * height, width - 3, height - 3)

    def cell_text(self, cell: PairCell) -> str:
        """The number in a cell; a worked out one begins with ≈."""
        return f"{'≈ ' if cell.predicted else ''}{cell.value:.2f}"

    def fill(self, value: float) -> str:
        """The ground of a cell as ``#rrggbb``: from the surface's grey to a strong orange, the same by each factor."""
        share = min(1.0, log(max(STEPS[0], value)) / log(STEPS[-1]))
        low, high = QColor(self._theme.sunk), QColor(self._theme.vermilion)
        parts = [
            round(a + (b - a) * share)
            for a, b in ((low.red(), high.red()), (low.green(), high.green()), (low.blue(), high.blue()))
        ]
        return "#{:02x}{:02x}{:02x}".format(*parts)

    def event(self, event: QEvent) -> bool:
        """Hovering over a cell tells its pair and its interval."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            found = next(
                (cell for place, cell in self.table.cells.items() if self.area(place).contains(event.pos())), None
            )
            QToolTip.showText(event.globalPos(), found.hint if found else "", self)
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrow keys go from cell to cell."""
        step = _STEPS.get(event.key())
        count = len(self.table.names)
        if step is None or not count:
            super().keyPressEvent(event)
            return
        row, column = (min(max(at + by, 0), count - 1) for at, by in zip(self._at, step, strict=True))
        self._at = row, column
        cell = self.table.cells.get(self._at)
        names = self.table.names
        said = self.cell_text(cell) if cell is not None else numbers.MISSING
        self.setAccessibleName(
            _("{job} beside {partner}: {value}").format(job=names[row], partner=names[column], value=said)
        )
        self.setAccessibleDescription(cell.hint if cell is not None else "")
        corner = self.area(self._at).bottomLeft().toPoint()
        QToolTip.showText(self.mapToGlobal(QPoint(corner)), cell.hint if cell is not None else "", self)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint names, cells and the key of colours."""
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(self._theme.surface))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if not self.table.names:
            return
        self._names(painter)
        for row in range(len(self.table.names)):
            for column in range(len(self.table.names)):
                self._cell(painter, (row, column))
        if self.hasFocus():
            painter.setPen(QPen(QColor(self._theme.accent), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(self.area(self._at).adjusted(-1, -1, 1, 1), 4, 4)
        self._legend(painter)

    def _grid(self) -> tuple[float, float, float, float]:
        """Left and top of the first cell, width and height of one with its gap."""
        count = max(1, len(self.table.names))
        metrics = QFontMetricsF(self._small)
        widest = max((metrics.horizontalAdvance(name) for name in self.table.names), default=0.0)
        left = EDGE + LINE + min(widest, NAMES_AT_MOST * self.width()) + GAP
        width = min(WIDEST, max(NARROWEST, (self.width() - left - EDGE) / count))
        top = EDGE / 2 + LINE * (1 + self._head_lines(metrics, width)) + GAP / 2
        height = min(HIGHEST, max(LOWEST, (self.height() - top - EDGE - LEGEND) / count))
        return left, top, width, height

    def _head_lines(self, metrics: QFontMetricsF, width: float) -> int:
        """Lines that the longest name of a column takes."""
        room = QRectF(0, 0, width - 6, LINE * HEAD_LINES)
        heads = [_kept(name, metrics, width - 6) for name in self.table.names]
        tall = [metrics.boundingRect(room, _WRAPPED, name).height() for name in heads]
        return min(HEAD_LINES, max(1, round(max(tall, default=LINE) / metrics.lineSpacing())))

    def _names(self, painter: QPainter) -> None:
        left, top, width, height = self._grid()
        names = self.table.names
        painter.setFont(self._small)
        metrics = painter.fontMetrics()
        painter.setPen(QColor(self._theme.muted))
        painter.drawText(QRectF(left, EDGE / 2, width * len(names), LINE), Qt.AlignmentFlag.AlignLeft, _("beside …"))
        self._upright(painter, QRectF(EDGE / 2, top, LINE, height * len(names)), _("slowdown of …"))
        painter.setPen(QColor(self._theme.text))
        lines = self._head_lines(QFontMetricsF(self._small), width)
        for number, name in enumerate(names):
            head = QRectF(left + number * width, EDGE / 2 + LINE, width - 6, LINE * lines)
            painter.drawText(head, _WRAPPED, _kept(name, QFontMetricsF(self._small), head.width()))
            room = QRectF(EDGE + LINE, top + number * height, left - EDGE - LINE - GAP, height - 3)
            short = metrics.elidedText(name, Qt.TextElideMode.ElideRight, int(room.width()) + 1)
            painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, short)

    @staticmethod
    def _upright(painter: QPainter, area: QRectF, words: str) -> None:
        painter.save()
        painter.translate(area.left(), area.bottom())
        painter.rotate(-90)
        painter.drawText(QRectF(0, 0, area.height(), area.width()), _CENTRE, words)
        painter.restore()

    def _cell(self, painter: QPainter, place: Place) -> None:
        area, cell = self.area(place), self.table.cells.get(place)
        if cell is None:
            painter.setPen(QPen(QColor(self._theme.line), 1))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(area, 3, 3)
            painter.setPen(QColor(self._theme.muted))
            painter.setFont(self._small)
            painter.drawText(area, _CENTRE, numbers.MISSING)
            return
        ground = self.fill(cell.value)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(ground))
        painter.drawRoundedRect(area, 3, 3)
        ink = readable(text_on(ground), ground)
        if cell.predicted:
            self._hatch(painter, area, ink)
        self._numbers(painter, area, cell, ground, ink)
        if cell.point_id and cell.point_id in self._marked:
            painter.setPen(QPen(QColor(self._theme.accent), 2.5))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(area, 3, 3)

    def _numbers(self, painter: QPainter, area: QRectF, cell: PairCell, ground: str, ink: str) -> None:
        interval = cell.low is not None and cell.high is not None and area.height() >= ROOMY
        painter.setFont(self._number)
        words = f"{self.cell_text(cell)}{' ?' if cell.doubtful else ''}"
        upper = QRectF(area.left(), area.top(), area.width(), area.height() * (0.64 if interval else 1.0))
        if cell.predicted:  # words on hatching need a ground of their own
            wide = QFontMetricsF(self._number).horizontalAdvance(words) + 8
            spot = QRectF(upper.center().x() - wide / 2, upper.center().y() - LINE / 2, wide, LINE)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(ground))
            painter.drawRoundedRect(spot, 3, 3)
        painter.setPen(QColor(ink))
        painter.drawText(upper, _CENTRE, words)
        if interval:
            painter.setFont(self._small)
            lower = QRectF(area.left(), area.top() + area.height() * 0.5, area.width(), area.height() * 0.42)
            words = f"{cell.low:.2f} … {cell.high:.2f}"
            if QFontMetricsF(self._small).horizontalAdvance(words) <= area.width():
                painter.drawText(lower, _CENTRE, words)

    def _hatch(self, painter: QPainter, area: QRectF, ink: str) -> None:
        painter.setPen(QPen(QColor(self._theme.strong_line), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(area, 3, 3)
        painter.setPen(Qt.PenStyle.NoPen)
        brush = painter.brush()
        brush.setStyle(Qt.BrushStyle.BDiagPattern)
        brush.setColor(tinted(ink, 110))
        painter.setBrush(brush)
        painter.drawRoundedRect(area, 3, 3)

    def _legend(self, painter: QPainter) -> None:
        """What the colours and the hatching mean."""
        left, top, _width, height = self._grid()
        y = top + height * len(self.table.names) + GAP
        painter.setFont(self._small)
        metrics = QFontMetricsF(self._small)
        words = _("predicted, not run") if self.has_predicted else ""
        needed = 40 * len(STEPS) + (42 + metrics.horizontalAdvance(words) if words else 0)
        x = max(EDGE, min(left, self.width() - EDGE - needed))
        for value in STEPS:
            painter.setPen(Qt.PenStyle.NoPen)
            ground = self.fill(value)
            painter.setBrush(QColor(ground))
            painter.drawRect(QRectF(x, y, 40, LINE))
            painter.setPen(QColor(readable(text_on(ground), ground)))
            painter.drawText(QRectF(x, y, 40, LINE), _CENTRE, f"{value:g}{'+' if value == STEPS[-1] else ''}")
            x += 40
        if words:
            box = QRectF(x + 14, y + 1, 22, LINE - 2)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(self._theme.sunk))
            painter.drawRoundedRect(box, 2, 2)
            self._hatch(painter, box, self._theme.text)
            painter.setPen(QColor(self._theme.muted))
            painter.drawText(
                QRectF(box.right() + 6, y, metrics.horizontalAdvance(words) + 4, LINE),
                Qt.AlignmentFlag.AlignVCenter,
                words,
            )


def _kept(name: str, metrics: QFontMetricsF, width: float) -> str:
    """A name whose settings in brackets break as a whole, where they have room in ``width`` pixels."""
    start = name.find(" (") + 1
    whole = name[start:].replace(" ", "\u00a0")
    return name[:start] + whole if start and metrics.horizontalAdvance(whole) <= width else name
