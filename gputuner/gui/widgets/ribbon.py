# pyright: standard
"""The limiter over time as a coloured ribbon."""

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QBrush, QColor, QMouseEvent, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from gputuner.gui.history import Span
from gputuner.gui.theme import Theme
from gputuner.language import terms
from gputuner.language.words import _
from gputuner.model.quantities import Limiter


class Ribbon(QWidget):
    """Stretches of one colour per limiter; hatched where unknown, empty where there was no telemetry."""

    pointed = Signal(object)
    """Seconds relative to the right end (≤ 0) under the mouse, or None."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._spans: list[Span] = []
        self._t0_s, self._t1_s = 0.0, 1.0
        self._cursor: float | None = None
        self._marks: list[float] = []
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(_("what limited the card over time"))

    def sizeHint(self) -> QSize:
        """One line high."""
        return QSize(200, 16)

    @property
    def spans(self) -> list[Span]:
        """The stretches as shown."""
        return self._spans

    def show_spans(self, spans: list[Span], t0_s: float, t1_s: float, marks: list[float]) -> None:
        """Show stretches between two times; ``marks`` are the times of XID errors."""
        self._spans, self._t0_s, self._t1_s, self._marks = spans, t0_s, t1_s, marks
        self.update()

    def show_cursor(self, relative_s: float | None) -> None:
        """Show the common cursor, in seconds relative to the right end."""
        if relative_s != self._cursor:
            self._cursor = relative_s
            self.update()

    def _x(self, t_s: float) -> float:
        return (t_s - self._t0_s) / max(1e-9, self._t1_s - self._t0_s) * self.width()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint stretches, marks and cursor."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        clip = QPainterPath()
        clip.addRoundedRect(QRectF(self.rect()), 3, 3)
        painter.setClipPath(clip)
        painter.fillRect(self.rect(), QColor(self._theme.sunk))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        per_second, painted = self.width() / max(1e-9, self._t1_s - self._t0_s), -1.0
        for span in self._spans:
            left, right = (span.t0_s - self._t0_s) * per_second, (span.t1_s - self._t0_s) * per_second
            if right < painted + 1.0:  # within a pixel that is painted already
                continue
            if 0.0 < left - painted <= 1.0 and painted > 0:  # what was skipped leaves no gap
                left = painted
            painted = right
            area = QRectF(left, 0, max(1.0, right - left + 0.5), self.height())
            if span.limiter is None:
                painter.fillRect(area, QBrush(QColor(self._theme.strong_line), Qt.BrushStyle.BDiagPattern))
            elif span.limiter is Limiter.UNKNOWN:
                colour = QColor(self._theme.limiter(span.limiter))
                painter.fillRect(area, QBrush(colour, Qt.BrushStyle.BDiagPattern))
            else:
                painter.fillRect(area, QColor(self._theme.limiter(span.limiter)))
        painter.setPen(QPen(QColor(self._theme.danger), 2))
        for mark in self._marks:
            painter.drawLine(int(self._x(mark)), 0, int(self._x(mark)), self.height())
        if self._cursor is not None:
            painter.setPen(QPen(QColor(self._theme.text), 1))
            x = int(self._x(self._t1_s + self._cursor))
            painter.drawLine(x, 0, x, self.height())

    def limiter_at(self, relative_s: float) -> Limiter | None:
        """The limiter at a time relative to the right end; None without telemetry."""
        t_s = self._t1_s + relative_s
        return next((span.limiter for span in self._spans if span.t0_s <= t_s <= span.t1_s), None)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Tell where the mouse is, and what limited the card then."""
        relative = (event.position().x() / max(1, self.width()) - 1) * (self._t1_s - self._t0_s)
        limiter = self.limiter_at(relative)
        words = _("no telemetry") if limiter is None else terms.limiter(limiter)
        QToolTip.showText(event.globalPosition().toPoint(), words, self)
        self.pointed.emit(relative)

    def leaveEvent(self, event: QEvent) -> None:
        """Take the cursor away."""
        self.pointed.emit(None)
