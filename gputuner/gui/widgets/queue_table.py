# pyright: standard
"""The table of the queue's jobs; waiting ones are dragged, or moved by keys, to another place."""

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QDragMoveEvent, QDropEvent, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView

from gputuner.gui.theme import Theme
from gputuner.gui.widgets.tables import Cell, Column, Rows, Table
from gputuner.language.words import _

JOB, WHY, NEEDS, ROOMY = 1, 3, 4, 760
"""Columns, and the width in pixels below which that of the needs is left out."""
BESIDE = 22
"""Pixels of a cell beside its text."""


class _QueueRows(Rows):
    """Rows of which some can be dragged."""

    def __init__(self, theme: Theme, columns: Sequence[Column]) -> None:
        super().__init__(theme, columns)
        self.movable: frozenset[str] = frozenset()

    def flags(self, index: QModelIndex | QPersistentModelIndex) -> Qt.ItemFlag:
        """Waiting jobs can be dragged, and everything is a place to drop on."""
        flags = super().flags(index)
        if index.isValid() and self.keys[index.row()] in self.movable:
            flags |= Qt.ItemFlag.ItemIsDragEnabled
        return flags | Qt.ItemFlag.ItemIsDropEnabled


class QueueTable(Table):
    """Jobs in their order."""

    moved = Signal(int, object, object)
    """A job's id, and the id of the job that it goes before or behind (one of the two is None)."""
    shares = False

    def __init__(self, theme: Theme) -> None:
        columns = [
            Column(_("No."), 4, right=True),
            Column(_("Job"), 0),
            Column(_("State"), 11),
            Column(_("Why"), 0),
            Column(_("Memory"), 10, right=True),
            Column(_("Card"), 5),
            Column(_("Time"), 10, right=True),
        ]
        self._rows = _QueueRows(theme, columns)
        super().__init__(theme, columns, _("jobs"), rows=self._rows)
        self.horizontalHeader().setSectionResizeMode(JOB, QHeaderView.ResizeMode.Fixed)
        self.setDragEnabled(True)
        self.setAcceptDrops(True)
        self.setDropIndicatorShown(True)
        self.setDragDropOverwriteMode(False)
        self.setDragDropMode(QAbstractItemView.DragDropMode.InternalMove)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """In a narrow table job and reason get the room of the needs too (hovering tells them)."""
        super().resizeEvent(event)
        self.setColumnHidden(NEEDS, self.width() < ROOMY)
        self._share_room()

    def _share_room(self) -> None:
        """Job and reason share what the others leave, two to three; or the job gets what the reasons do not need."""
        told = [n for n, column in enumerate(self.rows.columns) if column.width and not self.isColumnHidden(n)]
        room = max(0, self.viewport().width() - sum(map(self.columnWidth, told)))
        wanted = {column: self._wanted_width(column) for column in (JOB, WHY)}
        job = max(room * 2 // 5, min(wanted[JOB], room - wanted[WHY]))
        if job != self.columnWidth(JOB):
            self.setColumnWidth(JOB, job)

    def _wanted_width(self, column: int) -> int:
        """Pixels in which no text of the column is cut."""
        metrics = self.fontMetrics()
        return BESIDE + max((metrics.horizontalAdvance(cells[column].text) for cells in self.rows.cells), default=0)

    def show_jobs(self, rows: Sequence[tuple[str, list[Cell]]], movable: Sequence[int]) -> None:
        """Show these jobs, ``movable`` ones in their order; the chosen one stays chosen where it is still there."""
        chosen = self.current_key()
        keys = list(self.rows.keys)
        self._rows.movable = frozenset(map(str, movable))
        self.rows.show_rows(rows)
        self._share_room()
        if self.rows.keys != keys and chosen in self.rows.keys:
            self.setCurrentIndex(self.rows.index(self.rows.keys.index(chosen), 0))

    @property
    def movable(self) -> list[int]:
        """The waiting jobs in their order."""
        return [int(key) for key in self.rows.keys if key in self._rows.movable]

    def move_by(self, step: int) -> None:
        """Move the chosen job up (−1) or down (1) among the waiting ones."""
        key = self.current_key()
        waiting = self.movable
        if key is None or int(key) not in waiting:
            return
        at = waiting.index(int(key))
        if step < 0 and at > 0:
            self.moved.emit(int(key), waiting[at - 1], None)
        elif step > 0 and at < len(waiting) - 1:
            self.moved.emit(int(key), None, waiting[at + 1])

    def drop_at(self, key: str, row: int) -> None:
        """Put a job before what stands in ``row`` (one past the last: at the end)."""
        waiting = self.movable
        if key not in self._rows.movable:
            return
        before = [int(other) for other in self.rows.keys[row:] if other in self._rows.movable]
        if before and before[0] != int(key):
            place = waiting.index(before[0])
            if place == 0 or waiting[place - 1] != int(key):
                self.moved.emit(int(key), before[0], None)
        elif not before and waiting[-1] != int(key):
            self.moved.emit(int(key), None, waiting[-1])

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Alt with an arrow moves the chosen job."""
        step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()), 0)
        if step and event.modifiers() & Qt.KeyboardModifier.AltModifier:
            self.move_by(step)
            return
        super().keyPressEvent(event)

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        """Only its own rows are taken."""
        super().dragMoveEvent(event)
        if event.source() is self:
            event.accept()

    def dropEvent(self, event: QDropEvent) -> None:
        """Tell where the row is to go; the rows themselves follow with the next look at the queue."""
        key = self.current_key()
        if event.source() is not self or key is None:
            event.ignore()
            return
        event.setDropAction(Qt.DropAction.CopyAction)
        event.accept()
        self.drop_at(key, self.row_below(event.position().toPoint()))

    def row_below(self, place: QPoint) -> int:
        """The row that what is dropped at a place (pixels) goes before; one past the last: at the end."""
        index = self.indexAt(place)
        if not index.isValid():
            return len(self.rows.keys)
        return index.row() + (1 if place.y() > self.visualRect(index).center().y() else 0)
