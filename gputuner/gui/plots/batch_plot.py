# pyright: standard
"""Pictures over batch size: training rate with intervals on a logarithmic axis, memory on a linear one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log2

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QColor

from gputuner.gui.plots.frame import PictureFrame
from gputuner.gui.plots.style import FixedAxis, pen, plain_plot, round_up, spread_apart
from gputuner.gui.theme import Theme, tinted
from gputuner.language.numbers import number


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchDot:
    """One measured batch: value, interval, and whether it only checked a prediction or did not fit."""

    batch: int
    value: float
    low: float | None = None
    high: float | None = None
    checked: bool = False
    failed: bool = False
    point_id: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSeries:
    """One line of dots; ``line`` gives batch–value pairs of a fitted line drawn instead of joining the dots."""

    name: str
    colour: str
    dots: tuple[BatchDot, ...]
    joined: bool = True
    line: tuple[tuple[float, float], ...] = ()
    dashed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchMark:
    """A vertical line at a batch with a word."""

    batch: float
    text: str
    colour: str
    dashed: bool = False


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


LABEL_GAP = 14.0
"""Pixels between a dot, its label and the edge."""


class BatchPlot(PictureFrame):
    """Values against batch, with labels at the lines' ends that do not collide."""

    def __init__(self, theme: Theme, title: str, unit: str, linear: bool = False) -> None:
        super().__init__(title, unit)
        self._theme = theme
        self._at: Callable[[float], float] = float if linear else _log2
        self._axis = BatchAxis(self._at)
        self.plot = plain_plot(theme, FixedAxis("left", lambda value: number(value, 3), width=46), self._axis)
        self.set_picture(self.plot)
        self._series: tuple[BatchSeries, ...] = ()
        self._marks: tuple[BatchMark, ...] = ()
        self._limit: tuple[str, float] | None = None
        self._marked: frozenset[str] = frozenset()
        self._labels: list[tuple[pg.TextItem, float, float]] = []
        self._top = 1.0
        self._span = (0.0, 1.0)
        self._ends: tuple[float, float] | None = None
        self.plot.getPlotItem().getViewBox().sigResized.connect(self._place_labels)

    @property
    def series(self) -> tuple[BatchSeries, ...]:
        """What is shown."""
        return self._series

    @property
    def label_tops(self) -> list[float]:
        """Heights of the end labels in the plot's unit, top first."""
        return sorted((float(item.pos().y()) for item, _x, _y in self._labels), reverse=True)

    def show_series(
        self,
        series: Sequence[BatchSeries],
        marks: Sequence[BatchMark] = (),
        limit: tuple[str, float] | None = None,
        batches: tuple[float, float] | None = None,
    ) -> None:
        """Show series, marks and a horizontal limit (its words, its value); ``batches`` gives the axis' ends."""
        self._series, self._marks, self._limit = tuple(series), tuple(marks), limit
        self._draw(batches)

    def mark(self, point_ids: frozenset[str]) -> None:
        """Ring the dots of these points as evidence."""
        if point_ids != self._marked:
            self._marked = point_ids
            self._draw(self._ends)

    def _draw(self, batches: tuple[float, float] | None) -> None:
        self._ends = batches
        self.plot.clear()
        self._labels = []
        values = [v for s in self._series for d in s.dots for v in (d.value, d.high) if v is not None]
        if self._limit is not None:
            values.append(self._limit[1])
        self._top = round_up(max(values, default=1.0) * 1.08)
        known = sorted({dot.batch for s in self._series for dot in s.dots})
        self._axis.batches = known
        low, high = batches or ((known[0], known[-1]) if known else (1, 2))
        room = max(0.1, self._at(high) - self._at(low)) * 0.03
        self._span = (self._at(low) - room, self._at(high) + room)
        self.plot.setYRange(0, self._top, padding=0)
        for place, mark in enumerate(self._marks):
            self._add_mark(mark, 0.07 + 0.13 * (place % 4))
        if self._limit is not None:
            self._add_limit(*self._limit)
        for series in self._series:
            self._add_series(series)
        self._place_labels()

    def _add_series(self, series: BatchSeries) -> None:
        fits = sorted((d for d in series.dots if not d.failed), key=lambda d: d.batch)
        style = Qt.PenStyle.DashLine if series.dashed else Qt.PenStyle.SolidLine
        if series.line:
            xs = np.array([self._at(b) for b, _v in series.line])
            ys = np.array([v for _b, v in series.line])
            self.plot.addItem(pg.PlotDataItem(xs, ys, pen=pen(series.colour, 1.5, style)))
        elif series.joined and len(fits) > 1:
            xs = np.array([self._at(d.batch) for d in fits])
            ys = np.array([d.value for d in fits])
            self.plot.addItem(pg.PlotDataItem(xs, ys, pen=pen(series.colour, 1.8, style)))
        for dot in series.dots:
            self._add_dot(dot, series.colour)
        if fits:
            ground = tinted(self._theme.surface, 160)
            text = pg.TextItem(series.name, color=series.colour, anchor=(0, 0.5), fill=ground)
            text.setZValue(5)
            self.plot.addItem(text, ignoreBounds=True)
            last = max(dot.batch for dot in series.dots)
            self._labels.append((text, self._at(last), fits[-1].value))

    def _add_dot(self, dot: BatchDot, colour: str) -> None:
        x = self._at(dot.batch)
        if dot.low is not None and dot.high is not None:
            bar = pg.PlotDataItem(np.array([x, x]), np.array([dot.low, dot.high]), pen=pen(colour, 1.4))
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
        self.plot.addItem(scatter)
        if dot.point_id and dot.point_id in self._marked:
            ring = pg.ScatterPlotItem([x], [dot.value], symbol="o", size=18, pen=pen(self._theme.accent, 2), brush=None)
            self.plot.addItem(ring)

    def _add_mark(self, mark: BatchMark, height: float) -> None:
        style = Qt.PenStyle.DashLine if mark.dashed else Qt.PenStyle.SolidLine
        line = pg.InfiniteLine(
            pos=self._at(mark.batch),
            angle=90,
            movable=False,
            pen=pen(mark.colour, 1.2, style),
            label=mark.text,
            labelOpts={
                "position": height,
                "color": mark.colour,
                "fill": tinted(self._theme.surface, 220),
                "anchors": [(1, 0.5), (1, 0.5)],
            },
        )
        self.plot.addItem(line, ignoreBounds=True)

    def _add_limit(self, words: str, value: float) -> None:
        line = pg.InfiniteLine(
            pos=value,
            angle=0,
            movable=False,
            pen=pen(self._theme.muted, 1.2, Qt.PenStyle.DashLine),
            label=words,
            labelOpts={"position": 0.03, "color": self._theme.muted, "anchors": [(0, 1), (0, 1)]},
        )
        self.plot.addItem(line, ignoreBounds=True)

    def _place_labels(self) -> None:
        box = self.plot.getPlotItem().getViewBox()
        height, width = max(20.0, float(box.height())), max(60.0, float(box.width()))
        left, right = self._span
        for item, x, _y in self._labels:
            share = min(0.6, (float(item.boundingRect().width()) + LABEL_GAP) / width)
            right = max(right, left + (x - left) / (1 - share))
        self.plot.setXRange(left, right, padding=0)
        per = height / self._top
        wanted = [height - y * per for _item, _x, y in self._labels]
        placed = spread_apart(wanted, 16.0, 8.0, height - 8.0)
        gap = LABEL_GAP / 2 * (right - left) / width
        for (item, x, _y), pixel in zip(self._labels, placed, strict=True):
            item.setPos(x + gap, (height - pixel) / per)


def _log2(batch: float) -> float:
    return log2(max(1.0, batch))
