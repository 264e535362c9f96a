# pyright: standard
"""Horizontal bars with interval, marks and words: measured against peak, together against alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QHelpEvent, QKeyEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QScrollArea, QSizePolicy, QToolTip, QWidget

from gputuner.gui.fonts import painted
from gputuner.gui.plots.bar_key import BarKey, Occurring
from gputuner.gui.plots.bar_marks import BAR_HEIGHT, BAR_TOP, Band, BarMarks, Sign
from gputuner.gui.theme import TEXT_SMALL, Theme

ROW, GROUP = 26, 28
"""Height of a row and of a group's heading in pixels."""
DENSE = 0.85
"""Height of rows that stand close, of ``ROW``."""
EDGE, GAP = 12, 10
"""Pixels at the edges and between columns."""
SIGN = 14
"""Pixels for each sign beside a value."""
NAME_LEAST, BAR_LEAST, BAR_NARROWEST = 44.0, 90.0, 24.0
"""Pixels: names are cut down to the first so that bars have the second; bars narrower than the third are left out."""
NAME_SHARE = 0.6
"""Share that names take at most of what they and the bars have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BarRow:
    """One bar. Lengths are in the row's own unit; ``top`` is the full width. ``point_id`` marks it as evidence."""

    name: str
    text: str
    value: float
    top: float | None
    """None: nothing to compare with, so no bar."""
    colour: str
    reference: float | None = None
    """Drawn as an outlined track behind the bar, with a line at its end (a peak)."""
    mark: float | None = None
    """A further figure to compare with, drawn as a small triangle."""
    band: Band | None = None
    """Drawn as a thin bracket below the bar, a dot where it is one figure."""
    low: float | None = None
    high: float | None = None
    hatched: bool = False
    """Of another run."""
    hollow: bool = False
    """Before a limit took hold."""
    signs: tuple[Sign, ...] = ()
    """What a reader must know of the figure, beside its value."""
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
    """Groups of bars, painted: name, bar, signs, value and note, each in a column as wide as its longest words.

    Notes are never given up: names are cut first (hovering tells them), then bars become narrow.
    """

    def __init__(self, theme: Theme, *, keyed: bool = False, mark: str = "", dense: bool = False) -> None:
        """Nothing yet; ``keyed``: a key of the marks stands above the bars, ``mark``: what a triangle means there.

        ``dense``: rows stand close where there is little room (bars without brackets below them).
        """
        super().__init__()
        self._theme = theme
        self._keyed = keyed
        self._names, self._texts, self._notes, self._signs = 0.0, 0.0, 0.0, 0.0
        self._groups: tuple[BarGroup, ...] = ()
        self._marked: frozenset[str] = frozenset()
        self._at = 0
        self._stretch = self._least = DENSE if dense else 1.0
        self._font = painted(TEXT_SMALL)
        self._marks, self._key = BarMarks(theme), BarKey(theme, mark)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    @property
    def groups(self) -> tuple[BarGroup, ...]:
        """What is shown."""
        return self._groups

    def show_groups(self, groups: Sequence[BarGroup]) -> None:
        """Show these groups."""
        if tuple(groups) != self._groups:
            self._groups, self._at = tuple(groups), 0
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
        self._signs = float(SIGN * max((len(row.signs) for row in rows), default=0))
        notes = widest([row.note for row in rows])
        self._notes = notes + GAP if notes else 0.0
        self._key.show(self._occurring(rows) if self._keyed else Occurring())

    @staticmethod
    def _occurring(rows: list[BarRow]) -> Occurring:
        found = {sign for row in rows for sign in row.signs}
        return Occurring(
            peak=any(row.reference is not None for row in rows),
            sheet=any(row.mark is not None for row in rows),
            published=any(row.band is not None for row in rows),
            cold=any(row.hollow for row in rows),
            other=any(row.hatched for row in rows),
            signs=tuple(sign for sign in Sign if sign in found),
        )

    @property
    def columns(self) -> tuple[float, float, float, float]:
        """Left ends of bar, value and note, and the right end of the notes, in pixels."""
        value = self._left() + self._room() + GAP + self._signs
        return self._left(), value, value + self._texts + GAP, value + self._texts + self._notes

    @property
    def key(self) -> tuple[str, ...]:
        """What the key explains."""
        return self._key.words

    def mark(self, point_ids: frozenset[str]) -> None:
        """Mark the bars of these points as evidence."""
        self._marked = point_ids
        self.update()

    def marked_span(self) -> tuple[int, int] | None:
        """Top and bottom of the first marked bar in pixels; None where no bar is marked."""
        self._stretch = self._roomy()
        for row, y in self._rows():
            if row.point_id and row.point_id in self._marked:
                return int(y), int(y + ROW * self._stretch)
        return None

    def sizeHint(self) -> QSize:
        """Room for all rows."""
        rows = sum(GROUP + ROW * self._least * len(group.rows) for group in self._groups)
        return QSize(400, 16 + int(self._head() + rows))

    def minimumSizeHint(self) -> QSize:
        """Narrow, but wide enough for values and notes."""
        fixed = 2 * EDGE + 2 * GAP + self._signs + self._texts + self._notes
        return QSize(int(max(260.0, fixed + NAME_LEAST)), min(120, self.sizeHint().height()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The key may need more or fewer lines."""
        super().resizeEvent(event)
        if self._keyed and event.size().width() != event.oldSize().width():
            self.updateGeometry()
            if self.minimumHeight():
                self.setMinimumHeight(self.sizeHint().height())

    def row_at(self, y: float) -> BarRow | None:
        """The bar at a height in pixels."""
        return next((row for row, top in self._rows() if top <= y < top + ROW * self._stretch), None)

    def _rows(self) -> Iterator[tuple[BarRow, float]]:
        """All bars with their upper edge in pixels."""
        y = 6.0 + self._head()
        for group in self._groups:
            y += GROUP
            for row in group.rows:
                yield row, y
                y += ROW * self._stretch

    def event(self, event: QEvent) -> bool:
        """Hovering over a bar tells its settings and conditions."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            row = self.row_at(event.pos().y())
            QToolTip.showText(event.globalPos(), row.hint if row else "", self)
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrow keys go from bar to bar and tell what hovering tells."""
        rows = list(self._rows())
        steps = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_Home: -len(rows), Qt.Key.Key_End: len(rows)}
        step = steps.get(Qt.Key(event.key()))
        if step is None or not rows:
            super().keyPressEvent(event)
            return
        self._at = min(max(self._at + step, 0), len(rows) - 1)
        row, top = rows[self._at]
        bottom = int(top + ROW * self._stretch)
        self.setAccessibleName(f"{row.name}, {row.text}")
        self.setAccessibleDescription(row.hint)
        viewport = self.parentWidget()
        area = viewport.parentWidget() if viewport is not None else None
        if isinstance(area, QScrollArea):
            area.ensureVisible(0, (int(top) + bottom) // 2, 0, ROW)
        QToolTip.showText(self.mapToGlobal(QPoint(EDGE, bottom)), row.hint, self)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the key and all groups from the top."""
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(self._theme.surface))
        painter.setFont(self._font)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._stretch = self._roomy()
        self._key.paint(painter, QFontMetricsF(self._font), EDGE, 4, self.width() - 2 * EDGE)
        y = 6.0 + self._head()
        for group in self._groups:
            self._heading(painter, group.title, y)
            y += GROUP
            top = y
            for row in group.rows:
                self._row(painter, row, y)
                y += ROW * self._stretch
            if group.line is not None and group.rows and group.rows[0].top:
                x = self._left() + min(1.0, group.line / group.rows[0].top) * self._room()
                painter.setPen(QPen(QColor(self._theme.text), 1, Qt.PenStyle.DashLine))
                painter.drawLine(QPointF(x, top), QPointF(x, y))
        if self.hasFocus():
            for _row, top in list(self._rows())[self._at : self._at + 1]:
                painter.setPen(QPen(QColor(self._theme.accent), 1.5))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRoundedRect(QRectF(4, top, self.width() - 8, ROW * self._stretch), 4, 4)

    def _head(self) -> float:
        """Pixels that the key takes."""
        return self._key.height(QFontMetricsF(self._font), self.width() - 2 * EDGE)

    def _roomy(self) -> float:
        """Rows grow up to half as high again where there is room."""
        rows = sum(len(group.rows) for group in self._groups)
        spare = self.height() - self.sizeHint().height()
        return self._least + min(1.5 - self._least, max(0.0, spare / max(1, rows * ROW)))

    def _free(self) -> float:
        """Pixels for names and bars together: what values, signs and notes leave."""
        return self.width() - 2 * EDGE - 2 * GAP - self._signs - self._texts - self._notes

    def _named(self) -> float:
        free = self._free()
        if free < NAME_LEAST + BAR_NARROWEST:
            return max(NAME_LEAST, free)
        return min(self._names, max(NAME_LEAST, min(free - BAR_LEAST, NAME_SHARE * free)))

    def _left(self) -> float:
        return EDGE + self._named() + GAP

    def _room(self) -> float:
        """Pixels for the bars; none where there is too little for any."""
        return max(0.0, self._free() - self._named())

    def _heading(self, painter: QPainter, title: str, y: float) -> None:
        painter.setPen(QColor(self._theme.muted))
        room = QRectF(EDGE, y, self.width() - 2 * EDGE, GROUP - 4)
        short = painter.fontMetrics().elidedText(title, Qt.TextElideMode.ElideRight, int(room.width()))
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, short)

    def _row(self, painter: QPainter, row: BarRow, y: float) -> None:
        left, room = self._left(), self._room()
        y += ROW * (self._stretch - 1) / 2
        painter.setPen(QColor(self._theme.text))
        align = Qt.AlignmentFlag.AlignVCenter
        name = painter.fontMetrics().elidedText(row.name, Qt.TextElideMode.ElideRight, int(left - GAP - EDGE) + 1)
        words = BAR_TOP + BAR_HEIGHT / 2 - ROW / 2
        painter.drawText(QRectF(EDGE, y + words, left - GAP - EDGE + 1, ROW), align, name)
        if row.top is not None and room:
            self._bar(painter, row, left, room, y)
        value = left + room + GAP
        for number, sign in enumerate(row.signs):
            self._marks.sign(painter, QRectF(value + SIGN * number, y + words + ROW / 2 - 5, 10, 10), sign)
        value += self._signs
        painter.setPen(QColor(self._theme.text))
        painter.drawText(QRectF(value, y + words, self._texts + 1, ROW), align | Qt.AlignmentFlag.AlignRight, row.text)
        if row.note:
            painter.setPen(QColor(self._theme.muted))
            painter.drawText(QRectF(value + self._texts + GAP, y + words, self._notes, ROW), align, row.note)

    def _bar(self, painter: QPainter, row: BarRow, left: float, room: float, y: float) -> None:
        """The bar with what stands on it."""
        per = room / max(1e-12, row.top or 0.0)

        def at(value: float) -> float:
            return left + min(room, value * per)

        bar = QRectF(left, y + BAR_TOP, at(row.value) - left, BAR_HEIGHT)
        if row.reference is not None:
            self._marks.track(painter, QRectF(left, y + BAR_TOP, at(row.reference) - left, BAR_HEIGHT))
        self._marks.bar(painter, bar, row.colour, hatched=row.hatched, hollow=row.hollow)
        if row.reference is not None:
            self._marks.peak(painter, at(row.reference), y)
        if row.mark is not None and row.mark <= (row.top or 0.0):
            self._marks.triangle(painter, at(row.mark), y, stem=row.mark > row.value)
        if row.band is not None:
            middle = None if row.band.middle is None else at(row.band.middle)
            self._marks.band(painter, at(row.band.low), at(row.band.high), middle, y)
        if row.low is not None and row.high is not None:
            self._marks.interval(painter, at(row.low), at(row.high), y)
        if row.point_id and row.point_id in self._marked:
            painter.setPen(QPen(QColor(self._theme.accent), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(left - 3, y + 3, bar.width() + 6, BAR_HEIGHT + 6), 4, 4)
