# pyright: standard
"""Readings over time: several curves on one scale, limits in their curve's colour, gaps, events and a common cursor."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPointF, Qt, Signal
from PySide6.QtGui import QBrush, QColor
from PySide6.QtWidgets import QGraphicsItem

from gputuner.gui.plots.frame import PictureFrame
from gputuner.gui.plots.style import FixedAxis, dashes, pen, plain_plot, round_up
from gputuner.gui.plots.time_axis import TimeAxis, clock_text
from gputuner.gui.plots.time_marks import SEE_THROUGH, Box, Mark, TimeMarks
from gputuner.gui.theme import Theme, tinted
from gputuner.language.numbers import MISSING, number


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """How one curve looks: a line, or with ``area`` a thin line over a light filling, or dashed."""

    key: str
    name: str
    colour: str
    area: bool = False
    dashed: bool = False
    text: Callable[[float], str] = field(default=lambda value: f"{value:.0f}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A dashed line with a label in the colour of what it limits."""

    name: str
    value: float
    colour: str
    always: bool = False
    """Keep it in the picture, however far from the curves it lies."""


PLACES = (0.02, 0.12, 0.22, 0.32, 0.42, 0.52, 0.6, 0.7)
"""Where the words of a limit may start, as shares of the width."""


LONE = 5
"""Pixels across a sample that no line reaches."""


