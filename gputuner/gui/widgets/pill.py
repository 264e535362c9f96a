# pyright: standard
"""The rounded word that says what limits the card."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gputuner.gui.fonts import painted
from gputuner.gui.icons import paint_limiter
from gputuner.gui.theme import RADIUS, TEXT_SMALL, Theme, text_on
from gputuner.model.quantities import Limiter


class LimiterPill(QWidget):
    """Glyph and words on the limiter's colour."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._limiter = Limiter.UNKNOWN
        self._words = ""
        self._font = painted(TEXT_SMALL, bold=True)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    @property
    def words(self) -> str:
        """The words as shown."""
        return self._words

    def show_limiter(self, limiter: Limiter, words: str) -> None:
        """Show a limiter."""
        if (limiter, words) != (self._limiter, self._words):
            self._limiter, self._words = limiter, words
            self.setAccessibleName(words)
            self.updateGeometry()
            self.update()

    def sizeHint(self) -> QSize:
        """Room for glyph and words."""
        return QSize(QFontMetrics(self._font).horizontalAdvance(self._words) + 36, 22)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the pill."""
        if not self._words:
            return
        colour = self._theme.limiter(self._limiter)
        ink = text_on(colour)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colour))
        painter.drawRoundedRect(QRectF(self.rect()), RADIUS, RADIUS)
        paint_limiter(painter, QRectF(9, self.height() / 2 - 5.5, 11, 11), self._limiter, ink)
        painter.setFont(self._font)
        painter.setPen(QColor(ink))
        painter.drawText(self.rect().adjusted(25, 0, -6, 0), Qt.AlignmentFlag.AlignVCenter, self._words)
