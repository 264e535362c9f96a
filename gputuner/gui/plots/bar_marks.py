# pyright: standard
"""What stands on and beside a bar: peak, sheet, published figures, interval, and signs of what disturbed a figure."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF

from gputuner.gui.icons import paint_limiter
from gputuner.gui.theme import Theme, tinted
from gputuner.language.words import N_, _
from gputuner.model.points import Flag
from gputuner.model.quantities import Limiter

BAR_TOP, BAR_HEIGHT, BAND = 6.0, 12.0, 22.0
"""Pixels from a row's top to the bar, the bar's height, and from the row's top to the line of published figures."""
NARROWEST = 3.0
"""An interval narrower than this (pixels) would be a blot on the bar's end."""
SIGNS_AT_MOST = 2
ONE = 3.0
"""Published figures closer than this (pixels) are one dot."""


class Sign(StrEnum):
    """What a reader must know of a figure, as a glyph; the gravest first."""

    POWER = "power"
    HEAT = "heat"
    OTHER = "other"
    DRIFT = "drift"
    FEW = "few"
    PAYS = "pays"
    PAYS_NOT = "pays_not"


SIGNS: dict[Sign, str] = {
    Sign.POWER: N_("held back by power"),
    Sign.HEAT: N_("held back by heat"),
    Sign.DRIFT: N_("drifted"),
    Sign.FEW: N_("too few repeats"),
    Sign.OTHER: N_("see remark"),
    Sign.PAYS: N_("pays"),
    Sign.PAYS_NOT: N_("does not pay"),
}
_OF_FLAG = {
    Flag.THROTTLED_POWER: Sign.POWER,
    Flag.THROTTLED_THERMAL: Sign.HEAT,
    Flag.DRIFT: Sign.DRIFT,
    Flag.NOT_STEADY: Sign.DRIFT,
    Flag.FEW_SAMPLES: Sign.FEW,
}


def signs_of(flags: Iterable[Flag]) -> tuple[Sign, ...]:
    """The signs of a figure's flags, each once, the gravest first and no more than have room (hovering tells all)."""
    found = {_OF_FLAG.get(flag, Sign.OTHER) for flag in flags}
    return tuple(sign for sign in Sign if sign in found)[:SIGNS_AT_MOST]


def sign_words(sign: Sign) -> str:
    """What a sign means."""
    return _(SIGNS[sign])


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """A range that others reached, in the row's unit."""

    low: float
    high: float
    middle: float | None = None