def lone(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which samples have no neighbour (NaN: missing), so that no line would show them."""
    there = np.concatenate(([False], np.isfinite(values), [False]))
    return there[1:-1] & ~there[:-2] & ~there[2:]


class TimePlot(PictureFrame):
    """Curves over time. The caller gives arrays in seconds relative to the right end; nothing is computed here."""

    pointed = Signal(object)
    """Time under the mouse in the plot's seconds, or None."""

    def __init__(
        self,
        theme: Theme,
        title: str,
        unit: str,
        curves: Sequence[Curve],
        *,
        top: float | None = None,
        axis_text: Callable[[float], str] | None = None,
    ) -> None:
        super().__init__(title, unit)
        self._theme = theme
        self._faded = False
        self._top = top
        self._specs = {curve.key: curve for curve in curves}
        self.plot = plain_plot(theme, FixedAxis("left", axis_text or number, width=46), TimeAxis())
        self.set_picture(self.plot)
        self._items: dict[str, pg.PlotDataItem] = {}
        self._dots: dict[str, pg.ScatterPlotItem] = {}
        self._legends = {key: self.add_legend() for key in self._specs}
        self._shown: dict[str, str] = {}
        self._names: dict[str, str] = {curve.key: curve.name for curve in curves}
        for curve in curves:
            self._items[curve.key] = self._make(curve)
            self._dots[curve.key] = pg.ScatterPlotItem(size=LONE, pen=None, brush=QBrush(QColor(curve.colour)))
            self.plot.addItem(self._dots[curve.key], ignoreBounds=True)
        self._limits: list[tuple[Limit, pg.InfiniteLine]] = []
        self.moments = TimeMarks(self.plot, theme)
        self._bands: list[QGraphicsItem] = []
        self._hint = pg.TextItem(color=theme.muted, anchor=(0.5, 0.5))
        self._hint.setVisible(False)
        self.plot.addItem(self._hint, ignoreBounds=True)
        self._cursor = pg.InfiniteLine(
            angle=90,
            movable=False,
            pen=pen(theme.text, 1),
            label="",
            labelOpts={"position": 0.06, "color": theme.text, "fill": theme.surface, "anchors": [(0, 0.5), (1, 0.5)]},
        )
        self._cursor.setZValue(20)
        self._cursor.setVisible(False)
        self.plot.addItem(self._cursor, ignoreBounds=True)
        self._range = (-300.0, 0.0)
        self._data: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
        self._highest = 0.0
        self.plot.getPlotItem().getViewBox().sigResized.connect(self._fit)
        self._proxy = pg.SignalProxy(self.plot.scene().sigMouseMoved, rateLimit=30, slot=self._moved)
        self.plot.setMouseTracking(True)

    def fade(self, faded: bool) -> None:
        """Draw the curves in grey (``faded``: nothing comes any more), or in their own colours again."""
        if faded == self._faded:
            return
        self._faded = faded
        for key, curve in self._specs.items():
            look = self._look(curve)
            self._items[key].setPen(look["pen"])
            self._items[key].setFillBrush(look["brush"])
            self._dots[key].setBrush(QBrush(QColor(self._colour(curve))))

    @property
    def colours(self) -> dict[str, str]:
        """What each curve is drawn in, by its key."""
        return {key: pg.mkPen(item.opts["pen"]).color().name() for key, item in self._items.items()}

    def _colour(self, curve: Curve) -> str:
        return self._theme.muted if self._faded else curve.colour

    def _look(self, curve: Curve) -> dict[str, Any]:
        style = Qt.PenStyle.DashLine if curve.dashed else Qt.PenStyle.SolidLine
        colour = self._colour(curve)
        return {
            "pen": pen(colour, 1.0 if curve.area or curve.dashed else 1.8, style),
            "brush": QBrush(tinted(colour, 70)) if curve.area else None,
        }

    def _make(self, curve: Curve) -> pg.PlotDataItem:
        item = pg.PlotDataItem(
            **self._look(curve),
            fillLevel=0.0 if curve.area else None,
            connect="finite",
            skipFiniteCheck=False,
            autoDownsample=True,
            downsampleMethod="peak",
            clipToView=True,
        )
        self.plot.addItem(item)
        return item

    @property
    def legends(self) -> dict[str, str]:
        """Legend texts by curve (without mark-up) as last shown."""
        return dict(self._shown)

    def name_curves(self, title: str, names: Mapping[str, str] | None) -> None:
        """Title and curves by other names, those without one left out; None: as made."""
        self.show_title(title)
        self._names = dict(names) if names is not None else {key: curve.name for key, curve in self._specs.items()}
        for key, legend in self._legends.items():
            self.leave_out(legend, key not in self._names)
            if key not in self._names:
                self._shown.pop(key, None)

    @property
    def named(self) -> frozenset[str]:
        """The curves that it can show."""
        return frozenset(self._names)

    def legend_hint(self, key: str) -> str:
        """What hovering over a legend tells."""
        return self._legends[key].toolTip()

    def dots(self, key: str) -> list[tuple[float, float]]:
        """Samples of a curve that stand alone, as drawn: seconds and value."""
        xs, ys = self._dots[key].getData()
        return [(float(x), float(y)) for x, y in zip(xs, ys, strict=True)]

    @property
    def marks(self) -> tuple[Mark, ...]:
        """Gaps and events as shown."""
        return self.moments.shown

    def show_curves(self, data: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]], span_s: float) -> None:
        """Draw arrays of seconds and values (float64, NaN: missing) on the last ``span_s`` seconds."""
        self.show_range(data, -span_s, 0.0)

    def show_range(
        self, data: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]], x0: float, x1: float
    ) -> None:
        """Draw arrays between two times."""
        highest = 0.0
        for key, item in self._items.items():
            times, values = data.get(key, (np.empty(0), np.empty(0)))
            item.setData(times, values)
            alone = lone(values)
            self._dots[key].setData(times[alone], values[alone])
            if len(values) and not np.isnan(values).all():
                highest = max(highest, float(np.nanmax(values)))
        self._range, self._highest, self._data = (x0, x1), highest, data
        self.plot.setXRange(x0, x1, padding=0)
        self._fit()

    def show_bands(
        self, bands: dict[str, tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]]
    ) -> None:
        """Light areas from lowest to highest value (seconds, low, high; float64), behind the curves."""
        for item in self._bands:
            self.plot.removeItem(item)
        self._bands = []
        for key, (times, low, high) in bands.items():
            lower = pg.PlotDataItem(times, low, pen=None, connect="finite")
            upper = pg.PlotDataItem(times, high, pen=None, connect="finite")
            area = pg.FillBetweenItem(lower, upper, brush=QBrush(tinted(self._specs[key].colour, 60)))
            area.setZValue(-3)
            for item in (lower, upper, area):
                self.plot.addItem(item, ignoreBounds=True)
                self._bands.append(item)

    def _fit(self) -> None:
        """Choose the upper end so that curves, limits and their labels have room; zero stays in."""
        reach = 20 * max(1.0, self._highest)
        near = [limit.value for limit, _line in self._limits if limit.always or limit.value < reach]
        top = self._top or max([round_up(self._highest * 1.05), *(value * self._headroom() for value in near)])
        self.plot.setYRange(0.0, top, padding=0)
        self._hint.setPos(sum(self._range) / 2, top / 2)
        self._place_limit_words(top)

    def _place_limit_words(self, top: float) -> None:
        """Words stand along their line where neither curve nor other limit runs; they stay there while it is free."""
        box = self.plot.getPlotItem().getViewBox()
        width, height = max(60.0, float(box.width())), max(60.0, float(box.height()))
        tall = 18.0 / height * top
        for limit, line in self._limits:
            wide = float(line.label.boundingRect().width()) / width
            now = line.label.orthoPos, line.label.anchors[0][1] < 0.5
            places = [now, *((at, below) for at in PLACES for below in (False, True) if at + wide < 1.0)]
            taken = [self._taken(limit, at, wide, tall, below) for at, below in places]
            taken[0] *= 0.7  # rather stay than move for a little
            at, below = places[taken.index(min(taken))]
            line.label.anchors = [(0, -0.06)] * 2 if below else [(0, 1.06)] * 2
            line.label.setPosition(at)
        self._place_marks()

    def _place_marks(self) -> None:
        """Words of moments keep clear of those of limits and, where they can, of curves."""
        box = self.plot.getPlotItem().getViewBox()
        width, height = max(60.0, float(box.width())), max(60.0, float(box.height()))
        top = float(box.viewRange()[1][1]) or 1.0
        words: list[Box] = []
        for limit, line in self._limits:
            at, y = line.label.orthoPos * width, limit.value / top * height
            low = y - 18.0 if line.label.anchors[0][1] < 0.5 else y
            words.append(Box(left=at, right=at + line.label.boundingRect().width(), low=low, high=low + 18.0))
        left, right = self._range

        def crossed(place: Box) -> float:
            x0, x1 = (left + x / width * (right - left) for x in (place.left, place.right))
            return self._crossed(x0, x1, place.low / height * top, place.high / height * top)

        self.moments.place(self._range, words, crossed)

    def _taken(self, limit: Limit, at: float, wide: float, tall: float, below: bool) -> float:
        """How much of a place for words curves run through; above 1 if another limit does (heights in values)."""
        low, high = (limit.value - tall, limit.value) if below else (limit.value, limit.value + tall)
        if any(low < other.value < high for other, _line in self._limits if other is not limit):
            return 2.0
        left, right = self._range
        return self._crossed(left + at * (right - left), left + (at + wide) * (right - left), low, high)

    def _crossed(self, x0: float, x1: float, low: float, high: float) -> float:
        """The largest share of a curve's samples between two times that lies between two values."""
        most = 0.0
        for times, values in self._data.values():
            part = values[np.searchsorted(times, x0) : np.searchsorted(times, x1, "right")]
            if len(part):
                most = max(most, float(np.mean((part > low) & (part < high))))
        return most

    @property
    def limit_words_below(self) -> dict[str, bool]:
        """By words of a limit: whether they stand below its line."""
        return {limit.name: line.label.anchors[0][1] < 0.5 for limit, line in self._limits}

    def _headroom(self) -> float:
        """Factor that leaves room for a label of one line above a limit."""
        height = max(60.0, float(self.plot.getPlotItem().getViewBox().height()))
        return 1.0 / (1.0 - 22.0 / height)

    def show_reading(
        self, key: str, value: float | None, why: str = "", faded: bool = False, most: float | None = None
    ) -> None:
        """Show a value (a mean: beside it the highest), or a dash with its reason on hover, in the legend."""
        curve = self._specs[key]
        if key not in self._names:
            return
        name = self._names[key]
        text = MISSING if value is None else curve.text(value)
        if value is not None and most is not None:
            text = f"{text} / {curve.text(most)}"
        swatch = "▒" if curve.area else ("╌" if curve.dashed else "━")
        weight = "400" if faded or value is None else "600"
        ink = self._theme.muted if faded or value is None else self._theme.text
        html = (
            f'<span style="color:{self._colour(curve)}">{swatch}</span> {name} '
            f'<span style="font-weight:{weight};color:{ink}">{text}</span>'
        )
        legend = self._legends[key]
        if self._shown.get(key) != f"{name} {text}" or legend.text() != html:
            legend.setText(html)
            self._shown[key] = f"{name} {text}"
        if legend.toolTip() != why:
            legend.setToolTip(why)

    def show_limits(self, limits: Sequence[Limit]) -> None:
        """Show limits as labelled dashed lines."""
        if [limit for limit, _line in self._limits] == list(limits):
            return
        for _limit, line in self._limits:
            self.plot.removeItem(line)
        self._limits = []
        for limit in limits:
            line = pg.InfiniteLine(
                pos=limit.value,
                angle=0,
                movable=False,
                pen=dashes(limit.colour),
                label=limit.name,
                labelOpts={
                    "position": 0.02,
                    "color": self._theme.ink(limit.colour),
                    "fill": tinted(self._theme.surface, SEE_THROUGH // 2),
                    "anchors": [(0, 1), (0, 1)],
                },
            )
            self.plot.addItem(line, ignoreBounds=True)
            self._limits.append((limit, line))
        self._fit()

    def show_marks(self, marks: Sequence[Mark]) -> None:
        """Show gaps as hatched stretches and events as vertical lines with their name."""
        if self.moments.show(marks):
            self._place_marks()

    def show_hint(self, text: str) -> None:
        """A sentence in the middle of an empty picture ("" takes it away)."""
        self._hint.setText(text)
        self.plot.getPlotItem().getAxis("left").setStyle(showValues=not text)
        self._hint.setVisible(bool(text))

    @property
    def hint(self) -> str:
        """The sentence in the middle."""
        return self._hint.toPlainText() if self._hint.isVisible() else ""

    def show_cursor(self, t_s: float | None) -> None:
        """Show the common cursor."""
        self._cursor.setVisible(t_s is not None)
        if t_s is not None:
            self._cursor.label.setFormat(clock_text(t_s))
            self._cursor.setPos(t_s)

    def _moved(self, arguments: tuple[QPointF]) -> None:
        position = arguments[0]
        box = self.plot.getPlotItem().getViewBox()
        if box.sceneBoundingRect().contains(position):
            x = float(box.mapSceneToView(position).x())
            self.pointed.emit(min(max(x, self._range[0]), self._range[1]))
        else:
            self.pointed.emit(None)

    def leaveEvent(self, event: QEvent) -> None:
        """Take the cursor away."""
        self.pointed.emit(None)
        super().leaveEvent(event)
