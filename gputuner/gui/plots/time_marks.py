# pyright: standard
"""What happened on a time axis: hatched stretches, and moments as lines whose words make room for each other."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QColor

from gputuner.gui.plots.style import pen
from gputuner.gui.theme import Theme, tinted


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Something that happened: a stretch without telemetry (``t1_s`` set) or a moment, in seconds before now (≤ 0)."""

    t0_s: float
    t1_s: float | None
    text: str
    hint: str = ""
    """All that is to be said of it, where ``text`` is short."""
    calm: bool = False
    """Nothing to worry about."""
    short: str = ""
    """What stands for ``text`` where there is no room for it."""


def signs(marks: Sequence[Mark]) -> list[Mark]:
    """The marks without their words, for all pictures of a page but one."""
    return [replace(mark, text=mark.short or mark.text) for mark in marks]


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A rectangle in pixels of the picture: from the left, and up from its lower edge."""

    left: float
    right: float
    low: float
    high: float

    def meets(self, other: "Box") -> bool:
        """True if they overlap."""
        return self.left < other.right and other.left < self.right and self.low < other.high and other.low < self.high


WORDS_PX = 20.0
"""Height of a line of words."""
ZERO_PX = 4.0
"""The lowest words stay so far above the zero line."""
SEE_THROUGH = 150
"""Opacity (of 255) of the ground of words: a curve below stays to be seen."""


class TimeMarks:
    """The marks of one picture."""

    def __init__(self, plot: Any, theme: Theme) -> None:
        self._plot, self._theme = plot, theme
        self._items: list[pg.GraphicsObject] = []
        self._moments: list[tuple[Mark, pg.InfiniteLine]] = []
        self._rows: dict[tuple[str, str], int] = {}
        self.shown: tuple[Mark, ...] = ()
        self.boxes: dict[Mark, Box] = {}
        """Where words stand; a mark that no words had room for is left out."""

    def show(self, marks: Sequence[Mark]) -> bool:
        """Draw them, the words still to be placed; False: they are drawn already."""
        if tuple(marks) == self.shown:
            return False
        self.shown = tuple(marks)
        for item in self._items:
            self._plot.removeItem(item)
        self._items, self._moments = [], []
        for mark in marks:
            item = self._stretch(mark) if mark.t1_s is not None else self._moment(mark)
            item.setToolTip(mark.hint or mark.text)
            self._plot.addItem(item, ignoreBounds=True)
            self._items.append(item)
        return True

    @property
    def words(self) -> dict[Mark, str]:
        """What stands at each moment; "" where there is no room."""
        return {mark: line.label.toPlainText() if line.label.isVisible() else "" for mark, line in self._moments}

    def place(self, span: tuple[float, float], taken: Sequence[Box], crossed: Callable[[Box], float]) -> None:
        """Give each moment the row where its words meet no others and least of the curves; else its short form.

        Args:
            span: first and last second of the picture.
            taken: where other words stand.
            crossed: how much of a box curves run through, 0 to 1.
        """
        view = self._plot.getPlotItem().getViewBox()
        width, height = max(60.0, float(view.width())), max(60.0, float(view.height()))
        self.boxes, filled = {}, list(taken)
        for mark, line in sorted(self._moments, key=lambda each: (each[0].calm, -each[0].t0_s)):
            x = (mark.t0_s - span[0]) / (span[1] - span[0]) * width
            line.label.setVisible(True)  # a hidden one does not take other words
            for text in dict.fromkeys((mark.text, mark.short or mark.text)):
                line.label.setFormat(text)
                wide = float(line.label.boundingRect().width())
                before = x + wide > width
                left = x - wide if before else x
                row = self._row(mark, left, left + wide, height, filled, crossed)
                if row is None or left < 0:
                    continue
                box = _box(row, left, left + wide)
                filled.append(box)
                self.boxes[mark] = box
                self._rows[mark.text, mark.hint] = row
                line.label.anchors = [(1.0, 0.5)] * 2 if before else [(0.0, 0.5)] * 2
                line.label.setPosition((box.low + box.high) / 2 / height)
                break
            else:
                line.label.setVisible(False)

    def _row(
        self,
        mark: Mark,
        left: float,
        right: float,
        height: float,
        filled: Sequence[Box],
        crossed: Callable[[Box], float],
    ) -> int | None:
        """The row for words; that of before, while it is about as good."""
        boxes = {row: _box(row, left, right) for row in range(max(1, int((height - ZERO_PX) // WORDS_PX)))}
        free = {row: box for row, box in boxes.items() if not any(box.meets(other) for other in filled)}
        cost = {row: crossed(box) for row, box in free.items()}
        if not cost:
            return None
        best, before = min(cost, key=lambda row: (cost[row], row)), self._rows.get((mark.text, mark.hint))
        return before if before in cost and cost[before] <= cost[best] + 0.3 else best

    def _moment(self, mark: Mark) -> pg.InfiniteLine:
        ink = self._theme.muted if mark.calm else self._theme.danger
        ground = tinted(self._theme.surface, SEE_THROUGH)
        line = pg.InfiniteLine(
            pos=mark.t0_s,
            angle=90,
            movable=False,
            pen=pen(ink, 1.2),
            label=mark.text,
            labelOpts={"position": 0.1, "color": ink, "fill": ground, "anchors": [(0, 0.5), (0, 0.5)]},
        )
        self._moments.append((mark, line))
        return line

    def _stretch(self, mark: Mark) -> pg.LinearRegionItem:
        hatch = QBrush(QColor(self._theme.strong_line), Qt.BrushStyle.BDiagPattern)
        item = pg.LinearRegionItem((mark.t0_s, mark.t1_s), movable=False, brush=hatch, pen=pen(self._theme.line, 1))
        item.setZValue(-5)
        return item


def _box(row: int, left: float, right: float) -> Box:
    low = ZERO_PX + row * WORDS_PX
    return Box(left=left, right=right, low=low, high=low + WORDS_PX)
