# pyright: standard
"""A thin bar for a fraction of a limit."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gputuner.gui.theme import Theme


class Bar(QWidget):
    """Shows a fraction 0–1; None is drawn as an empty hatched track."""

    def __init__(self, theme: Theme, colour: str, height: int = 5) -> None:
        super().__init__()
        self._theme = theme
        self._colour = colour
        self._fraction: float | None = 0.0
        self._height = height
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        """Wide and thin."""
        return QSize(80, self._height)

    @property
    def fraction(self) -> float | None:
        """What is shown."""
        return self._fraction

    def show_fraction(self, fraction: float | None, colour: str | None = None) -> None:
        """Show a fraction (values above 1 fill the bar)."""
        colour = colour or self._colour
        if fraction != self._fraction or colour != self._colour:
            self._fraction, self._colour = fraction, colour
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint track and filling."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        radius = self.height() / 2
        track = QRectF(self.rect())
        painter.setBrush(QColor(self._theme.sunk))
        painter.drawRoundedRect(track, radius, radius)
        if self._fraction is None:
            painter.setBrush(QBrush(QColor(self._theme.strong_line), Qt.BrushStyle.BDiagPattern))
            painter.drawRoundedRect(track, radius, radius)
        elif self._fraction > 0:
            painter.setBrush(QColor(self._colour))
            width = max(2 * radius, track.width() * min(1.0, self._fraction))
            painter.drawRoundedRect(QRectF(0, 0, width, track.height()), radius, radius)
