# pyright: standard
"""The jobs that are to share a card: a built-in training or the user's own each, with batch and number format."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gputuner.gui.theme import Theme
from gputuner.gui.widgets.check_box import CheckBox
from gputuner.gui.widgets.entry_boxes import ChoiceBox, WholeBox
from gputuner.gui.widgets.labels import label
from gputuner.gui.widgets.open_file import ask_which
from gputuner.language import sentences
from gputuner.language.words import _
from gputuner.model.steps import split_job
from gputuner.workloads.specs import PRECISIONS

MOST = 8
"""Jobs at most."""
OWN, COMMAND = "", "$"
"""Stand for the user's own training, and for a command, among the names."""
FUNCTION = "make"
"""Name of the function that a chosen file is taken to have."""


class JobRow(QFrame):
    """One job. What it says besides batch and format (typed on a command line) is kept."""

    changed = Signal()
    removed = Signal()

    def __init__(self, theme: Theme, names: Sequence[str]) -> None:
        super().__init__()
        self.setProperty("role", "card")
        self._rest: dict[str, str] = {}
        self.training = ChoiceBox()
        self.training.shrink()
        self.training.setAccessibleName(_("training"))
        for name in names:
            self.training.addItem(sentences.workload(name), name)
        self.training.addItem(_("your own…"), OWN)
        self.training.addItem(_("a command…"), COMMAND)
        self.remove = QToolButton()
        self.remove.setText("×")
        self.remove.setProperty("quiet", True)
        self.remove.setAccessibleName(_("take this job out"))
        self.remove.setToolTip(_("Take this job out"))
        self.recipe = QLineEdit()
        self.recipe.setPlaceholderText(_("FILE.py:function"))
        self.recipe.setAccessibleName(_("your own training"))
        self.choose = QToolButton()
        self.choose.setText("…")
        self.choose.setAccessibleName(_("choose the file"))
        self.choose.setToolTip(_("Choose the file of your training"))
        self.line = QLineEdit()
        self.line.setPlaceholderText("python train.py")
        self.line.setAccessibleName(_("command"))
        self.line.setToolTip(
            _("As in a terminal, with its options. It is started several times, and ended when enough was seen.")
        )
        self.batch = WholeBox()
        self.batch.setRange(0, 1 << 20)
        self.batch.setSpecialValueText(_("usual"))
        self.batch.setMinimumWidth(1)
        self.batch.setAccessibleName(_("batch size"))
        self.batch.setToolTip(_("Samples per step; by itself as people start with."))
        self.precision = ChoiceBox()
        self.precision.shrink()
        self.precision.setMinimumWidth(1)
        self.precision.setAccessibleName(_("number format"))
        self.precision.addItem(_("usual"), "")
        for precision in PRECISIONS:
            self.precision.addItem(precision.upper(), precision)
        self.percent = WholeBox()
        self.percent.setRange(1, 100)
        self.percent.setValue(100)
        self.percent.setSuffix(" %")
        self.percent.setMinimumWidth(1)
        self.percent.setAccessibleName(_("share of the SMs under MPS"))
        self.percent.setToolTip(
            _("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE of this job: the part of the SMs that it may use.")
        )
        self.urgent = CheckBox(theme, _("Goes first"))
        self.urgent.setToolTip(_("Its stream has the high priority: for a job that somebody waits for."))
        self._lay_out()
        self._connect()
        self.show_modes(())

    def _lay_out(self) -> None:
        first = QHBoxLayout()
        first.setSpacing(2)
        first.addWidget(self.training, 1)
        first.addWidget(self.remove)
        self._own = QWidget()
        self._own.setProperty("role", "clear")
        own = QHBoxLayout(self._own)
        own.setContentsMargins(0, 0, 0, 0)
        own.setSpacing(2)
        own.addWidget(self.recipe, 1)
        own.addWidget(self.choose)
        self._settings = QWidget()
        self._settings.setProperty("role", "clear")
        grid = QGridLayout(self._settings)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(6)
        grid.setVerticalSpacing(2)
        self._share = label(_("SMs (MPS)"), "muted")
        for row, column, control in (
            (0, 0, label(_("Batch"), "muted")),
            (0, 1, label(_("Number format"), "muted")),
            (1, 0, self.batch),
            (1, 1, self.precision),
            (2, 0, self._share),
            (3, 0, self.percent),
            (3, 1, self.urgent),
        ):
            grid.addWidget(control, row, column)
        for column in (0, 1):
            grid.setColumnStretch(column, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 6, 6, 8)
        layout.setSpacing(4)
        layout.addLayout(first)
        layout.addWidget(self._own)
        layout.addWidget(self.line)
        layout.addWidget(self._settings)
        self._fit()

    def _connect(self) -> None:
        self.training.currentIndexChanged.connect(lambda _index: self._chosen())
        self.precision.currentIndexChanged.connect(lambda _index: self.changed.emit())
        for edit in (self.recipe, self.line):
            edit.textChanged.connect(lambda _text: self.changed.emit())
        self.urgent.toggled.connect(lambda _on: self.changed.emit())
        for box in (self.batch, self.percent):
            box.valueChanged.connect(lambda _value: self.changed.emit())
        self.remove.clicked.connect(lambda _checked=False: self.removed.emit())
        self.choose.clicked.connect(lambda _checked=False: self.ask_file())

    @property
    def is_command(self) -> bool:
        """Whether it is a command and no training that gputuner builds."""
        return self.training.currentData() == COMMAND

    @property
    def argv(self) -> tuple[str, ...]:
        """The words of the command; none where a quote is not closed."""
        try:
            return tuple(shlex.split(self.line.text()))
        except ValueError:
            return ()

    def show_command(self, argv: Sequence[str]) -> None:
        """Show a command."""
        self.training.setCurrentIndex(self.training.findData(COMMAND))
        self.line.setText(shlex.join(argv))
        self._fit()

    @property
    def text(self) -> str:
        """The job as a command line takes it: ``name:key=value,…``."""
        own = self.training.currentData() == OWN
        settings = dict(self._rest)
        if self.batch.value():
            settings["batch"] = str(self.batch.value())
        if self.precision.currentData():
            settings["precision"] = str(self.precision.currentData())
        reference = self.recipe.text().strip() if own else str(self.training.currentData())
        told = ",".join(f"{name}={value}" for name, value in settings.items())
        return f"{reference}:{told}" if told and reference else reference

    def show_text(self, text: str) -> None:
        """Show a job as a command line takes it."""
        reference, told = split_job(text)
        pairs = (part.partition("=") for part in told.split(",") if part)
        settings = {name: value for name, _sign, value in pairs}
        index = self.training.findData(reference)
        own = index < 0 or reference in (OWN, COMMAND)
        self.training.setCurrentIndex(self.training.findData(OWN) if own else index)
        self.recipe.setText(reference if own else "")
        self._fit()
        batch = settings.pop("batch", "0")
        self.batch.setValue(int(batch) if batch.isdigit() else 0)
        self.precision.setCurrentIndex(max(0, self.precision.findData(settings.pop("precision", ""))))
        self._rest = settings

    def show_modes(self, modes: Sequence[str]) -> None:
        """Ask only for what the ways of sharing know."""
        self._share.setVisible("mps" in modes)
        self.percent.setVisible("mps" in modes)
        self.urgent.setVisible("streams" in modes)

    def ask_file(self) -> None:
        """Ask for the file of the user's training."""
        ask_which(self, _("The file of your training"), Path.cwd(), ["Python (*.py)"], self.take_file)

    def take_file(self, path: Path) -> None:
        """Take a chosen file with the usual name of its function."""
        here = Path.cwd()
        near = path.relative_to(here) if path.is_relative_to(here) else path
        self.recipe.setText(f"{near}:{FUNCTION}")

    def _fit(self) -> None:
        """Ask for what the kind of job needs."""
        self._own.setVisible(self.training.currentData() == OWN)
        self.line.setVisible(self.is_command)
        self._settings.setVisible(not self.is_command)

    def _chosen(self) -> None:
        self._fit()
        self._rest = {}
        self.changed.emit()


