# pyright: standard
"""Tables of words in a frame: what a check, a counter or a history says, row by row."""

from collections.abc import Collection, Sequence

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QFontMetrics, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QHeaderView

from gputuner.gui.plots.frame import PictureFrame
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.labels import label
from gputuner.gui.widgets.tables import Cell, Column, Table
from gputuner.language.numbers import bound
from gputuner.language.tables import Table as WordsTable
from gputuner.language.words import _

ROOM = 22
"""Pixels between the words of two columns."""
ROW = 23
NARROWEST = 60
"""Pixels that a column keeps where not all has room."""
SIDES = 14
"""Pixels of the frame that the columns do not get."""
INSET = 20
"""Pixels of a cell that its words do not get."""


class _WordsTable(Table):
    """Its frame says how wide the columns are."""

    shares = False


class TableFrame(PictureFrame):
    """A titled table whose columns are as wide as their words, the first one gets what is left; lines below it.

    Where that is too wide, words of the widest columns go on in a further line.
    """

    def __init__(self, theme: Theme, title: str, headers: Sequence[str], right: Sequence[int] = ()) -> None:
        super().__init__(title)
        columns = [Column(name, 0 if number == 0 else 8, number in right) for number, name in enumerate(headers)]
        self.table = _WordsTable(theme, columns, title, row_height=ROW)
        self.table.horizontalHeader().setMinimumSectionSize(24)
        self.table.setWordWrap(True)
        self.body.setContentsMargins(4, 0, 4, 6)
        self.set_picture(self.table)
        self._lines = label("", "muted", wrap=True)
        self._lines.setContentsMargins(8, 2, 8, 2)
        self._lines.hide()
        self.body.addWidget(self._lines)
        self._words: tuple[tuple[str, ...], ...] = ()
        self.table.hide()

    @property
    def texts(self) -> tuple[tuple[str, ...], ...]:
        """The cells as shown."""
        return self._words

    @property
    def lines_text(self) -> str:
        """What stands below the table."""
        return self._lines.text()

    def show_table(self, shown: WordsTable, lines: Sequence[str] = (), bad: Collection[int] = ()) -> None:
        """Show these rows, and lines below them; a table without a row is not there. ``bad``: rows of faults."""
        self._lines.setText("\n".join(lines))
        self._lines.setVisible(bool(lines))
        if shown.rows == self._words:
            return
        self._words = tuple(shown.rows)
        self.table.setVisible(bool(shown.rows))
        self.table.rows.show_rows(
            [(str(n), [Cell(bound(text), bad=n in bad) for text in row]) for n, row in enumerate(shown.rows)]
        )
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give the columns the room there is."""
        super().resizeEvent(event)
        self._fit()

    def showEvent(self, event: QShowEvent) -> None:
        """The style's font is known from now on."""
        super().showEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Each column as wide as its words; where that is too much, the widest ones get more lines."""
        if not self._words:
            return
        metrics = QFontMetrics(self.table.font())
        titles = [column.title for column in self.table.rows.columns]
        wide = [
            max(metrics.horizontalAdvance(text) for text in (title, *(row[number] for row in self._words))) + ROOM
            for number, title in enumerate(titles)
        ]
        room = self.width() - SIDES
        while sum(wide) > room and max(wide) > NARROWEST:
            wide[wide.index(max(wide))] -= 4
        wide[0] = max(wide[0], room - sum(wide[1:]))
        header = self.table.horizontalHeader()
        for number in range(1, len(titles)):
            header.setSectionResizeMode(number, QHeaderView.ResizeMode.Fixed)
            self.table.setColumnWidth(number, wide[number])
        tall = [
            max(_tall(metrics, bound(text), width) for text, width in zip(row, wide, strict=True))
            for row in self._words
        ]
        for number, height in enumerate(tall):
            self.table.setRowHeight(number, height)
        self.table.setFixedHeight(ROW + sum(tall) + 4)


def _tall(metrics: QFontMetrics, text: str, width: int) -> int:
    """Height of a cell whose words have so much room, pixels."""
    box = QRect(0, 0, width - INSET, 10_000)
    lines = metrics.boundingRect(box, int(Qt.TextFlag.TextWordWrap), text).height()
    return max(ROW, lines + ROW - metrics.height())


def nothing_yet() -> str:
    """What a picture says before its figures are there."""
    return _("told at the end of the test")
