# pyright: standard
"""Small pictures painted from paths: navigation icons and one glyph per limiter (colour is never the only sign)."""

from math import cos, radians, sin

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QIcon, QPainter, QPainterPath, QPen, QPixmap, QPolygonF

from gputuner.gui.theme import text_on
from gputuner.model.quantities import Limiter

_SCALE = 2
"""Pixmaps are painted at twice their size, so that they stay sharp on scaled displays."""


def _path(points: list[tuple[float, float]], closed: bool = False) -> QPainterPath:
    path = QPainterPath(QPointF(*points[0]))
    for point in points[1:]:
        path.lineTo(QPointF(*point))
    if closed:
        path.closeSubpath()
    return path


def _monitor() -> QPainterPath:
    return _path([(1, 9), (4, 9), (6, 3), (9, 14), (11.5, 6), (13, 9), (15, 9)])


def _tune() -> QPainterPath:
    path = QPainterPath()
    for y, knob in ((3.5, 10.5), (8.0, 5.0), (12.5, 9.0)):
        path.moveTo(1, y)
        path.lineTo(knob - 2, y)
        path.addEllipse(QPointF(knob, y), 2, 2)
        path.moveTo(knob + 2, y)
        path.lineTo(15, y)
    return path


def _training() -> QPainterPath:
    """Batches stacked on each other, the top one open to the eye."""
    path = _path([(8, 1.6), (14.6, 5), (8, 8.4), (1.4, 5)], closed=True)
    for y in (8.2, 11.4):
        path.addPath(_path([(1.4, y), (8, y + 3.4), (14.6, y)]))
    return path


def _bench() -> QPainterPath:
    path = QPainterPath()
    for x, top in ((2.5, 9.5), (6.5, 5.5), (10.5, 2.0)):
        path.addRect(QRectF(x, top, 2.6, 14 - top))
    path.moveTo(1, 14.2)
    path.lineTo(15, 14.2)
    return path


def _sessions() -> QPainterPath:
    path = QPainterPath()
    path.addRoundedRect(QRectF(1.5, 6, 13, 8.5), 1.5, 1.5)
    path.moveTo(3, 3.8)
    path.lineTo(13, 3.8)
    path.moveTo(4.5, 1.5)
    path.lineTo(11.5, 1.5)
    return path


def _contention() -> QPainterPath:
    """Two that share a place."""
    path = QPainterPath()
    path.addEllipse(QPointF(5.6, 8), 4.6, 4.6)
    path.addEllipse(QPointF(10.4, 8), 4.6, 4.6)
    return path


def _queue() -> QPainterPath:
    """One that starts, others behind it."""
    path = _path([(1.5, 1.8), (6, 4.4), (1.5, 7)], closed=True)
    for y, left in ((4.4, 9.0), (9.4, 1.5), (13.4, 1.5)):
        path.addPath(_path([(left, y), (14.5, y)]))
    return path


def _cooling() -> QPainterPath:
    """A fan with three blades."""
    path = QPainterPath()
    path.addEllipse(QPointF(8, 8), 6.6, 6.6)
    path.addEllipse(QPointF(8, 8), 1.4, 1.4)
    for turn in (-90.0, 30.0, 150.0):
        at, side = radians(turn), radians(turn + 62.0)
        path.moveTo(8 + 1.4 * cos(at), 8 + 1.4 * sin(at))
        path.quadTo(8 + 5.4 * cos(at), 8 + 5.4 * sin(at), 8 + 5.0 * cos(side), 8 + 5.0 * sin(side))
    return path


def _power() -> QPainterPath:
    """A bolt."""
    return _path([(9.4, 1.2), (3.4, 9.2), (7.6, 9.2), (6.6, 14.8), (12.6, 6.6), (8.4, 6.6)], closed=True)


def _health() -> QPainterPath:
    """A pulse in a chip."""
    path = QPainterPath()
    path.addRoundedRect(2.0, 2.0, 12.0, 12.0, 2.0, 2.0)
    path.addPath(_path([(4.0, 8.4), (6.0, 8.4), (7.2, 5.0), (9.0, 11.0), (10.2, 8.4), (12.0, 8.4)]))
    return path


_NAVIGATION = {
    "monitor": _monitor,
    "tune": _tune,
    "training": _training,
    "bench": _bench,
    "contention": _contention,
    "queue": _queue,
    "power": _power,
    "cooling": _cooling,
    "health": _health,
    "sessions": _sessions,
}


