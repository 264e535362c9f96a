# pyright: standard
"""Tables in the look of the window: no grid, thin scroll bars, cells with a reason on hover."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor, QFontMetrics, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from gputuner.gui.fonts import painted
from gputuner.gui.theme import TEXT_SMALL, Theme

_Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: its text, a tooltip, whether it is only an aside, and whether it tells of a fault."""

    text: str
    hint: str = ""
    muted: bool = False
    bad: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """One column: heading, width in characters (0: what is left), figures to the right."""

    title: str
    width: int
    right: bool = False


class Rows(QAbstractTableModel):
    """Rows of cells, each with a key."""

    def __init__(self, theme: Theme, columns: Sequence[Column]) -> None:
        super().__init__()
        self._muted, self._danger = QColor(theme.muted), QColor(theme.danger)
        self.columns = list(columns)
        self.keys: list[str] = []
        self.cells: list[list[Cell]] = []

    def show_rows(self, rows: Sequence[tuple[str, list[Cell]]]) -> None:
        """Show these rows; the same rows again cost nothing, and a same-length table keeps its selection."""
        keys = [key for key, _cells in rows]
        cells = [list(cells) for _key, cells in rows]
        if keys == self.keys and cells == self.cells:
            return
        if keys == self.keys:
            self.cells = cells
            self.dataChanged.emit(self.index(0, 0), self.index(len(keys) - 1, len(self.columns) - 1))
            return
        self.beginResetModel()
        self.keys, self.cells = keys, cells
        self.endResetModel()

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008
        """Number of rows."""
        return 0 if parent.isValid() else len(self.keys)

    def columnCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008
        """Number of columns."""
        return 0 if parent.isValid() else len(self.columns)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Text, tooltip, alignment and colour of a cell."""
        cell = self.cells[index.row()][index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return cell.text
        if role == Qt.ItemDataRole.ToolTipRole:
            return cell.hint or cell.text
        if role == Qt.ItemDataRole.TextAlignmentRole and self.columns[index.column()].right:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        if role == Qt.ItemDataRole.ForegroundRole and (cell.muted or cell.bad):
            return self._danger if cell.bad else self._muted
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """Headings."""
        if orientation is Qt.Orientation.Horizontal:
            if role == Qt.ItemDataRole.DisplayRole:
                return self.columns[section].title
            if role == Qt.ItemDataRole.TextAlignmentRole:
                side = Qt.AlignmentFlag.AlignRight if self.columns[section].right else Qt.AlignmentFlag.AlignLeft
                return side | Qt.AlignmentFlag.AlignVCenter
        return None


class Table(QTableView):
    """A quiet read-only table."""

    def __init__(
        self, theme: Theme, columns: Sequence[Column], name: str, row_height: int = 24, rows: Rows | None = None
    ) -> None:
        """An empty table; ``rows``: its model where that is of another kind."""
        super().__init__()
        self.rows = rows or Rows(theme, columns)
        self._wanted: tuple[str, bool] | None = None
        self.verticalScrollBar().actionTriggered.connect(self._let_go)
        self.setModel(self.rows)
        self.setAccessibleName(name)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(row_height)
        self.verticalHeader().setMinimumSectionSize(row_height)
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionsClickable(False)
        header.setFixedHeight(row_height)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerItem)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTabKeyNavigation(False)
        for number, column in enumerate(columns):
            if column.width:
                header.setSectionResizeMode(number, QHeaderView.ResizeMode.Fixed)
                self.set_characters(number, column.width)
            else:
                header.setSectionResizeMode(number, QHeaderView.ResizeMode.Stretch)

    def set_characters(self, column: int, width: int) -> None:
        """Make a column as wide as so many digits."""
        digit = QFontMetrics(painted(TEXT_SMALL)).horizontalAdvance("0")
        self.setColumnWidth(column, width * digit + 14)

    def show_key(self, key: str, last: bool = False) -> None:
        """Scroll so that the row of ``key`` is the first (or the last) that is seen."""
        hints = QAbstractItemView.ScrollHint
        place = hints.PositionAtBottom if last else hints.PositionAtTop
        self._wanted = key, last
        self.executeDelayedItemsLayout()  # else rows that have just come are beyond the scroll bar's end
        self.scrollTo(self.rows.index(self.rows.keys.index(key), 0), place)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the wanted row where it was, unless the user has scrolled since."""
        super().resizeEvent(event)
        if self._wanted is not None and self._wanted[0] in self.rows.keys:
            self.show_key(*self._wanted)

    def _let_go(self) -> None:
        self._wanted = None

    def on_current(self, act: Callable[[str], None]) -> None:
        """Call ``act`` with the key of the row that becomes current."""

        def changed(current: QModelIndex, _previous: QModelIndex) -> None:
            if current.isValid():
                act(self.rows.keys[current.row()])

        self.selectionModel().currentRowChanged.connect(changed)

    def current_key(self) -> str | None:
        """Key of the current row."""
        index = self.currentIndex()
        return self.rows.keys[index.row()] if index.isValid() else None


class WholeRows(QWidget):
    """Holds a table as high as whole rows need: none is sliced at the lower edge."""

    def __init__(self, table: Table, least: int) -> None:
        super().__init__()
        self.setProperty("role", "clear")
        self._table = table
        table.setParent(self)
        self.setMinimumHeight(self._height(least))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give the table the room that whole rows fill."""
        super().resizeEvent(event)
        row = self._table.verticalHeader().defaultSectionSize()
        rows = max(1, (self.height() - self._height(0)) // row)
        self._table.setGeometry(0, 0, self.width(), min(self.height(), self._height(rows)))

    def _height(self, rows: int) -> int:
        """Pixels of a table with so many rows."""
        table = self._table
        frame = 2 * table.frameWidth()
        return table.horizontalHeader().height() + rows * table.verticalHeader().defaultSectionSize() + frame
