# pyright: standard
"""Tables in the look of the window: no grid, thin scroll bars, cells with a reason on hover."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor, QFontMetrics, QFontMetricsF, QHelpEvent, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QToolTip,
    QWidget,
)

from gputuner.gui.fonts import painted
from gputuner.gui.theme import TEXT_SMALL, Theme
from gputuner.gui.widgets.column_widths import Need, shared
from gputuner.gui.widgets.labels import minus

BESIDE = 18
"""Pixels of a cell beside its text."""
MOST = 0.75
"""Part of the names in an open column that others make room for: a few very long ones do not cost all the others."""

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
    """One column: heading, usual width in characters (0: what is left), figures to the right."""

    title: str
    width: int
    right: bool = False
    firm: bool = False
    """Its words are never cut for others' sake; figures to the right are firm too."""


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
            return minus(cell.text) if self.columns[index.column()].right else cell.text
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
            if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
                return self.columns[section].title
            if role == Qt.ItemDataRole.TextAlignmentRole:
                side = Qt.AlignmentFlag.AlignRight if self.columns[section].right else Qt.AlignmentFlag.AlignLeft
                return side | Qt.AlignmentFlag.AlignVCenter
        return None


class _Hints(QStyledItemDelegate):
    """Hovering over a cell whose words are cut tells all of them, before what it tells anyway."""

    def helpEvent(
        self, event: QHelpEvent, view: QAbstractItemView, option: QStyleOptionViewItem, index: _Index
    ) -> bool:
        """Tell the words."""
        rows = index.model()
        if not isinstance(rows, Rows) or not isinstance(view, Table):
            return super().helpEvent(event, view, option, index)
        QToolTip.showText(event.globalPos(), view.hint(index.row(), index.column()), view)
        return True


class Table(QTableView):
    """A quiet read-only table. Its columns share the width by what their words need."""

    shares = True
    """Whether it sets the widths of its columns itself."""

    def __init__(
        self, theme: Theme, columns: Sequence[Column], name: str, row_height: int = 24, rows: Rows | None = None
    ) -> None:
        """An empty table; ``rows``: its model where that is of another kind."""
        super().__init__()
        self.rows = rows or Rows(theme, columns)
        self._wanted: tuple[str, bool] | None = None
        self._widest: dict[int, int] = {}
        self._known: frozenset[str] = frozenset()
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
        self.setItemDelegate(_Hints(self))
        self._characters = [column.width for column in columns]
        for number, column in enumerate(columns):
            mode = QHeaderView.ResizeMode
            header.setSectionResizeMode(number, mode.Fixed if self.shares or column.width else mode.Stretch)
            if column.width:
                self.setColumnWidth(number, self._usual(number))
        self.rows.modelReset.connect(self._measure)
        self.rows.dataChanged.connect(self._measure)

    def _usual(self, column: int) -> int:
        """Pixels of a column as wide as its digits, and of its padding."""
        digit = QFontMetrics(painted(TEXT_SMALL)).horizontalAdvance("0")
        return self._characters[column] * digit + 14 if self._characters[column] else 0

    def set_characters(self, column: int, width: int) -> None:
        """Make a column usually as wide as so many digits."""
        self._characters[column] = width
        self.setColumnWidth(column, self._usual(column))
        self.share()

    def setColumnHidden(self, column: int, hide: bool) -> None:
        """Show or hide a column; the others share the room anew."""
        if self.isColumnHidden(column) != hide:
            super().setColumnHidden(column, hide)
            self.share()

    def hint(self, row: int, column: int) -> str:
        """What hovering over a cell tells."""
        cell = self.rows.cells[row][column]
        cut = self._wide(cell.text) > self.columnWidth(column)
        told = [cell.text, cell.hint] if cut and cell.text not in cell.hint else [cell.hint or cell.text]
        return "\n".join(line for line in told if line)

    def _wide(self, text: str) -> int:
        return ceil(QFontMetricsF(painted(TEXT_SMALL)).horizontalAdvance(text)) + BESIDE

    def _measure(self) -> None:
        """Note how wide the words are; while rows stay the same a column's need only grows, so that nothing jumps."""
        metrics = QFontMetricsF(painted(TEXT_SMALL))
        keys = frozenset(self.rows.keys)
        before = self._widest if keys & self._known else {}
        self._known = keys
        for number in range(len(self.rows.columns)):
            texts = [cells[number].text for cells in self.rows.cells]
            pixels = {text: ceil(metrics.horizontalAdvance(text)) + BESIDE for text in set(texts) if text}
            wide = sorted(pixels[text] for text in texts if text) or [0]
            told = wide[-1] if self._characters[number] else wide[ceil(MOST * (len(wide) - 1))]
            before[number] = max(before.get(number, 0), told)
        self._widest = before
        self.share()

    def share(self) -> None:
        """Give each column the width that it needs, as far as there is room."""
        shown = [n for n in range(len(self.rows.columns)) if not self.isColumnHidden(n)]
        if not self.shares or not shown:
            return
        columns = self.rows.columns
        needs = [
            Need(
                self._usual(n),
                self._widest.get(n, 0),
                self._wide(columns[n].title),
                firm=columns[n].right or columns[n].firm,
            )
            for n in shown
        ]
        for number, width in zip(shown, shared(needs, self.viewport().width()), strict=True):
            if width != self.columnWidth(number):
                self.setColumnWidth(number, width)

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
        self.share()
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