def _canvas(size: int) -> tuple[QPixmap, QPainter]:
    pixmap = QPixmap(QSize(size * _SCALE, size * _SCALE))
    pixmap.setDevicePixelRatio(_SCALE)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    return pixmap, painter


def page_icon(name: str, colour: str, size: int = 16) -> QIcon:
    """The line icon of a page."""
    pixmap, painter = _canvas(size)
    painter.setPen(QPen(QColor(colour), 1.4, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin))
    painter.scale(size / 16, size / 16)
    painter.drawPath(_NAVIGATION[name]())
    painter.end()
    return QIcon(pixmap)


_GLYPHS: dict[str, list[list[tuple[float, float]]]] = {
    "pause": [[(3, 2), (5, 2), (5, 10), (3, 10)], [(7, 2), (9, 2), (9, 10), (7, 10)]],
    "play": [[(3, 1.5), (10, 6), (3, 10.5)]],
    "stop": [[(2.5, 2.5), (9.5, 2.5), (9.5, 9.5), (2.5, 9.5)]],
    "bell": [
        [(6, 0.8), (8.4, 2.2), (9, 4), (9.2, 7), (10.8, 9), (1.2, 9), (2.8, 7), (3, 4), (3.6, 2.2)],
        [(4.6, 9.8), (7.4, 9.8), (6.6, 11.4), (5.4, 11.4)],
    ],
}


def glyph_icon(name: str, colour: str, size: int = 12) -> QIcon:
    """The icon of a button: ``pause``, ``play``, ``stop``, ``bell`` or ``record``."""
    pixmap, painter = _canvas(size)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(colour))
    painter.scale(size / 12, size / 12)
    for shape in _GLYPHS.get(name, []):
        painter.drawPolygon(QPolygonF([QPointF(x, y) for x, y in shape]))
    if name == "record":
        painter.drawEllipse(QPointF(6, 6), 4, 4)
    painter.end()
    return QIcon(pixmap)


def limiter_icon(limiter: Limiter, colour: str, size: int = 12) -> QIcon:
    """The glyph of a limiter in its colour."""
    pixmap, painter = _canvas(size)
    paint_limiter(painter, QRectF(0, 0, size, size), limiter, colour)
    painter.end()
    return QIcon(pixmap)


_POLYGONS: dict[Limiter, list[tuple[float, float]]] = {
    Limiter.POWER: [(7, 0.5), (2, 7), (5.4, 7), (4.5, 11.5), (10, 4.8), (6.4, 4.8)],
    Limiter.THERMAL_SOFTWARE: [(6, 1), (11.3, 10.8), (0.7, 10.8)],
    Limiter.THERMAL_HARDWARE: [(6, 1), (11.3, 10.8), (0.7, 10.8)],
    Limiter.POWER_BRAKE: [(1.5, 1.5), (10.5, 1.5), (10.5, 10.5), (1.5, 10.5)],
    Limiter.HARDWARE: [(1, 1.5), (11, 1.5), (6, 11)],
    Limiter.USER_CAP: [(6, 0.7), (11.3, 6), (6, 11.3), (0.7, 6)],
    Limiter.SYNC_BOOST: [(1, 3), (11, 3), (11, 5), (1, 5), (1, 7), (11, 7), (11, 9), (1, 9)],
}


def paint_limiter(painter: QPainter, area: QRectF, limiter: Limiter, colour: str) -> None:
    """Paint the glyph of a limiter into ``area``."""
    painter.save()
    painter.translate(area.topLeft())
    painter.scale(area.width() / 12, area.height() / 12)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(colour))
    shape = _POLYGONS.get(limiter)
    if shape is not None:
        painter.drawPolygon(QPolygonF([QPointF(x, y) for x, y in shape]))
        if limiter is Limiter.THERMAL_HARDWARE:
            painter.setBrush(QColor(text_on(colour)))
            painter.drawRect(QRectF(5.4, 4.5, 1.3, 3.2))
            painter.drawRect(QRectF(5.4, 8.5, 1.3, 1.3))
    elif limiter is Limiter.NONE:
        painter.drawEllipse(QPointF(6, 6), 4.6, 4.6)
    else:
        painter.setPen(QPen(QColor(colour), 1.6))
        painter.setBrush(
            QBrush(QColor(colour), Qt.BrushStyle.BDiagPattern) if limiter is Limiter.UNKNOWN else Qt.BrushStyle.NoBrush
        )
        painter.drawEllipse(QPointF(6, 6), 4.2, 4.2)
    painter.restore()
