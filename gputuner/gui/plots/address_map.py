# pyright: standard
"""The VRAM by address: a grid of blocks, each with a colour and a pattern for what was found there."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QHelpEvent, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from gputuner.analysis.vram_map import State, VramMap
from gputuner.gui.fonts import painted
from gputuner.gui.theme import TEXT_SMALL, Theme, tinted
from gputuner.language import numbers
from gputuner.language.words import _, ngettext
from gputuner.model.quantities import Limiter

COLUMNS = (16, 32, 64)
"""Blocks in a row: a power of two, so that rows begin at round addresses."""
EDGE, GAP, LINE = 12.0, 8.0, 17.0
"""Pixels at the edges, between words and blocks, and of a line of words."""
LEAST, MOST = 5.0, 26.0
"""Least and most height of a block, pixels."""
SHAPE = 1.6
"""A block is wanted to be so many times wider than tall."""
APART = 40.0
"""Pixels between two addresses that are named."""
KEY = 14.0

_STEPS: dict[int, tuple[int, int]] = {
    Qt.Key.Key_Up: (-1, 0),
    Qt.Key.Key_Down: (1, 0),
    Qt.Key.Key_Left: (0, -1),
    Qt.Key.Key_Right: (0, 1),
}


def state_words() -> dict[State, str]:
    """What the signs mean."""
    return {
        State.UNTESTED: _("not tested"),
        State.COLD: _("sound, at one heat only"),
        State.SOUND: _("sound, cold and hot"),
        State.SLOW: _("slower than the rest"),
        State.ERRORS: _("errors"),
        State.ALIASED: _("shares its cells"),
    }


@dataclass(frozen=True)
class _Grid:
    """Where blocks are: the left top of the first one, and width and height of one with its gap, in pixels."""

    columns: int
    left: float
    top: float
    width: float
    height: float

    def area(self, number: int) -> QRectF:
        """Where a block is, in pixels."""
        row, column = divmod(number, self.columns)
        return QRectF(
            self.left + column * self.width, self.top + row * self.height, self.width - 1.5, self.height - 1.5
        )


class AddressMap(QWidget):
    """Paints a map; arrow keys go from block to block and tell what hovering tells."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.map = VramMap()
        self.counts: Counter[State] = Counter()
        """Blocks of each kind."""
        self._bytes: Counter[State] = Counter()
        self._hints: Mapping[int, str] = {}
        self._marked: frozenset[str] = frozenset()
        self._at = 0
        self._small = painted(TEXT_SMALL)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def show_map(self, shown: VramMap, hints: Mapping[int, str]) -> None:
        """Show a map; ``hints`` by offset. The same again costs nothing."""
        if shown != self.map:
            self._at = min(self._at, max(0, len(shown.stretches) - 1))
            self.map, self._hints = shown, hints
            self.counts = counts = Counter(stretch.state for stretch in shown.stretches)
            self._bytes = Counter()
            for stretch in shown.stretches:
                self._bytes[stretch.state] += stretch.bytes
            told = ", ".join(f"{words} {counts[state]}" for state, words in state_words().items() if counts[state])
            self.setAccessibleName(_("video memory by address: {states}").format(states=told))
            self.update()

    @property
    def legend(self) -> dict[State, str]:
        """The words of the key."""
        return dict(self._entries())

    def mark(self, point_ids: frozenset[str]) -> None:
        """Mark the blocks where these figures found errors."""
        self._marked = point_ids
        self.update()

    def sizeHint(self) -> QSize:
        """Room for blocks that can be pointed at."""
        return QSize(560, 300)

    def minimumSizeHint(self) -> QSize:
        """Room for the least blocks."""
        return QSize(300, 150)

    @property
    def columns(self) -> int:
        """Blocks in a row, so that blocks are about as wide as wanted."""
        return self._columns(self._left(), self._legend_height())

    def _columns(self, left: float, legend: float) -> int:
        count = max(1, len(self.map.stretches))
        width, height = self.width() - 2 * EDGE - left, self.height() - EDGE - legend - GAP

        def off(columns: int) -> float:
            tall = min(MOST, max(LEAST, height / ceil(count / columns)))
            return abs((width / columns) / tall - SHAPE)

        return min(COLUMNS, key=off)

    def area(self, number: int) -> QRectF:
        """Where a block is, in pixels."""
        return self._grid().area(number)

    def event(self, event: QEvent) -> bool:
        """Hovering over a block tells its place and what was found."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            found = self._block_at(QPointF(event.pos()))
            QToolTip.showText(event.globalPos(), "" if found is None else self.hint(found), self)
            return True
        return super().event(event)

    def hint(self, number: int) -> str:
        """What hovering over a block tells."""
        return self._hints.get(self.map.stretches[number].offset, "")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrow keys go from block to block."""
        step = _STEPS.get(event.key())
        count = len(self.map.stretches)
        if step is None or not count:
            super().keyPressEvent(event)
            return
        wanted = self._at + step[0] * self.columns + step[1]
        self._at = wanted if 0 <= wanted < count else self._at
        self.setAccessibleDescription(self.hint(self._at))
        corner = self.area(self._at).bottomLeft().toPoint()
        QToolTip.showText(self.mapToGlobal(QPoint(corner)), self.hint(self._at), self)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint addresses, blocks and the key."""
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(self._theme.surface))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if not self.map.stretches:
            return
        grid = self._grid()
        self._addresses(painter, grid)
        for number, stretch in enumerate(self.map.stretches):
            area = grid.area(number)
            self._block(painter, area, stretch.state)
            if self._marked.intersection(stretch.points):
                painter.setPen(QPen(QColor(self._theme.accent), 2))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRect(area)
        if self.hasFocus():
            painter.setPen(QPen(QColor(self._theme.accent), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(grid.area(self._at).adjusted(-1, -1, 1, 1))
        self._legend(painter)

    def _block_at(self, spot: QPointF) -> int | None:
        grid = self._grid()
        column, row = int((spot.x() - grid.left) // grid.width), int((spot.y() - grid.top) // grid.height)
        number = row * grid.columns + column
        inside = 0 <= column < grid.columns and row >= 0 and number < len(self.map.stretches)
        return number if inside else None

    def _left(self) -> float:
        """Room for the addresses."""
        widest = numbers.value(self.map.total_bytes, "bytes")
        return QFontMetricsF(self._small).horizontalAdvance(f"{widest}0") + GAP

    def _grid(self) -> _Grid:
        """The blocks as the widget's size and the key leave them room; found once for all that is painted."""
        beside, legend = self._left(), self._legend_height()
        columns = self._columns(beside, legend)
        left, top = EDGE + beside, EDGE / 2
        rows = ceil(max(1, len(self.map.stretches)) / columns)
        width = max(3.0, (self.width() - left - EDGE) / columns)
        height = min(MOST, max(LEAST, (self.height() - top - GAP - legend) / rows))
        return _Grid(columns, left, top, width, height)

    def _addresses(self, painter: QPainter, grid: _Grid) -> None:
        rows = ceil(len(self.map.stretches) / grid.columns)
        every = 1
        while every * grid.height < APART:
            every *= 2
        painter.setFont(self._small)
        painter.setPen(QColor(self._theme.muted))
        right = int(Qt.AlignmentFlag.AlignRight) | int(Qt.AlignmentFlag.AlignVCenter)
        for row in range(0, rows, every):
            words = numbers.value(row * grid.columns * self.map.stretch_bytes, "bytes") if row else "0"
            room = QRectF(0, grid.top + row * grid.height + (grid.height - LINE) / 2, grid.left - GAP, LINE)
            painter.drawText(room.translated(0, max(0.0, -room.top())), right, words)

    def _block(self, painter: QPainter, area: QRectF, state: State) -> None:
        theme = self._theme
        calm = theme.limiter(Limiter.NONE)
        grounds = {
            State.UNTESTED: QColor(theme.surface),
            State.COLD: tinted(calm, 110),
            State.SOUND: QColor(calm),
            State.SLOW: QColor(theme.yellow),
            State.ERRORS: QColor(theme.danger),
            State.ALIASED: QColor(theme.purple),
        }
        painter.fillRect(area, grounds[state])
        if state is State.UNTESTED:
            painter.fillRect(area, QColor(theme.sunk))
            self._line(painter, [(area.bottomLeft(), area.topRight())], theme.strong_line, 0.8)
        elif state is State.ERRORS:
            crossed = [(area.topLeft(), area.bottomRight()), (area.bottomLeft(), area.topRight())]
            self._line(painter, crossed, theme.surface, 1.6)
        elif state is State.ALIASED:
            self._line(painter, [self._level(area, 0.33), self._level(area, 0.67)], theme.surface, 1.6)
        elif state is State.SLOW:
            self._line(painter, [self._level(area, 0.5)], theme.text, 1.6)

    @staticmethod
    def _level(area: QRectF, share: float) -> tuple[QPointF, QPointF]:
        y = area.top() + share * area.height()
        return QPointF(area.left() + 1, y), QPointF(area.right() - 1, y)

    @staticmethod
    def _line(painter: QPainter, lines: list[tuple[QPointF, QPointF]], colour: str, width: float) -> None:
        painter.setPen(QPen(QColor(colour), width))
        for one, other in lines:
            painter.drawLine(one, other)

    def _entries(self) -> list[tuple[State, str]]:
        """The key: what is there, and what would be the trouble."""
        counts = self.counts
        return [
            (state, _("{name}: {value}").format(name=words, value=self._much(state)) if counts[state] else words)
            for state, words in state_words().items()
            if counts[state] or state in (State.SOUND, State.ERRORS)
        ]

    def _much(self, state: State) -> str:
        """How much is so: of faults the blocks they lie in, for a block is far larger than what is wrong in it."""
        if state not in (State.ERRORS, State.ALIASED):
            return numbers.value(self._bytes[state], "bytes")
        count = self.counts[state]
        told = ngettext("{count} block of {size}", "{count} blocks of {size}", count)
        return told.format(count=count, size=numbers.value(self.map.stretch_bytes, "bytes"))

    def _legend_places(self) -> list[tuple[State, str, float, float]]:
        metrics = QFontMetricsF(self._small)
        x, y = EDGE + self._left(), 0.0
        places: list[tuple[State, str, float, float]] = []
        for state, words in self._entries():
            wide = KEY + 6 + metrics.horizontalAdvance(words) + 16
            if x + wide > self.width() - EDGE / 2 and places:
                x, y = EDGE + self._left(), y + LINE + 2
            places.append((state, words, x, y))
            x += wide
        return places

    def _legend_height(self) -> float:
        return max((y for _state, _words, _x, y in self._legend_places()), default=0.0) + LINE + GAP

    def _legend(self, painter: QPainter) -> None:
        top = self.height() - self._legend_height() + GAP / 2
        painter.setFont(self._small)
        for state, words, x, y in self._legend_places():
            self._block(painter, QRectF(x, top + y + 2, KEY, LINE - 5), state)
            painter.setPen(QColor(self._theme.muted))
            painter.drawText(QRectF(x + KEY + 6, top + y, 600, LINE), Qt.AlignmentFlag.AlignVCenter, words)
