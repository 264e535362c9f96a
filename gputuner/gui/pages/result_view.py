# pyright: standard
"""The result of a run: pictures to choose from, the table of figures, and ways to take them along."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtGui import QGuiApplication, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from gputuner.gui.pages.pictures import Pictures
from gputuner.gui.pages.saved_picture import SavedPicture
from gputuner.gui.results_text import comma_separated, measured_with
from gputuner.gui.run_state import RunFacts
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.flow import FlowLayout
from gputuner.gui.widgets.labels import Elided, card
from gputuner.gui.widgets.save import ask_where
from gputuner.gui.widgets.tables import Cell, Column, Table, WholeRows
from gputuner.language.words import _
from gputuner.model.points import Point

LEAST_ROWS = 4
"""Rows of the table that are always seen."""
TALL = 820
"""Pixels of the view from which on also tall pictures have a table below them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultKind:
    """What tells the result of one experiment from another's."""

    titles: Mapping[str, str]
    """Words of the pictures by name, in their order."""
    picture_of_step: Callable[[str], str]
    """The picture that a step (its label) feeds."""
    picture_of_figure: Callable[[Point], str]
    """The picture that a figure belongs to."""
    columns: Sequence[Column]
    """Of the table; the first one gets the room that is left."""
    row: Callable[[Point], list[Cell]]
    """A figure's cells."""
    listed: Callable[[Sequence[Point]], Sequence[Point]] = list
    """The figures that the table has, in its order; those of a long curve are seen in the picture alone."""
    late: bool = False
    """Figures come at the end alone: until then there is no table."""
    alone: frozenset[str] = frozenset()
    """Pictures that need the height of the table too."""
    tall: frozenset[str] = frozenset()
    """Pictures that need it in a low window."""
    hides: Mapping[int, int]
    """Columns that are left out below a width of the view, pixels (hovering over a figure tells them)."""


