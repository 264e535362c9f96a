# pyright: standard
"""Bars cut into shares: what a slowdown comes from, each share with its colour, its pattern and its words."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPoint, QRectF, QSize, Qt
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFontMetricsF,
    QHelpEvent,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QScrollArea, QSizePolicy, QToolTip, QWidget

from gputuner.gui.fonts import painted
from gputuner.gui.plots.bar_key import BarKey
from gputuner.gui.theme import TEXT_SMALL, Theme, text_on, tinted

ROW, HEIGHT, HEADING = 30.0, 18.0, 26.0
"""Pixels of a row, of its bar, and of a heading."""
EDGE, GAP = 12.0, 10.0
NAMES_AT_MOST = 0.38
"""Share of the width that names take at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A part of a whole, 0–1."""

    name: str
    value: float
    colour: str
    pattern: Qt.BrushStyle = Qt.BrushStyle.SolidPattern
    point_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareRow:
    """One whole with its parts; ``text`` stands at its right."""

    name: str
    shares: tuple[Share, ...]
    text: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroup:
    """Rows under a heading."""

    title: str
    rows: tuple[ShareRow, ...]


class ShareBars(QWidget):
    """Groups of cut bars; what the shares leave of the whole stays an empty track."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.groups: tuple[ShareGroup, ...] = ()
        self._marked: frozenset[str] = frozenset()
        self._at = 0
        self._font = painted(TEXT_SMALL)
        self._key = BarKey(theme)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def show_groups(self, groups: Sequence[ShareGroup]) -> None:
        """Show these; the same again costs nothing."""
        if tuple(groups) != self.groups:
            self.groups, self._at = tuple(groups), 0
            shares = {share.name: share for group in groups for row in group.rows for share in row.shares}
            self._key.explain([(name, self._swatch(share)) for name, share in shares.items()])
            self.updateGeometry()
            self.update()

    def _swatch(self, share: Share) -> Callable[[QPainter, float, float], None]:
        return lambda painter, x, y: self._fill(painter, share, QRectF(x, y + 5, 13, 10))

    @property
    def key(self) -> tuple[str, ...]:
        """The shares that the key explains."""
        return self._key.words

    def _head(self) -> float:
        """Pixels that the key takes."""
        return self._key.height(QFontMetricsF(self._font), self.width() - 2 * EDGE)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The key may need more or fewer lines."""
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.updateGeometry()
            if self.minimumHeight():
                self.setMinimumHeight(self.sizeHint().height())

    def mark(self, point_ids: frozenset[str]) -> None:
        """Mark the shares of these points as evidence."""
        self._marked = point_ids
        self.update()

    def sizeHint(self) -> QSize:
        """Room for all rows."""
        rows = sum(HEADING + ROW * len(group.rows) for group in self.groups)
        return QSize(400, int(12 + self._head() + rows))

    def minimumSizeHint(self) -> QSize:
        """Narrow."""
        return QSize(260, min(120, self.sizeHint().height()))

    @property
    def columns(self) -> tuple[float, float]:
        """Left and right end of the bars in pixels."""
        metrics = QFontMetricsF(self._font)
        rows = [row for group in self.groups for row in group.rows]
        names = max((metrics.horizontalAdvance(row.name) for row in rows), default=0.0)
        texts = max((metrics.horizontalAdvance(row.text) for row in rows), default=0.0)
        left = EDGE + min(names, NAMES_AT_MOST * self.width()) + GAP
        return left, max(left + 40.0, self.width() - EDGE - texts - (GAP if texts else 0.0))

    def event(self, event: QEvent) -> bool:
        """Hovering over a bar tells its shares."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            y = event.pos().y()
            row = next((row for row, top in self._rows() if top <= y < top + ROW), None)
            QToolTip.showText(event.globalPos(), row.hint if row else "", self)
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrow keys go from bar to bar and tell what hovering tells."""
        rows = self._rows()
        step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()))
        if step is None or not rows:
            super().keyPressEvent(event)
            return
        self._at = min(max(self._at + step, 0), len(rows) - 1)
        row, top = rows[self._at]
        self.setAccessibleName(f"{row.name}, {row.text}")
        self.setAccessibleDescription(row.hint)
        viewport = self.parentWidget()
        area = viewport.parentWidget() if viewport is not None else None
        if isinstance(area, QScrollArea):
            area.ensureVisible(0, int(top + ROW / 2), 0, int(ROW))
        QToolTip.showText(self.mapToGlobal(QPoint(int(EDGE), int(top + ROW))), row.hint, self)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint all groups from the top."""
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(self._theme.surface))
        painter.setFont(self._font)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._key.paint(painter, QFontMetricsF(self._font), EDGE, 4, self.width() - 2 * EDGE)
        y = 4.0 + self._head()
        for group in self.groups:
            painter.setPen(QColor(self._theme.muted))
            title = painter.fontMetrics().elidedText(
                group.title, Qt.TextElideMode.ElideRight, int(self.width() - 2 * EDGE)
            )
            painter.drawText(QRectF(EDGE, y, self.width() - 2 * EDGE, HEADING), Qt.AlignmentFlag.AlignVCenter, title)
            y += HEADING
            for row in group.rows:
                self._row(painter, row, y)
                y += ROW
        if self.hasFocus():
            for _row, top in self._rows()[self._at : self._at + 1]:
                painter.setPen(QPen(QColor(self._theme.accent), 1.5))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRoundedRect(QRectF(4, top, self.width() - 8, ROW), 4, 4)

    def _rows(self) -> list[tuple[ShareRow, float]]:
        """All bars with their upper edge in pixels."""
        found: list[tuple[ShareRow, float]] = []
        y = 4.0 + self._head()
        for group in self.groups:
            y += HEADING
            for row in group.rows:
                found.append((row, y))
                y += ROW
        return found

    def _row(self, painter: QPainter, row: ShareRow, y: float) -> None:
        left, right = self.columns
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.setPen(QColor(self._theme.text))
        name = painter.fontMetrics().elidedText(row.name, Qt.TextElideMode.ElideRight, int(left - GAP - EDGE) + 1)
        painter.drawText(QRectF(EDGE, y, left - EDGE - GAP + 1, ROW), middle, name)
        painter.drawText(QRectF(right + GAP, y, self.width() - right - GAP, ROW), middle, row.text)
        top = y + (ROW - HEIGHT) / 2
        painter.setPen(QPen(QColor(self._theme.line), 1))
        painter.setBrush(QColor(self._theme.surface))
        painter.drawRoundedRect(QRectF(left, top, right - left, HEIGHT), 2, 2)
        x = left
        for share in row.shares:
            width = min(max(0.0, share.value) * (right - left), right - x)
            self._share(painter, share, QRectF(x, top, width, HEIGHT))
            x += width

    def _fill(self, painter: QPainter, share: Share, area: QRectF) -> None:
        """Colour and pattern of a share."""
        solid = share.pattern is Qt.BrushStyle.SolidPattern
        painter.setPen(QPen(QColor(self._theme.surface), 1))
        painter.setBrush(QColor(share.colour) if solid else tinted(share.colour, 50))
        painter.drawRect(area)
        if not solid:
            painter.setBrush(QBrush(QColor(share.colour), share.pattern))
            painter.drawRect(area)

    def _share(self, painter: QPainter, share: Share, area: QRectF) -> None:
        solid = share.pattern is Qt.BrushStyle.SolidPattern
        self._fill(painter, share, area)
        metrics, room = QFontMetricsF(self._font), area.width() - 8
        told = f"{share.name} {100 * share.value:.0f}\u00a0%"
        told = told if metrics.horizontalAdvance(told) <= room else share.name
        wide = metrics.horizontalAdvance(told)
        if wide + 8 <= area.width():
            if not solid:
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(QColor(self._theme.surface))
                painter.drawRoundedRect(
                    QRectF(area.center().x() - wide / 2 - 3, area.top() + 2, wide + 6, HEIGHT - 4), 2, 2
                )
            painter.setPen(QColor(text_on(share.colour) if solid else self._theme.text))
            painter.drawText(area, Qt.AlignmentFlag.AlignCenter, told)
        if share.point_id and share.point_id in self._marked:
            painter.setPen(QPen(QColor(self._theme.accent), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(area.adjusted(-1, -2, 1, 2))
