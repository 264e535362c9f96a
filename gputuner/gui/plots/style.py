# pyright: standard
"""What all pictures have in common: thin axes, light grid, colours from the theme, round upper ends."""

from collections.abc import Callable, Sequence
from html import escape
from math import ceil, floor, log10
from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QPen

from gputuner.gui.theme import TEXT_SMALL, Theme

UPPER_ROOM, RIGHT_ROOM = 6, 18
"""Pixels above and right of a plot for the words of the last ticks."""
TICKS_WIDE, AXIS_TITLE_TALL = 50, 16
"""Pixels for the words of the ticks at the left, and for the title beside them."""

TickText = Callable[[float], str]


def plain_plot(theme: Theme, left: pg.AxisItem | None = None, bottom: pg.AxisItem | None = None) -> Any:
    """An empty ``pg.PlotWidget`` (whose own types are of no use) in the theme's colours, without menus or zoom."""
    axes = {name: axis for name, axis in (("left", left), ("bottom", bottom)) if axis is not None}
    plot: Any = pg.PlotWidget(background=theme.surface, axisItems=axes)
    plot.setFrameShape(pg.PlotWidget.Shape.NoFrame)
    plot.setMenuEnabled(False)
    plot.setMouseEnabled(x=False, y=False)
    plot.hideButtons()
    plot.setAntialiasing(True)
    plot.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    item = plot.getPlotItem()
    item.setContentsMargins(4, UPPER_ROOM, RIGHT_ROOM, 2)
    font = QFont(plot.font())
    font.setPixelSize(TEXT_SMALL - 1)
    for name in ("left", "bottom"):
        axis = item.getAxis(name)
        axis.setPen(QPen(QColor(theme.line), 1))
        axis.setTextPen(QColor(theme.muted))
        axis.setTickFont(font)
        axis.setStyle(tickLength=-3, tickTextOffset=4, autoExpandTextSpace=True)
        axis.enableAutoSIPrefix(False)
    item.showGrid(x=False, y=True, alpha=0.16 if theme.name == "light" else 0.12)
    item.getViewBox().setDefaultPadding(0.0)
    return plot


def pen(colour: str, width: float = 1.6, style: Qt.PenStyle = Qt.PenStyle.SolidLine) -> QPen:
    """A cosmetic pen."""
    result = pg.mkPen(colour, width=width)
    result.setStyle(style)
    return result


def dashes(colour: str, width: float = 1.2) -> QPen:
    """A cosmetic pen for limits: dashes with gaps that can be seen."""
    result = pen(colour, width, Qt.PenStyle.CustomDashLine)
    result.setDashPattern([4.0, 4.0])
    return result


def tight_text(parts: Sequence[tuple[str, str]], *, stacked: bool = False) -> pg.TextItem:
    """Words (each with its colour), beside or below each other, hung by their upper left corner, without a margin."""
    spans = [f'<span style="color:{colour}">{escape(text)}</span>' for text, colour in parts]
    item = pg.TextItem(html=("<br>" if stacked else " · ").join(spans), anchor=(0, 0))
    item.textItem.document().setDocumentMargin(1)
    item.updateTextPos()
    return item


def tinted_span(low: float, high: float, ink: QColor) -> pg.LinearRegionItem:
    """A tinted part of the horizontal axis without edges, behind everything."""
    item = pg.LinearRegionItem((low, high), movable=False, brush=QBrush(ink))
    for edge in item.lines:
        edge.setPen(QPen(Qt.PenStyle.NoPen))
    item.setZValue(-4)
    return item


def title_axis(plot: Any, theme: Theme, text: str, side: str = "bottom") -> None:
    """Name what an axis counts (its unit), small and muted; "": only give the axis its room."""
    axis = plot.getPlotItem().getAxis(side)
    if text:
        axis.setLabel(text, **{"color": theme.muted, "font-size": f"{TEXT_SMALL - 1}px"})
    if side == "bottom":
        axis.setHeight(32)
    else:
        axis.setWidth(TICKS_WIDE + (AXIS_TITLE_TALL if text else 0))


def round_up(value: float) -> float:
    """The next of 1, 1.5, 2, 3, 4, 5, 6, 8, 10 × 10ⁿ that is at least ``value``: an upper end that rarely moves."""
    if value <= 0:
        return 1.0
    magnitude = 10.0 ** floor(log10(value))
    for step in (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0):
        if value <= step * magnitude * (1 + 1e-9):
            return step * magnitude
    return 10 * magnitude


def even_ticks(low: float, high: float, about: int) -> list[float]:
    """About ``about`` round values in ``low`` … ``high``."""
    span = high - low
    if span <= 0:
        return [low]
    magnitude = 10.0 ** floor(log10(span / max(1, about)))
    step = min((s * magnitude for s in (1, 2, 5, 10)), key=lambda step: abs(span / step - about))
    first = ceil(low / step - 1e-9)
    last = floor(high / step + 1e-9)
    return [i * step for i in range(first, last + 1)]


class EndedAxis(pg.AxisItem):
    """An axis whose ends are labelled too: their words may stand beyond it, where the plot has its margins."""

    def boundingRect(self) -> QRectF:
        """The axis with the margins that its words may use."""
        if self.orientation == "left":
            return super().boundingRect().adjusted(0, -UPPER_ROOM, 0, UPPER_ROOM)
        return super().boundingRect().adjusted(-RIGHT_ROOM, 0, RIGHT_ROOM, 0)


class FixedAxis(EndedAxis):
    """An axis with few round ticks and a text of our own; its width does not change with the digits."""

    def __init__(self, orientation: str, text: TickText, about: int = 5, width: int | None = None) -> None:
        super().__init__(orientation)
        self._text = text
        self._about = about
        if width is not None and orientation == "left":
            self.setWidth(width)

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:
        """Round values, fewer where there is little room."""
        room = max(2, int(size / (26 if self.orientation == "left" else 64)))
        values = even_ticks(minVal, maxVal, min(self._about, room))
        return [(values[1] - values[0] if len(values) > 1 else 1.0, values)]

    def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
        """Our own words."""
        return [self._text(value) for value in values]
