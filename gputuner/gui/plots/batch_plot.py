# pyright: standard
"""Pictures over batch size: training rate with intervals on a logarithmic axis, memory on a linear one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log2

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QBrush, QColor

from gputuner.gui.plots.batches import BatchDot, BatchMark, BatchSeries
from gputuner.gui.plots.frame import PictureFrame
from gputuner.gui.plots.labelling import (
    Box,
    Segment,
    Spot,
    Words,
    along_level,
    beside_dot,
    beside_upright,
    place,
)
from gputuner.gui.plots.style import FixedAxis, dashes, pen, plain_plot, round_up, tight_text, title_axis
from gputuner.gui.theme import Theme
from gputuner.language.numbers import number
from gputuner.language.words import _


class BatchAxis(pg.AxisItem):
    """An axis with the measured batches as ticks (those that have room); ``place`` maps a batch to the axis."""

    def __init__(self, place: Callable[[float], float]) -> None:
        super().__init__("bottom")
        self._place = place
        self.batches: list[int] = []
        self._texts: dict[float, str] = {}

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:
        """The batches, thinned where they would touch."""
        per_unit = size / max(1e-9, maxVal - minVal)
        chosen: list[float] = []
        for batch in sorted(self.batches, reverse=True):
            at = self._place(batch)
            if minVal <= at <= maxVal and (not chosen or (chosen[-1] - at) * per_unit > 36):
                chosen.append(at)
                self._texts[at] = str(batch)
        return [(1.0, chosen)]

    def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
        """Batches as plain numbers."""
        return [self._texts.get(value, "") for value in values]


DOT_ROOM = 6.0
"""Pixels that a dot on the lower edge needs below its middle."""
LABEL_GAP = 14.0
"""Pixels between a dot, its label and the edge."""


@dataclass(slots=True)
class _Label:
    """A word to place: beside a dot (both ``x`` and ``y``), an upright line (``x``) or a level one (``y``)."""

    item: pg.TextItem
    x: float | None
    y: float | None
    colour: str
    box: Box | None = None


class BatchPlot(PictureFrame):
    """Values against batch, with labels at the lines' ends that do not collide."""

    spanned = Signal(float, float)
    """Ends of the axis, in its own places, after they were chosen: a picture below it can take them over."""

    def __init__(self, theme: Theme, title: str, unit: str, linear: bool = False) -> None:
        super().__init__(title, unit)
        self._theme = theme
        self._at: Callable[[float], float] = float if linear else _log2
        self._axis = BatchAxis(self._at)
        self.plot = plain_plot(theme, FixedAxis("left", lambda value: number(value, 3), width=46), self._axis)
        title_axis(self.plot, theme, _("batch size"))
        self.set_picture(self.plot)
        self._series: tuple[BatchSeries, ...] = ()
        self._marks: tuple[BatchMark, ...] = ()
        self._limit: tuple[str, float] | None = None
        self._marked: frozenset[str] = frozenset()
        self._ticks: frozenset[int] = frozenset()
        self._labels: list[_Label] = []
        self._leaders: list[pg.PlotDataItem] = []
        self._top, self._low = 1.0, 0.0
        self._span = (0.0, 1.0)
        self._shown = (0.0, 1.0)
        self._ends: tuple[float, float] | None = None
        self._forced: tuple[float, float] | None = None
        self._hint = pg.TextItem("", color=theme.muted, anchor=(0.5, 0.5))
        self.plot.getPlotItem().getViewBox().sigResized.connect(self._place_labels)

    @property
    def series(self) -> tuple[BatchSeries, ...]:
        """What is shown."""
        return self._series

    @property
    def marks(self) -> tuple[BatchMark, ...]:
        """The batches that are marked."""
        return self._marks

    @property
    def limit(self) -> tuple[str, float] | None:
        """The level line: its words and its value."""
        return self._limit

    @property
    def label_boxes(self) -> dict[str, Box]:
        """Where the labels stand, in pixels of the plot's area, by their words."""
        return {label.item.toPlainText(): label.box for label in self._labels if label.box is not None}

    @property
    def dot_spots(self) -> list[Spot]:
        """Where the dots are, in pixels of the plot's area."""
        return [self._pixel(self._at(dot.batch), dot.value) for series in self._series for dot in series.dots]

    def show_series(
        self,
        series: Sequence[BatchSeries],
        marks: Sequence[BatchMark] = (),
        limit: tuple[str, float] | None = None,
        batches: tuple[float, float] | None = None,
        ticks: Sequence[int] = (),
    ) -> None:
        """Show series, marks and a horizontal limit (its words, its value).

        ``batches`` gives the axis' ends, ``ticks`` further batches to name on it.
        """
        self._series, self._marks, self._limit, self._ticks = tuple(series), tuple(marks), limit, frozenset(ticks)
        self._draw(batches)

    def align(self, left: float, right: float) -> None:
        """Take over the ends of another picture's axis (places, not batches)."""
        if (left, right) != self._forced:
            self._forced = left, right
            self._place_labels()

    def show_hint(self, text: str) -> None:
        """A sentence in the middle of an empty picture ("" takes it away)."""
        self._hint.setText(text)
        self._draw(self._ends)

    @property
    def hint(self) -> str:
        """The sentence in the middle."""
        return "" if self._series else self._hint.toPlainText()

    def mark(self, point_ids: frozenset[str]) -> None:
        """Ring the dots of these points as evidence."""
        if point_ids != self._marked:
            self._marked = point_ids
            self._draw(self._ends)

    def _draw(self, batches: tuple[float, float] | None) -> None:
        self._ends = batches
        self.plot.clear()
        self._labels, self._leaders = [], []
        values = [v for s in self._series for d in s.dots for v in (d.value, d.high) if v is not None]
        if self._limit is not None:
            values.append(self._limit[1])
        self._top = round_up(max(values, default=1.0) * 1.08)
        known = sorted({dot.batch for s in self._series for dot in s.dots})
        self._axis.batches = sorted(self._ticks.union(known))
        low, high = batches or ((known[0], known[-1]) if known else (1, 2))
        room = max(0.1, self._at(high) - self._at(low)) * 0.03
        self._span = (self._at(low) - room, self._at(high) + room)
        for series in self._series:
            self._add_series(series)
        if self._limit is not None:
            self._add_limit(self._limit[1])
        for mark in self._marks:
            self._add_mark(mark)
        self._place_labels()
        self._add_hint()

    def _add_hint(self) -> None:
        self.plot.getPlotItem().getAxis("left").setStyle(showValues=bool(self._series))
        if self.hint:
            left, right = self._shown
            self._hint.setPos((left + right) / 2, self._top / 2)
            self.plot.addItem(self._hint, ignoreBounds=True)

    def _add_series(self, series: BatchSeries) -> None:
        fits = sorted((d for d in series.dots if not d.failed), key=lambda d: d.batch)
        style = Qt.PenStyle.DashLine if series.dashed else Qt.PenStyle.SolidLine
        if series.line:
            xs = np.array([self._at(b) for b, _v in series.line])
            ys = np.array([v for _b, v in series.line])
            self._add_line(xs, ys, series.colour, 1.5, style)
        elif series.joined and len(fits) > 1:
            xs = np.array([self._at(d.batch) for d in fits])
            ys = np.array([d.value for d in fits])
            self._add_line(xs, ys, series.colour, 1.8, style)
        for dot in series.dots:
            self._add_dot(dot, series.colour)

    def _add_line(
        self, xs: NDArray[np.float64], ys: NDArray[np.float64], colour: str, width: float, style: Qt.PenStyle
    ) -> None:
        line = pg.PlotDataItem(xs, ys, pen=pen(colour, width, style), antialias=True)
        line.setZValue(1)
        self.plot.addItem(line)

    def _make_labels(self) -> None:
        for label in self._labels:
            self.plot.removeItem(label.item)
        self._labels = []
        for cluster in self._clusters():
            last = max(cluster[0].dots, key=lambda dot: dot.batch)
            parts = [(series.name, series.colour) for series in cluster]
            self._label(parts, self._at(last.batch), last.value)
        if self._limit is not None:
            self._label([(self._limit[0], self._theme.muted)], None, self._limit[1])
        for mark in self._marks:
            self._label([(mark.text, mark.colour)], self._at(mark.batch), None)

    def _clusters(self) -> list[list[BatchSeries]]:
        """Series that share a label: single dots of one batch that lie on top of each other."""
        near = 10.0 / self._room()[1] * self._top
        clusters: list[list[BatchSeries]] = []
        for series in sorted((s for s in self._series if any(not d.failed for d in s.dots)), key=_rank):
            before = clusters[-1][-1] if clusters else None
            if before is not None and len(before.dots) == 1 == len(series.dots):
                one, other = before.dots[0], series.dots[0]
                if one.batch == other.batch and abs(one.value - other.value) < near:
                    clusters[-1].append(series)
                    continue
            clusters.append([series])
        return clusters

    def _label(self, parts: Sequence[tuple[str, str]], x: float | None, y: float | None) -> None:
        inks = [(text, self._theme.ink(colour)) for text, colour in parts]
        item = tight_text(inks)
        item.fill = QBrush(QColor(self._theme.surface))  # where words must cross a line, they interrupt it
        item.setZValue(2.5)  # over lines, under dots
        self.plot.addItem(item, ignoreBounds=True)
        self._labels.append(_Label(item, x, y, inks[0][1]))

    def _add_dot(self, dot: BatchDot, colour: str) -> None:
        x = self._at(dot.batch)
        if dot.low is not None and dot.high is not None:
            bar = pg.PlotDataItem(np.array([x, x]), np.array([dot.low, dot.high]), pen=pen(colour, 1.4))
            bar.setZValue(2)
            self.plot.addItem(bar)
        scatter = pg.ScatterPlotItem(
            [x],
            [dot.value],
            symbol="x" if dot.failed else "o",
            size=11 if dot.failed else 8,
            pen=pen(self._theme.danger if dot.failed else colour, 1.6),
            brush=QBrush(QColor(self._theme.surface if dot.checked else colour)),
            hoverable=True,
            tip=None,
        )
        scatter.setToolTip(dot.hint)
        scatter.setZValue(3)
        self.plot.addItem(scatter)
        if dot.point_id and dot.point_id in self._marked:
            ring = pg.ScatterPlotItem([x], [dot.value], symbol="o", size=18, pen=pen(self._theme.accent, 2), brush=None)
            self.plot.addItem(ring)

    def _add_mark(self, mark: BatchMark) -> None:
        ink = dashes(mark.colour) if mark.dashed else pen(mark.colour, 1.2)
        line = pg.InfiniteLine(pos=self._at(mark.batch), angle=90, movable=False, pen=ink)
        self.plot.addItem(line, ignoreBounds=True)

    def _add_limit(self, value: float) -> None:
        line = pg.InfiniteLine(pos=value, angle=0, movable=False, pen=dashes(self._theme.muted))
        self.plot.addItem(line, ignoreBounds=True)

    def _room(self) -> tuple[float, float]:
        box = self.plot.getPlotItem().getViewBox()
        return max(60.0, float(box.width())), max(20.0, float(box.height()))

    def _pixel(self, x: float, y: float) -> Spot:
        width, height = self._room()
        left, right = self._shown
        return (x - left) / (right - left) * width, height - (y - self._low) / (self._top - self._low) * height

    def _place_labels(self) -> None:
        self._make_labels()
        width, height = self._room()
        left, right = self._span
        for label in self._labels:
            if label.x is not None:
                share = min(0.6, (float(label.item.boundingRect().width()) + LABEL_GAP) / width)
                right = max(right, left + (label.x - left) / (1 - share))
        if self._forced is not None:
            left, right = self._forced
        self._shown = left, right
        self.plot.setXRange(left, right, padding=0)
        self._show_height(height)
        self.spanned.emit(left, right)
        area = Box(0, 0, width, height)
        wanted = [self._places(label, area) for label in self._labels]
        boxes = place(wanted, self._dot_boxes(), self._segments(), area)
        for leader in self._leaders:
            self.plot.removeItem(leader)
        self._leaders = []
        for label, words, box in zip(self._labels, wanted, boxes, strict=True):
            label.box = box
            label.item.setPos(*self._value(box.left, box.top))
            leader = words.leader(box)
            if leader is not None:
                self._lead(leader, label.colour)

    def _show_height(self, height: float) -> None:
        """From zero, or as far below it as a dot near zero needs to be whole."""
        lowest = min((dot.value for series in self._series for dot in series.dots), default=self._top)
        room = DOT_ROOM if lowest / self._top * height < DOT_ROOM else 0.0
        self._low = -self._top * room / max(1.0, height - room)
        self.plot.setYRange(self._low, self._top, padding=0)

    def _places(self, label: _Label, area: Box) -> Words:
        size = label.item.boundingRect()
        width, height = float(size.width()), float(size.height())
        if label.x is not None and label.y is not None:
            return beside_dot(*self._pixel(label.x, label.y), width, height, area.height)
        if label.x is not None:
            uprights = [self._pixel(self._at(mark.batch), 0.0)[0] for mark in self._marks]
            return beside_upright(self._pixel(label.x, 0.0)[0], width, height, area, uprights)
        return along_level(self._pixel(0.0, label.y or 0.0)[1], width, height, area)

    def _lead(self, leader: Segment, colour: str) -> None:
        """A thin line from a dot to its label, where the label had to go away from it."""
        xs, ys = zip(*(self._value(*end) for end in leader), strict=True)
        line = pg.PlotDataItem(np.array(xs), np.array(ys), pen=pen(colour, 0.8), antialias=True)
        self.plot.addItem(line, ignoreBounds=True)
        self._leaders.append(line)

    def _value(self, x: float, y: float) -> Spot:
        width, height = self._room()
        left, right = self._shown
        return left + x / width * (right - left), self._low + (height - y) / height * (self._top - self._low)

    def _dot_boxes(self) -> list[Box]:
        return [Box(x - 6, y - 6, 12, 12) for x, y in self.dot_spots]

    def _segments(self) -> list[Segment]:
        width, height = self._room()
        lines: list[Segment] = []
        for series in self._series:
            fits = sorted((d.batch, d.value) for d in series.dots if not d.failed)
            path = list(series.line[::6]) + list(series.line[-1:]) if series.line else fits if series.joined else []
            spots = [self._pixel(self._at(batch), value) for batch, value in path]
            lines += list(pairwise(spots))
        for mark in self._marks:
            x, _y = self._pixel(self._at(mark.batch), 0.0)
            lines.append(((x, 0.0), (x, height)))
        if self._limit is not None:
            _x, y = self._pixel(0.0, self._limit[1])
            lines.append(((0.0, y), (width, y)))
        return lines


def _rank(series: BatchSeries) -> tuple[bool, float]:
    """Whole curves are named first, then single dots from the highest to the lowest."""
    return len(series.dots) == 1, -max((dot.value for dot in series.dots), default=0.0)


def _log2(batch: float) -> float:
    return log2(max(1.0, batch))
