# pyright: standard
"""Curves and single dots on two scales of choice, with named stretches, marks, and labels that do not collide."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QColor, QPen

from gputuner.gui.plots.curves import Area, Dot, Series, Stretch, Upright
from gputuner.gui.plots.frame import PictureFrame
from gputuner.gui.plots.labelling import Box, Segment, Spot, Words, along_level, beside_dot, beside_upright, place
from gputuner.gui.plots.scales import Scale, ScaleAxis
from gputuner.gui.plots.style import dashes, pen, plain_plot, round_up, tight_text, tinted_span, title_axis
from gputuner.gui.theme import Theme, tinted

LABEL_GAP = 14.0
"""Pixels between a dot, its label and the edge."""
HEAD = 20.0
"""Pixels above the curves for the names of stretches."""
TOGETHER = 24.0
"""Ends of lines closer than this in pixels share a label."""
DOUBLINGS = 1.5
"""Room above and below figures on a scale of powers of two."""
ALONE = 0.05
"""Room beside the only place of a level axis, as a share of it."""
AREA = 60
"""Opacity of areas, of 255."""
BAND = 45
"""Opacity of intervals of upright lines, of 255."""
CROWD = 60
"""Among more dots than this words find no room along a level line."""
DOTS_AT_MOST = 160
"""More dots than this are drawn small."""


@dataclass(slots=True)
class _Label:
    item: pg.TextItem
    spot: Spot | None
    upright: float | None
    stretch: Stretch | None
    colour: str
    level: bool = False
    """Names a dashed level line: its words stand along it."""
    box: Box | None = None


class CurvePlot(PictureFrame):
    """Series over a scale; values start at zero on a linear scale."""

    def __init__(
        self, theme: Theme, title: str, unit: str, x_title: str, x_scale: Scale, y_scale: Scale, y_title: str = ""
    ) -> None:
        super().__init__(title, unit)
        self._theme, self._x, self._y = theme, x_scale, y_scale
        left, self._bottom = ScaleAxis("left", y_scale, 26), ScaleAxis("bottom", x_scale, 62)
        self.plot = plain_plot(theme, left, self._bottom)
        title_axis(self.plot, theme, x_title)
        title_axis(self.plot, theme, y_title, "left")
        self.set_picture(self.plot)
        self.series: tuple[Series, ...] = ()
        self.stretches: tuple[Stretch, ...] = ()
        self.uprights: tuple[Upright, ...] = ()
        self.areas: tuple[Area, ...] = ()
        self.reach: tuple[float, ...] = ()
        self._marked: frozenset[str] = frozenset()
        self._labels: list[_Label] = []
        self._leaders: list[pg.PlotDataItem] = []
        self._span, self._shown, self._height = (0.0, 1.0), (0.0, 1.0), (0.0, 1.0)
        self.plot.getPlotItem().getViewBox().sigResized.connect(self._place_labels)

    def name_setting(self, text: str) -> None:
        """Change what the horizontal axis counts."""
        title_axis(self.plot, self._theme, text)

    @property
    def label_boxes(self) -> dict[str, Box]:
        """Where the labels stand, in pixels of the plot's area, by their words."""
        return {label.item.toPlainText(): label.box for label in self._labels if label.box is not None}

    @property
    def dot_spots(self) -> list[Spot]:
        """Where the dots are, in pixels of the plot's area."""
        return [self._pixel(self._spot(dot)) for series in self.series for dot in series.dots]

    def show_series(
        self,
        series: Sequence[Series],
        stretches: Sequence[Stretch] = (),
        uprights: Sequence[Upright] = (),
        areas: Sequence[Area] = (),
        ticks: Sequence[float] = (),
        reach: Sequence[float] = (),
    ) -> None:
        """Show these; the same again costs nothing.

        ``ticks``: values to name below instead of round ones; ``reach``: values that the horizontal axis has to show.
        """
        self._bottom.wanted = tuple(self._x.place(value) for value in ticks)
        wanted = tuple(series), tuple(stretches), tuple(uprights), tuple(areas), tuple(reach)
        if wanted != (self.series, self.stretches, self.uprights, self.areas, self.reach):
            self.series, self.stretches, self.uprights, self.areas, self.reach = wanted
            self._draw()

    def mark(self, point_ids: frozenset[str]) -> None:
        """Ring the dots of these points."""
        if point_ids != self._marked:
            self._marked = point_ids
            self._draw()

    def _draw(self) -> None:
        self.plot.clear()
        self._labels, self._leaders = [], []
        if not self.series:
            return
        self._fit()
        for number, stretch in enumerate(self.stretches):
            self._add_stretch(stretch, shaded=number % 2 == 0)
        for area in self.areas:
            self._add_area(area)
        for series in self.series:
            self._add_series(series)
        for upright in self.uprights:
            for low, high in upright.bands:
                band = tinted_span(self._x.place(low), self._x.place(high), tinted(self._theme.muted, BAND))
                self.plot.addItem(band, ignoreBounds=True)
            line = pg.InfiniteLine(
                pos=self._x.place(upright.x), angle=90, movable=False, pen=dashes(self._theme.strong_line)
            )
            self.plot.addItem(line, ignoreBounds=True)
        self._place_labels()

    def _fit(self) -> None:
        """Choose the ends of both axes from what is shown."""
        spots = [self._spot(dot) for s in self.series for dot in s.dots]
        spots += [self._place(spot) for s in self.series for spot in s.path]
        spots += [
            self._place(spot) for a in self.areas for ys in (a.low, a.high) for spot in zip(a.xs, ys, strict=True)
        ]
        xs, ys = [x for x, _y in spots], [y for _x, y in spots]
        xs += [self._x.place(x) for stretch in self.stretches for x in (stretch.x0, stretch.x1)]
        xs += [self._x.place(x) for x in self.reach]
        room = max(0.1, max(xs) - min(xs)) * 0.02
        if not self._x.base and max(xs) == min(xs):
            room = max(room, abs(xs[0]) * ALONE)
            self._bottom.wanted = self._bottom.wanted or (xs[0],)
        self._span = min(xs) - room, max(xs) + room
        self._bottom.last = max(xs) + room
        if self._y.base or not self._y.zero:
            low, high = min(ys), max(ys)
            least = {0: max(abs(high), abs(low), 1e-9) * 0.02, 2: DOUBLINGS}.get(self._y.base, 0.15)
            margin = max(least, (high - low) * 0.06)
            self._height = low - margin, high + margin
        else:
            highs = [dot.high for s in self.series for dot in s.dots if dot.high is not None]
            box_height = max(60.0, float(self.plot.getPlotItem().getViewBox().height()))
            head = 1.0 / (1.0 - HEAD / box_height) if self.stretches else 1.04
            self._height = 0.0, round_up(max([*ys, *highs]) * head)
        self.plot.setYRange(*self._height, padding=0)

    def _add_stretch(self, stretch: Stretch, shaded: bool) -> None:
        ends = self._x.place(stretch.x0), self._x.place(stretch.x1)
        fill = QBrush(tinted(self._theme.sunk, 130)) if shaded else QBrush(Qt.BrushStyle.NoBrush)
        if stretch.hatched:
            fill = QBrush(QColor(self._theme.line), Qt.BrushStyle.BDiagPattern)
        item = pg.LinearRegionItem(ends, movable=False, brush=fill, pen=pen(self._theme.strong_line, 1))
        item.setZValue(-5)
        self.plot.addItem(item, ignoreBounds=True)

    def _add_area(self, area: Area) -> None:
        """Filled between its curves, behind everything."""
        xs = np.array([self._x.place(x) for x in area.xs])
        edges = [
            pg.PlotDataItem(xs, np.array([self._y.place(y) for y in ys]), pen=pen(area.colour, 0.6))
            for ys in (area.low, area.high)
        ]
        fill = pg.FillBetweenItem(*edges, brush=QBrush(tinted(area.colour, AREA)))
        fill.setZValue(-4)
        for item in (fill, *edges):
            self.plot.addItem(item, ignoreBounds=True)

    def _add_series(self, series: Series) -> None:
        style = Qt.PenStyle.DashLine if series.dashed else Qt.PenStyle.SolidLine
        spots = [self._place(spot) for spot in series.path]
        if series.joined and len(series.dots) > 1:
            spots = sorted(self._spot(dot) for dot in series.dots)
        if len(spots) > 1:
            xs, ys = zip(*spots, strict=True)
            line = pg.PlotDataItem(np.array(xs), np.array(ys), pen=pen(series.colour, 1.6, style), antialias=True)
            line.setZValue(1)
            self.plot.addItem(line)
        for dot in series.dots:
            self._add_interval(dot, series.colour)
        if series.dots:
            self._add_dots(series)

    def _add_interval(self, dot: Dot, colour: str) -> None:
        if dot.low is None or dot.high is None:
            return
        x = self._x.place(dot.x)
        ends = np.array([self._y.place(dot.low), self._y.place(dot.high)])
        bar = pg.PlotDataItem(np.array([x, x]), ends, pen=pen(colour, 1.3))
        bar.setZValue(2)
        self.plot.addItem(bar)

    def _add_dots(self, series: Series) -> None:
        small = sum(len(s.dots) for s in self.series if not s.bare) > DOTS_AT_MOST
        spots = [
            {
                "pos": self._spot(dot),
                "symbol": series.symbol,
                "size": 11 if dot.hollow else 4 if small else series.size,
                "pen": QPen(Qt.PenStyle.NoPen) if series.bare else pen(series.colour, 1.4),
                "brush": QBrush(Qt.BrushStyle.NoBrush)
                if dot.hollow or series.open or series.bare
                else QBrush(QColor(series.colour)),
                "data": dot.hint,
            }
            for dot in series.dots
        ]
        scatter = pg.ScatterPlotItem(hoverable=True, useCache=False, tip=lambda x, y, data: data)
        scatter.addPoints(spots)
        scatter.setZValue(3.5 if any(dot.hollow for dot in series.dots) else 3)
        self.plot.addItem(scatter)
        rings = [self._spot(dot) for dot in series.dots if dot.point_id and dot.point_id in self._marked]
        if rings:
            ring = pg.ScatterPlotItem(pos=rings, symbol="o", size=16, pen=pen(self._theme.accent, 2), brush=None)
            ring.setZValue(4)
            self.plot.addItem(ring)

    def _make_labels(self) -> None:
        for label in self._labels:
            self.plot.removeItem(label.item)
        self._labels = []
        for spot, named in self._named():
            if len(named) > 1:
                parts = [(f"{each.glyph} {each.name}".lstrip(), each.colour) for each in named]
            else:
                parts = list(named[0].parts) or [(named[0].name, named[0].colour)]
            self._label(parts, spot=spot, stacked=len(named) > 1, level=len(named) == 1 and self._is_level(named[0]))
        for upright in self.uprights:
            lines = [(line, self._theme.text) for line in upright.name.split("\n")]
            self._label(lines, stacked=len(lines) > 1, upright=self._x.place(upright.x), clear=bool(upright.bands))
        for stretch in (each for each in self.stretches if each.name):
            self._label([(stretch.name, self._theme.muted)], stretch=stretch)

    def _named(self) -> list[tuple[Spot, list[Series]]]:
        """Series with names by where their label belongs; joined lines that end together share one place."""
        width, height = self._room()
        found: list[tuple[Spot, list[Series]]] = []
        for series in self.series:
            ends = [self._place(spot) for spot in series.path] or sorted(self._spot(dot) for dot in series.dots)
            if series.named_at is not None:
                ends = [self._place(series.named_at)]
            if not series.name or not ends:
                continue
            x, y = ends[-1]
            near = [
                beside
                for (x0, y0), beside in found
                if all(len(each.dots) > 1 for each in (*beside, series))
                and abs(x - x0) / (self._span[1] - self._span[0]) * width < TOGETHER
                and abs(y - y0) / (self._height[1] - self._height[0]) * height < TOGETHER
            ]
            if near:
                near[0].append(series)
            else:
                found.append(((x, y), [series]))
        return found

    def _label(
        self,
        parts: Sequence[tuple[str, str]],
        *,
        spot: Spot | None = None,
        stacked: bool = False,
        upright: float | None = None,
        stretch: Stretch | None = None,
        level: bool = False,
        clear: bool = False,
    ) -> None:
        inks = [(text, self._theme.ink(colour)) for text, colour in parts]
        item = tight_text(inks, stacked=stacked)
        if not clear:
            item.fill = QBrush(QColor(self._theme.surface))  # words that must cross a line interrupt it
        item.setZValue(5)
        self.plot.addItem(item, ignoreBounds=True)
        self._labels.append(_Label(item, spot, upright, stretch, inks[-1][1], level))

    def _room(self) -> tuple[float, float]:
        box = self.plot.getPlotItem().getViewBox()
        return max(60.0, float(box.width())), max(20.0, float(box.height()))

    def _place(self, spot: Spot) -> Spot:
        return self._x.place(spot[0]), self._y.place(spot[1])

    def _spot(self, dot: Dot) -> Spot:
        return self._x.place(dot.x), self._y.place(dot.y)

    def _pixel(self, place: Spot) -> Spot:
        width, height = self._room()
        left, right = self._shown
        low, high = self._height
        return (place[0] - left) / (right - left) * width, height - (place[1] - low) / (high - low) * height

    def _value(self, x: float, y: float) -> Spot:
        width, height = self._room()
        left, right = self._shown
        low, high = self._height
        return left + x / width * (right - left), low + (height - y) / height * (high - low)

    def _place_labels(self) -> None:
        if not self.series:
            return
        self._make_labels()
        width, height = self._room()
        left, right = self._span
        for label in self._labels:
            if label.spot is not None and not label.level:
                share = min(0.6, (float(label.item.boundingRect().width()) + LABEL_GAP) / width)
                right = max(right, left + (label.spot[0] - left) / (1 - share))
        self._shown = left, right
        self.plot.setXRange(left, right, padding=0)
        self._leave_unnamed()
        area = Box(0, 0, width, height)
        wanted = [self._places(label, area) for label in self._labels]
        dots = [Box(x - 5, y - 5, 10, 10) for x, y in self.dot_spots]
        boxes = place(wanted, dots, self._segments(), area)
        for leader in self._leaders:
            self.plot.removeItem(leader)
        self._leaders = []
        for label, words, box in zip(self._labels, wanted, boxes, strict=True):
            label.box = box
            label.item.setPos(*self._value(box.left, box.top))
            leader = words.leader(box)
            if leader is not None:
                self._lead(leader, label.colour)

    def _leave_unnamed(self) -> None:
        """Take the names of stretches away that are narrower than their words (between two levels)."""
        kept: list[_Label] = []
        for label in self._labels:
            left, right = (0.0, float("inf")) if label.stretch is None else self._ends(label.stretch)
            if float(label.item.boundingRect().width()) <= right - left:
                kept.append(label)
            else:
                self.plot.removeItem(label.item)
        self._labels = kept

    def _ends(self, stretch: Stretch) -> tuple[float, float]:
        """Left and right end in pixels of the plot's area."""
        left, right = (self._pixel((self._x.place(x), 0.0))[0] for x in (stretch.x0, stretch.x1))
        return max(0.0, left), min(self._room()[0], right)

    def _places(self, label: _Label, area: Box) -> Words:
        size = label.item.boundingRect()
        width, height = float(size.width()), float(size.height())
        if label.spot is not None and label.level:
            return along_level(self._pixel(label.spot)[1], width, height, area)
        if label.spot is not None:
            return beside_dot(*self._pixel(label.spot), width, height, area.height)
        if label.stretch is None:
            return beside_upright(
                self._pixel((label.upright or 0.0, 0.0))[0], width, height, area, self._upright_places()
            )
        left, right = self._ends(label.stretch)
        middle = (left + right - width) / 2
        return Words(width, height, tuple(((middle, 2.0 + 12 * row), float(row)) for row in range(3)))

    def _lead(self, leader: Segment, colour: str) -> None:
        xs, ys = zip(*(self._value(*end) for end in leader), strict=True)
        line = pg.PlotDataItem(np.array(xs), np.array(ys), pen=pen(colour, 0.8), antialias=True)
        self.plot.addItem(line, ignoreBounds=True)
        self._leaders.append(line)

    def _segments(self) -> list[Segment]:
        """Lines that words keep off; ceilings are not among them, or words would go far from their dots."""
        lines: list[Segment] = []
        for series in self.series:
            spots = sorted(self._spot(dot) for dot in series.dots) if series.joined else []
            if self._is_level(series):
                spots = [self._place(spot) for spot in series.path]
            lines += list(pairwise(self._pixel(spot) for spot in spots))
        height = self._room()[1]
        return [*lines, *(((x, 0.0), (x, height)) for x in self._upright_places())]

    def _upright_places(self) -> list[float]:
        """Pixels of the upright lines: marks, and the edges of stretches."""
        places = {upright.x for upright in self.uprights} | {x for each in self.stretches for x in (each.x0, each.x1)}
        return [self._pixel((self._x.place(x), 0.0))[0] for x in sorted(places)]

    def _is_level(self, series: Series) -> bool:
        """Whether it is a dashed level line with room along it, as a limit is drawn."""
        crowded = sum(len(each.dots) for each in self.series) > CROWD
        return series.dashed and len({y for _x, y in series.path}) == 1 and not crowded