class MixBuilder(QWidget):
    """Jobs below each other, and a button for one more."""

    changed = Signal()
    """The user changed something."""

    def __init__(self, theme: Theme, names: Sequence[str]) -> None:
        super().__init__()
        self.setProperty("role", "clear")
        self._theme, self._names = theme, tuple(names)
        self._modes: tuple[str, ...] = ()
        self.rows: list[JobRow] = []
        self.add_button = QPushButton(_("Add a job"))
        self.add_button.setProperty("small", True)
        self.add_button.setToolTip(_("One job: how many of it at once. Several: these together."))
        self.add_button.clicked.connect(lambda _checked=False: self._add_one())
        self._column = QVBoxLayout()
        self._column.setSpacing(6)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addWidget(label(_("Jobs on the card"), "muted"))
        layout.addLayout(self._column)
        layout.addWidget(self.add_button)
        self.show_texts((self._names[0] if self._names else "",))

    @property
    def texts(self) -> tuple[str, ...]:
        """All trainings as a command line takes them."""
        return tuple(row.text for row in self.rows if not row.is_command)

    @property
    def commands(self) -> tuple[tuple[str, ...], ...]:
        """The words of each command; they come after the trainings."""
        return tuple(row.argv for row in self.rows if row.is_command)

    @property
    def ordered(self) -> list[JobRow]:
        """The rows as they make a mix: trainings, then commands."""
        return sorted(self.rows, key=lambda row: row.is_command)

    @property
    def thread_percentages(self) -> tuple[int, ...]:
        """Of each job under MPS; empty where none is held back."""
        found = tuple(row.percent.value() for row in self.ordered)
        return found if "mps" in self._modes and any(value < 100 for value in found) else ()

    @property
    def priorities(self) -> tuple[int, ...]:
        """Of each job's stream: −1 goes first; empty where none does."""
        found = tuple(-1 if row.urgent.isChecked() else 0 for row in self.ordered)
        return found if "streams" in self._modes and any(found) else ()

    def show_texts(self, texts: Sequence[str], commands: Sequence[Sequence[str]] = ()) -> None:
        """Show these jobs instead."""
        while self.rows:
            self._drop(self.rows[-1])
        for text in texts[:MOST]:
            self._append(text)
        for argv in commands[: MOST - len(self.rows)]:
            self._append("").show_command(argv)
        self._fit()

    def show_shares(self, percentages: Sequence[int], priorities: Sequence[int]) -> None:
        """Show what each job gets under MPS and among streams."""
        for row, percent in zip(self.ordered, percentages, strict=False):
            row.percent.setValue(percent)
        for row, priority in zip(self.ordered, priorities, strict=False):
            row.urgent.setChecked(priority < 0)

    def show_modes(self, modes: Sequence[str]) -> None:
        """Ask each job only for what the ways of sharing know."""
        self._modes = tuple(modes)
        for row in self.rows:
            row.show_modes(self._modes)

    def _append(self, text: str) -> JobRow:
        row = JobRow(self._theme, self._names)
        row.show_text(text)
        row.show_modes(self._modes)
        row.changed.connect(self.changed)
        row.removed.connect(lambda row=row: self._take_out(row))
        self.rows.append(row)
        self._column.addWidget(row)
        return row

    def _add_one(self) -> None:
        """One more, another training than the last one where there is one."""
        used = {split_job(text)[0] for text in self.texts}
        fresh = next((name for name in self._names if name not in used), self._names[0] if self._names else "")
        row = self._append(fresh)
        self._fit()
        row.training.setFocus()
        self.changed.emit()

    def _take_out(self, row: JobRow) -> None:
        self._drop(row)
        self._fit()
        (self.rows[-1].training if self.rows else self.add_button).setFocus()
        self.changed.emit()

    def _drop(self, row: JobRow) -> None:
        self.rows.remove(row)
        self._column.removeWidget(row)
        row.hide()
        row.deleteLater()

    def _fit(self) -> None:
        """One job stays, and there is an end."""
        for row in self.rows:
            row.remove.setVisible(len(self.rows) > 1)
        self.add_button.setEnabled(len(self.rows) < MOST)
