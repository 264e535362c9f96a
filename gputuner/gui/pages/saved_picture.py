# pyright: standard
"""A picture as it leaves the program: under its origin, over what it was measured on, sharp enough for print."""

from datetime import datetime
from pathlib import Path

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPixmap, QRegion
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QScrollArea, QWidget

from gputuner.gui.fonts import painted
from gputuner.gui.plots.frame import PictureFrame
from gputuner.gui.results_text import measured_with
from gputuner.gui.run_state import RunFacts
from gputuner.gui.theme import TEXT_SMALL, Theme
from gputuner.gui.widgets.hatch_strip import origin_sentence, paint_strip
from gputuner.language.words import _

LEAST_SCALE = 2.0
"""Pixels of a saved picture for each of the window's."""
EDGE, STRIP = 12, 20
"""Pixels around the words, and of the strip that tells the origin."""
_WRAPPED = int(Qt.AlignmentFlag.AlignLeft) | int(Qt.TextFlag.TextWordWrap)


class SavedPicture:
    """A page of the result with its strip and its caption, laid out in the window's pixels."""

    def __init__(self, theme: Theme, page: QWidget, facts: RunFacts) -> None:
        self._theme, self._page = theme, page
        self.origin = origin_sentence(facts.origin)
        """What the strip on top says; empty for measured figures."""
        self.caption = caption(page, facts)
        """The words below the picture."""
        self._scroll = _scrolled(page)
        self._font = painted(TEXT_SMALL)
        self._top = STRIP if self.origin else 0
        self._body = page.height() if self._scroll is None else self._above() + self._scroll[1].height()
        room = QRect(0, 0, page.width() - 2 * EDGE, 10_000)
        self._words = QFontMetrics(self._font).boundingRect(room, _WRAPPED, self.caption).height()

    @property
    def size(self) -> QSize:
        """Width and height in the window's pixels."""
        return QSize(self._page.width(), self._top + self._body + self._words + EDGE)

    def save(self, target: Path) -> None:
        """Write it as ``.svg``, or as PNG of at least twice the window's pixels."""
        if target.suffix.lower() == ".svg":
            generator = QSvgGenerator()
            generator.setFileName(str(target))
            generator.setSize(self.size)
            generator.setViewBox(QRect(QPoint(), self.size))
            generator.setResolution(self._page.logicalDpiX())  # points are as large as in the window
            generator.setTitle(self.caption)
            self._paint(QPainter(generator))
            return
        scale = max(LEAST_SCALE, self._page.devicePixelRatioF())
        pixels = QPixmap(self.size * scale)
        pixels.setDevicePixelRatio(scale)
        self._paint(QPainter(pixels))
        pixels.save(str(target), "PNG")

    def _paint(self, painter: QPainter) -> None:
        width, height = self.size.width(), self.size.height()
        painter.fillRect(QRect(0, 0, width, height), QColor(self._theme.surface))
        if self.origin:
            paint_strip(painter, QRectF(0, 0, width, STRIP), self._theme, self.origin, self._font)
        self._paint_page(painter)
        painter.setFont(self._font)
        painter.setPen(QColor(self._theme.muted))
        room = QRect(EDGE, self._top + self._body + EDGE // 2, width - 2 * EDGE, self._words + EDGE)
        painter.drawText(room, _WRAPPED, self.caption)
        painter.end()

    def _paint_page(self, painter: QPainter) -> None:
        """The page, with what is scrolled out of sight."""
        page = self._page
        if self._scroll is None:
            page.render(painter, QPoint(0, self._top), QRegion(page.rect()))
            return
        area, inside = self._scroll
        above = self._above()
        page.render(painter, QPoint(0, self._top), QRegion(0, 0, page.width(), above))
        inside.render(painter, QPoint(area.mapTo(page, QPoint()).x(), self._top + above))

    def _above(self) -> int:
        """Height of the page's part above what scrolls."""
        return self._scroll[0].mapTo(self._page, QPoint()).y() if self._scroll is not None else 0


def caption(page: QWidget, facts: RunFacts) -> str:
    """Legends that the picture has no room for, the cards, when it was measured, and with what."""
    frames = [page] if isinstance(page, PictureFrame) else page.findChildren(PictureFrame)
    legends = [f"{frame.title}: {frame.shown_unit}" for frame in frames if frame.unit_is_cut]
    about = [", ".join(dict.fromkeys(card.title for card in facts.cards))]
    if facts.started is not None:
        about.append(datetime.fromtimestamp(facts.started.unix_s).strftime("%Y-%m-%d %H:%M"))
    if facts.finished is None and facts.started is not None:
        about.append(_("not finished"))
    measured = measured_with(facts, host=False).replace("\n", " · ")
    return "\n".join(line for line in (*legends, " · ".join(part for part in about if part), measured) if line)


def _scrolled(page: QWidget) -> tuple[QScrollArea, QWidget] | None:
    """What scrolls in the page, and what lies in it."""
    for area in page.findChildren(QScrollArea):
        inside = area.widget()
        if inside is not None:
            return area, inside
    return None
