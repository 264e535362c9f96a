# pyright: standard
"""What the marks in a picture of bars mean: only those that occur, in as many lines as their words need."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter

from gputuner.gui.plots.bar_marks import BarMarks, Sign, sign_words
from gputuner.gui.theme import Theme
from gputuner.language.words import _

LINE, GLYPH, BETWEEN = 20.0, 18.0, 14.0
"""Pixels: height of a line, room of a glyph, room between two entries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurring:
    """Which marks a picture has."""

    peak: bool = False
    sheet: bool = False
    published: bool = False
    cold: bool = False
    other: bool = False
    signs: tuple[Sign, ...] = ()


@dataclass(frozen=True, slots=True)
class _Entry:
    words: str
    paint: Callable[[QPainter, float, float], None]


class BarKey:
    """Lays entries out and paints them."""

    def __init__(self, theme: Theme, mark: str = "") -> None:
        """``mark``: what the small triangle means; empty: the sheet's figure."""
        self._theme = theme
        self._mark = mark
        self._marks = BarMarks(theme)
        self._entries: tuple[_Entry, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """What is explained."""
        return tuple(entry.words for entry in self._entries)

    def show(self, there: Occurring) -> None:
        """Explain these marks."""
        marks = self._marks
        entries = (
            (there.peak, _("peak at its clock"), lambda p, x, y: marks.peak(p, x + 8, y - 2)),
            (there.sheet, self._mark or _("sheet"), lambda p, x, y: marks.triangle(p, x + 8, y + 7)),
            (there.published, _("published"), lambda p, x, y: marks.band(p, x + 1, x + 13, None, y - 12)),
            (there.cold, _("from cold"), self._bar(hollow=True)),
            (there.other, _("the other run"), self._bar(hollow=False)),
        )
        told = [_Entry(words, paint) for wanted, words, paint in entries if wanted]
        told += [_Entry(sign_words(sign), self._sign(sign)) for sign in there.signs]
        self._entries = tuple(told)

    def explain(self, entries: Sequence[tuple[str, Callable[[QPainter, float, float], None]]]) -> None:
        """Explain these instead: words, and what paints their glyph at the left upper corner of its room."""
        self._entries = tuple(_Entry(words, paint) for words, paint in entries)

    def _bar(self, *, hollow: bool) -> Callable[[QPainter, float, float], None]:
        def paint(painter: QPainter, x: float, y: float) -> None:
            area = QRectF(x, y + 6, 13, 8)
            self._marks.bar(painter, area, self._theme.muted, hatched=not hollow, hollow=hollow)

        return paint

    def _sign(self, sign: Sign) -> Callable[[QPainter, float, float], None]:
        return lambda painter, x, y: self._marks.sign(painter, QRectF(x + 1, y + 5, 10, 10), sign)

    def height(self, metrics: QFontMetricsF, width: float) -> float:
        """Pixels that all lines take in ``width`` pixels."""
        places = self._places(metrics, width)
        return places[-1][1] + LINE if places else 0.0

    def paint(self, painter: QPainter, metrics: QFontMetricsF, left: float, top: float, width: float) -> None:
        """Paint all entries from the upper left corner on."""
        for entry, (x, y) in zip(self._entries, self._places(metrics, width), strict=True):
            entry.paint(painter, left + x, top + y)
            painter.setPen(QColor(self._theme.muted))
            words = QRectF(left + x + GLYPH, top + y, metrics.horizontalAdvance(entry.words) + 2, LINE)
            painter.drawText(words, Qt.AlignmentFlag.AlignVCenter, entry.words)

    def _places(self, metrics: QFontMetricsF, width: float) -> Sequence[tuple[float, float]]:
        places: list[tuple[float, float]] = []
        x = y = 0.0
        for entry in self._entries:
            wide = GLYPH + metrics.horizontalAdvance(entry.words)
            if x and x + wide > width:
                x, y = 0.0, y + LINE
            places.append((x, y))
            x += wide + BETWEEN
        return places
