# pyright: standard
"""Tables of words in a frame: what a check, a counter or a history says, row by row."""

from collections.abc import Sequence

from PySide6.QtGui import QFontMetrics, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QHeaderView

from gputuner.gui.plots.frame import PictureFrame
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.labels import label
from gputuner.gui.widgets.tables import Cell, Column, Table
from gputuner.language.tables import Table as WordsTable
from gputuner.language.words import _

ROOM = 24
"""Pixels between the words of two columns."""
ROW = 23
NARROWEST = 60
"""Pixels that a column keeps where not all has room."""


class TableFrame(PictureFrame):
    """A titled table whose columns are as wide as their words, the first one gets what is left; lines below it."""

    def __init__(self, theme: Theme, title: str, headers: Sequence[str], right: Sequence[int] = ()) -> None:
        super().__init__(title)
        columns = [Column(name, 0 if number == 0 else 8, number in right) for number, name in enumerate(headers)]
        self.table = Table(theme, columns, title, row_height=ROW)
        self.table.horizontalHeader().setMinimumSectionSize(24)
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

    def show_table(self, shown: WordsTable, lines: Sequence[str] = ()) -> None:
        """Show these rows, and lines below them; a table without a row is not there."""
        self._lines.setText("\n".join(lines))
        self._lines.setVisible(bool(lines))
        if shown.rows == self._words:
            return
        self._words = tuple(shown.rows)
        self.table.setVisible(bool(shown.rows))
        self.table.rows.show_rows([(str(n), [Cell(text) for text in row]) for n, row in enumerate(shown.rows)])
        self.table.setFixedHeight(ROW * (len(shown.rows) + 1) + 4)
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
        """Each column as wide as its words; where that is too much, the widest ones are cut, hovering tells them."""
        if not self._words:
            return
        metrics = QFontMetrics(self.table.font())
        titles = [column.title for column in self.table.rows.columns]
        wide = [
            max(metrics.horizontalAdvance(text) for text in (title, *(row[number] for row in self._words))) + ROOM
            for number, title in enumerate(titles)
        ]
        room = self.width() - 2 * ROOM
        while sum(wide) > room and max(wide) > NARROWEST:
            wide[wide.index(max(wide))] -= 4
        header = self.table.horizontalHeader()
        for number in range(1, len(titles)):
            header.setSectionResizeMode(number, QHeaderView.ResizeMode.Fixed)
            self.table.setColumnWidth(number, wide[number])


def nothing_yet() -> str:
    """What a picture says before its figures are there."""
    return _("told at the end of the test")
