# pyright: standard
"""The hatched strip that says that numbers are simulated or replayed."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gputuner.gui.fonts import painted
from gputuner.gui.theme import TEXT_SMALL, Theme, tinted
from gputuner.language.words import _
from gputuner.model.cards import Origin


def origin_sentence(origin: Origin) -> str:
    """What a reader must know of numbers of this origin; empty for measured ones."""
    if origin is Origin.SIMULATED:
        return _("Simulated: these numbers come from a model of the card, not from a card")
    if origin is Origin.REPLAYED:
        return _("Replayed: these numbers were recorded earlier")
    return ""


def paint_strip(painter: QPainter, area: QRectF, theme: Theme, words: str, font: QFont) -> None:
    """Hatch an area, with words on a plain ground in its middle."""
    painter.fillRect(area, QColor(theme.surface))
    painter.fillRect(area, QBrush(tinted(theme.warning, 95), Qt.BrushStyle.BDiagPattern))
    width = QFontMetrics(font).horizontalAdvance(words) + 24
    ground = QRectF(area.left() + (area.width() - width) / 2, area.top(), width, area.height())
    painter.fillRect(ground, QColor(theme.surface))
    painter.setFont(font)
    painter.setPen(QColor(theme.warning))
    painter.drawText(ground, Qt.AlignmentFlag.AlignCenter, words)


class HatchStrip(QWidget):
    """Hidden for measured numbers."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._words = ""
        self._font = painted(TEXT_SMALL - 1)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setVisible(False)

    @property
    def words(self) -> str:
        """The sentence on the strip."""
        return self._words

    def show_origin(self, origin: Origin) -> None:
        """Show the strip for an origin."""
        self._words = origin_sentence(origin)
        self.setAccessibleName(self._words)
        self.setVisible(bool(self._words))
        self.update()

    def sizeHint(self) -> QSize:
        """A thin line."""
        return QSize(200, 16)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Hatch, with the words on a plain ground."""
        paint_strip(QPainter(self), QRectF(self.rect()), self._theme, self._words, self._font)