class BarMarks:
    """Paints marks in the theme's colours; ``y`` is always the row's top."""

    def __init__(self, theme: Theme) -> None:
        self._theme = theme

    def bar(self, painter: QPainter, area: QRectF, colour: str, *, hatched: bool, hollow: bool) -> None:
        """A filled bar; hatched: of another run; hollow: an outline, from cold."""
        plain = not (hatched or hollow)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colour) if plain else tinted(colour, 60) if hatched else QColor(self._theme.surface))
        painter.drawRoundedRect(area, 2, 2)
        if plain:
            return
        painter.setPen(QPen(QColor(colour), 1.2 if hatched else 1.8))
        painter.setBrush(Qt.BrushStyle.BDiagPattern if hatched else Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(area.adjusted(0.9, 0.9, -0.9, -0.9) if hollow else area, 2, 2)

    def track(self, painter: QPainter, area: QRectF) -> None:
        """The way to the peak behind a bar."""
        painter.setPen(QPen(QColor(self._theme.strong_line), 1))
        painter.setBrush(QColor(self._theme.sunk))
        painter.drawRoundedRect(area, 2, 2)

    def peak(self, painter: QPainter, x: float, y: float) -> None:
        """Where the peak lies, also behind a bar that goes beyond it."""
        painter.setPen(QPen(QColor(self._theme.text), 1.4))
        painter.drawLine(QPointF(x, y + BAR_TOP - 2), QPointF(x, y + BAR_TOP + BAR_HEIGHT + 2))

    def triangle(self, painter: QPainter, x: float, y: float, *, stem: bool = False) -> None:
        """A small triangle above the bar, its tip on the upper edge; ``stem``: a line where the bar ends before."""
        if stem:
            painter.setPen(QPen(QColor(self._theme.muted), 1.2))
            painter.drawLine(QPointF(x, y + BAR_TOP), QPointF(x, y + BAR_TOP + BAR_HEIGHT))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._theme.muted))
        painter.drawPolygon(QPolygonF([QPointF(x - 4, y), QPointF(x + 4, y), QPointF(x, y + BAR_TOP)]))

    def band(self, painter: QPainter, low: float, high: float, middle: float | None, y: float) -> None:
        """A bracket on its own line below the bar with a dot at its middle; a dot alone for one figure."""
        level = y + BAND
        painter.setPen(QPen(QColor(self._theme.purple), 1.4))
        if high - low >= ONE:
            painter.drawLine(QPointF(low, level), QPointF(high, level))
            for x in (low, high):
                painter.drawLine(QPointF(x, level - 2), QPointF(x, level + 2))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._theme.purple))
        dot = middle if middle is not None else (low + high) / 2
        painter.drawEllipse(QPointF(dot, level), 2.2, 2.2)

    def interval(self, painter: QPainter, low: float, high: float, y: float) -> None:
        """The interval across the bar's end."""
        if high - low < NARROWEST:
            return
        middle = y + BAR_TOP + BAR_HEIGHT / 2
        painter.setPen(QPen(QColor(self._theme.text), 1.4))
        painter.drawLine(QPointF(low, middle), QPointF(high, middle))
        for x in (low, high):
            painter.drawLine(QPointF(x, middle - 4), QPointF(x, middle + 4))

    def sign(self, painter: QPainter, area: QRectF, sign: Sign) -> None:
        """A sign's glyph; power and heat as everywhere in the window."""
        theme = self._theme
        if sign is Sign.POWER:
            paint_limiter(painter, area, Limiter.POWER, theme.limiter(Limiter.POWER))
            return
        if sign is Sign.HEAT:
            paint_limiter(painter, area, Limiter.THERMAL_SOFTWARE, theme.limiter(Limiter.THERMAL_SOFTWARE))
            return
        left, middle, step = area.left(), area.center().y(), area.width() / 4
        if sign is Sign.DRIFT:
            painter.setPen(QPen(QColor(theme.warning), 1.5))
            rises = (2.0, -2.0, 2.0, -2.0, 2.0)
            painter.drawPolyline([QPointF(left + step * i, middle + rise) for i, rise in enumerate(rises)])
            return
        if sign in (Sign.PAYS, Sign.PAYS_NOT):
            self._verdict(painter, area, pays=sign is Sign.PAYS)
            return
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.muted if sign is Sign.FEW else theme.warning))
        if sign is Sign.FEW:
            for x in (step, 3 * step):
                painter.drawEllipse(QPointF(left + x, middle), 1.6, 1.6)
            return
        painter.drawRect(QRectF(area.center().x() - 0.9, area.top() + 1, 1.8, area.height() * 0.55))
        painter.drawRect(QRectF(area.center().x() - 0.9, area.bottom() - 2.4, 1.8, 1.8))

    def _verdict(self, painter: QPainter, area: QRectF, *, pays: bool) -> None:
        """A tick, or a cross."""
        painter.setPen(QPen(QColor(self._theme.green if pays else self._theme.vermilion), 1.8))
        inner = area.adjusted(1.5, 1.5, -1.5, -1.5)
        if pays:
            low = QPointF(inner.left() + inner.width() * 0.35, inner.bottom())
            painter.drawPolyline([QPointF(inner.left(), inner.center().y()), low, inner.topRight()])
            return
        painter.drawLine(inner.topLeft(), inner.bottomRight())
        painter.drawLine(inner.topRight(), inner.bottomLeft())