class ResultView(QWidget):
    """Follows the run's step with its picture until the user chooses one."""

    def __init__(self, theme: Theme, kind: ResultKind, pictures: Pictures) -> None:
        super().__init__()
        self.setProperty("role", "clear")
        self._theme = theme
        self._kind = kind
        self._facts = RunFacts()
        self._chosen: str | None = None
        self._drawn: tuple[int, int, int, bool] | None = None
        self.pictures = pictures
        pictures.rows_changed.connect(self._show_rows)
        self.table = Table(
            theme,
            kind.columns,
            _("measured figures"),
            row_height=22,
        )
        self.table.on_current(lambda key: self.mark(frozenset((key,)), switch=False))
        self._below = frame = card()
        self._listing = WholeRows(self.table, LEAST_ROWS)
        inside = QVBoxLayout(frame)
        inside.setContentsMargins(4, 2, 4, 4)
        inside.setSpacing(2)
        inside.addWidget(self._listing, 1)
        self._conditions = Elided()
        self._conditions.setContentsMargins(9, 0, 9, 2)
        last = QHBoxLayout()
        last.setSpacing(4)
        last.setContentsMargins(0, 0, 4, 0)
        last.addWidget(self._conditions, 1)
        inside.addLayout(last)
        self._column = layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addLayout(self._buttons(last))
        layout.addWidget(self.pictures, 3)
        layout.addWidget(frame, 1)
        self.show_name(next(iter(kind.titles)), chosen=False)

    def _buttons(self, last: QHBoxLayout) -> FlowLayout:
        flow = FlowLayout(4)
        group = QButtonGroup(self)
        self.segments: dict[str, QPushButton] = {}
        for name, words in self._kind.titles.items():
            button = QPushButton(words)
            button.setCheckable(True)
            button.setProperty("segment", True)
            button.clicked.connect(lambda _checked=False, name=name: self.show_name(name))
            group.addButton(button)
            flow.addWidget(button)
            self.segments[name] = button
            button.setVisible(len(self._kind.titles) > 1)  # a single one chooses nothing
        self.copy_button = QPushButton(_("Copy"))
        self.copy_button.setToolTip(_("Copy the table as Markdown (Ctrl+Shift+C)"))
        self.copy_button.clicked.connect(self.copy_markdown)
        self.save_button = QPushButton(_("Save…"))
        self.save_button.setToolTip(_("Save the picture as PNG or SVG, or the figures as CSV (Ctrl+S)"))
        self.save_button.clicked.connect(self.ask_save)
        for button in (self.copy_button, self.save_button):
            button.setProperty("small", True)
            last.addWidget(button)
        return flow

    def show_facts(self, facts: RunFacts, now: bool = False) -> None:
        """Show a run (the caller keeps to four times a second); while hidden only if ``now``."""
        if facts is not self._facts:
            self._facts, self._chosen, self._drawn = facts, None, None
        if now or self.isVisible():
            self._draw()

    def show_name(self, name: str, chosen: bool = True) -> None:
        """Show one picture; ``chosen``: the user wants this one from now on."""
        if chosen:
            self._chosen = name
        self.segments[name].setChecked(True)
        self.pictures.show_name(name)
        self._show_below()
        self._show_rows()

    def _show_below(self) -> None:
        """The table, unless the picture needs its room or there is nothing to list yet."""
        alone = self.name in self._kind.alone or (self.name in self._kind.tall and self.height() < TALL)
        self._below.setVisible(bool(self._facts.points) or not self._kind.late)
        self._listing.setVisible(not alone)
        self._column.setStretchFactor(self._below, 0 if alone else 1)

    @property
    def conditions(self) -> str:
        """What the figures were measured with, as the line below the table says it."""
        return self._conditions.whole

    @property
    def name(self) -> str:
        """The picture that is shown."""
        return next(name for name, button in self.segments.items() if button.isChecked())

    def mark(self, point_ids: frozenset[str], switch: bool = True) -> None:
        """Mark evidence, and show a picture that has it."""
        name = self.pictures.picture_with(point_ids)
        if switch and name is not None:
            self.show_name(name)
        self.pictures.mark(point_ids)

    def copy_markdown(self) -> None:
        """Put the table on the clipboard as Markdown."""
        QGuiApplication.clipboard().setText(self.pictures.markdown(self._facts))

    def ask_save(self) -> None:
        """Ask for a file and save to it."""
        run = self._facts.started.run_id if self._facts.started else "figures"
        own = self.pictures.own_files()
        choices = [*own.values(), _("Picture (*.png)"), _("Picture (*.svg)"), _("Figures (*.csv)")]
        ask_where(self, _("Save"), f"{run}-{self.name}{next(iter(own), '.png')}", choices, self.save)

    def save(self, target: Path) -> None:
        """Save the picture (``.png``, ``.svg``), what else it can be saved as, or the figures (``.csv``).

        What was there is replaced.
        """
        if target.suffix.lower() in self.pictures.own_files():
            self.pictures.save_own(target)
        elif target.suffix.lower() == ".csv":
            target.write_text(comma_separated(self._facts.points), encoding="utf-8")
        else:
            SavedPicture(self._theme, self.pictures.current, self._facts).save(target)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave intervals out of a narrow table (hovering over a figure tells them)."""
        super().resizeEvent(event)
        self._show_below()
        self._show_columns()

    def _show_columns(self) -> None:
        """Columns that have something to say, and room to say it."""
        cells = self.table.rows.cells
        for number, width in self._kind.hides.items():
            silent = bool(cells) and not any(row[number].text for row in cells)
            self.table.setColumnHidden(number, silent or self.width() < width)

    def showEvent(self, event: QShowEvent) -> None:
        """Draw what came while hidden."""
        super().showEvent(event)
        self._draw()

    def _draw(self) -> None:
        facts = self._facts
        key = (id(facts), len(facts.points), len(facts.steps), facts.finished is not None)
        if key != self._drawn:
            self._drawn = key
            self.pictures.show_facts(facts)
            self.table.rows.show_rows([(point.id, self._kind.row(point)) for point in self._kind.listed(facts.points)])
            self._show_below()
            self._show_columns()
            self._show_rows()
        else:
            self.pictures.show_trace(facts)
        filled = self.pictures.filled(facts)
        for name, button in self.segments.items():
            button.setEnabled(name in filled)
        self._conditions.show_text(measured_with(facts, host=False).replace("\n", " · "), measured_with(facts))
        has_points = bool(facts.points)
        self.copy_button.setEnabled(has_points)
        self.save_button.setEnabled(has_points)
        self._follow(filled)

    def _show_rows(self) -> None:
        """Scroll the table to the figures of the shown picture: to the newest while it runs, else to the first."""
        rows = set(self.table.rows.keys)
        listed = {point.id: point for point in self._kind.listed(self._facts.points) if point.id in rows}
        keys = [key for key in self.pictures.rows_of(self.name) if key in listed] or [
            key for key, point in listed.items() if self.name == self._kind.picture_of_figure(point)
        ]
        if keys and self._facts.finished is None:
            self.table.show_key(keys[-1], last=True)
        elif keys:
            self.table.show_key(keys[0])

    def _follow(self, filled: list[str]) -> None:
        if self._chosen is not None or not filled:
            return
        running = self._facts.finished is None and self._facts.step is not None
        wanted = self._kind.picture_of_step(self._facts.step.label) if running and self._facts.step else filled[0]
        if wanted not in filled:
            wanted = self.name if self.name in filled else filled[-1]
        if wanted != self.name:
            self.show_name(wanted, chosen=False)
