# pyright: standard
"""What a command writes, as it grows: the last lines of its file, read on a timer while it is seen."""

from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtGui import QHideEvent, QMouseEvent, QShowEvent
from PySide6.QtWidgets import QPlainTextEdit

from gputuner.gui.terminal_lines import TerminalLines
from gputuner.language.words import _

LOOK_MS = 250
"""Time between two looks at the file."""
AT_ONCE = 1 << 18
"""Bytes that one look takes at most: the window never waits for a command that writes without end."""
LINES_AT_MOST = 4000


class OutputLog(QPlainTextEdit):
    """Follows one file; scrolls along until a reader scrolls away from its end."""

    def __init__(self) -> None:
        super().__init__()
        self.setReadOnly(True)
        self.setProperty("role", "code")
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setMaximumBlockCount(LINES_AT_MOST)
        self.setAccessibleName(_("what the command writes"))
        self.setPlaceholderText(_("it has written nothing yet"))
        self._path: Path | None = None
        self._offset = 0
        self._lines = TerminalLines()
        self._follows = True
        bar = self.verticalScrollBar()
        bar.actionTriggered.connect(lambda _action: self._scrolled())
        bar.rangeChanged.connect(lambda _least, most: bar.setValue(most) if self._follows else None)
        self._timer = QTimer(self)
        self._timer.setInterval(LOOK_MS)
        self._timer.timeout.connect(self.look)

    def follow(self, path: Path | None) -> None:
        """Show this file from its end; None: there is none."""
        if path == self._path:
            return
        self._path, self._lines = path, TerminalLines()
        self._offset = 0 if path is None else max(0, _size(path) - AT_ONCE)
        self._follows = True
        self.clear()
        if self.isVisible():
            self.look()
            self._timer.start()

    def look(self) -> None:
        """Take in what was written since the last look."""
        if self._path is None or _size(self._path) <= self._offset:
            return
        with self._path.open("rb") as file:
            file.seek(self._offset)
            data = file.read(AT_ONCE)
        self._offset += len(data)
        whole, rest = self._lines.take(data)
        self._put(whole, rest)

    def showEvent(self, event: QShowEvent) -> None:
        """Follow while it is seen."""
        super().showEvent(event)
        self.look()
        self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:
        """No look while hidden."""
        super().hideEvent(event)
        self._timer.stop()

    def _put(self, whole: list[str], rest: str) -> None:
        """Finished lines, then the one that is still written: it stands last and is replaced."""
        cursor = self.textCursor()
        cursor.movePosition(cursor.MoveOperation.End)
        cursor.movePosition(cursor.MoveOperation.StartOfBlock, cursor.MoveMode.KeepAnchor)
        cursor.insertText("\n".join([*whole, rest]))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """A selection that was drawn away from the end stays in sight."""
        super().mouseReleaseEvent(event)
        self._scrolled()

    def _scrolled(self) -> None:
        bar = self.verticalScrollBar()
        self._follows = bar.sliderPosition() >= bar.maximum()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
