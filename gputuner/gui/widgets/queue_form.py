# pyright: standard
"""The form of a new job of the queue: its command, where it starts, and what it needs."""

import shlex
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFileDialog, QFrame, QGridLayout, QLineEdit, QPushButton, QVBoxLayout

from gputuner.gui.theme import Theme
from gputuner.gui.widgets.check_box import CheckBox
from gputuner.gui.widgets.entry_boxes import ChoiceBox, DecimalBox, WholeBox
from gputuner.gui.widgets.labels import label
from gputuner.gui.widgets.open_file import ask_folder
from gputuner.language import sentences
from gputuner.language.words import _
from gputuner.model.errors import GputunerError, UsageError
from gputuner.model.jobs import Needs, NeedSource, OnReboot, Request

GIB = 2**30


class QueueForm(QFrame):
    """A line to type as in a terminal (no shell reads it), and what it needs; what is not known is learned."""

    wanted = Signal(object)
    """A ``Request`` to add."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setProperty("role", "card")
        self.line = QLineEdit()
        self.line.setPlaceholderText("python train.py --epochs 3")
        self.line.setAccessibleName(_("command"))
        self.line.setToolTip(
            _("As in a terminal, with its options; quotes keep words together. No shell reads it: no pipes, no $NAMES.")
        )
        self.folder = QLineEdit()
        self.folder.setPlaceholderText(str(Path.cwd()))
        self.folder.setAccessibleName(_("folder"))
        self.folder.setToolTip(_("Where the command starts."))
        self.choose = QPushButton(_("Choose the folder…"))
        self.choose.setProperty("small", True)
        self.choose.clicked.connect(lambda _checked=False: self.ask_folder())
        self.memory = DecimalBox()
        self.memory.setRange(0.0, 10_000.0)
        self.memory.setSuffix(" GiB")
        self.memory.setDecimals(1)
        self.cards = WholeBox()
        self.cards.setRange(1, 64)
        self.minutes = DecimalBox()
        self.minutes.setRange(0.0, 1_000_000.0)
        self.minutes.setDecimals(0)
        unit = _("min")
        self.minutes.setSuffix(f" {unit}")
        self.priority = WholeBox()
        self.priority.setRange(-100, 100)
        self.after = QLineEdit()
        self.retries = WholeBox()
        self.retries.setRange(0, 100)
        self.name = QLineEdit()
        self.reboot = ChoiceBox()
        self.reboot.shrink()
        for words, policy in ((_("stays ended"), OnReboot.STOP), (_("runs again"), OnReboot.RERUN)):
            self.reboot.addItem(words, policy)
        self.alone = CheckBox(theme, _("No other job beside it"))
        self.share = CheckBox(theme, _("Beside unmeasured jobs too"))
        self.problem = label("", "danger", wrap=True)
        self.said = label("", "good", wrap=True)
        self.add_button = QPushButton(_("Add to the queue"))
        self.add_button.setProperty("primary", True)
        self.add_button.clicked.connect(lambda _checked=False: self.submit())
        self._lay_out()
        self.line.returnPressed.connect(self.submit)
        self.line.textChanged.connect(lambda _text: self.say("", ""))
        self.say("", "")

    def _lay_out(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(14, 10, 14, 10)
        layout.setSpacing(3)
        layout.addWidget(label(_("Add a job"), "heading"))
        layout.addSpacing(2)
        layout.addWidget(label(_("Command"), "muted"))
        layout.addWidget(self.line)
        layout.addWidget(label(_("Folder"), "muted"))
        layout.addWidget(self.folder)
        layout.addWidget(self.choose)
        layout.addSpacing(6)
        grid = QGridLayout()
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(3)
        grid.setColumnStretch(0, 1)
        grid.setColumnStretch(1, 1)
        self.memory.setSpecialValueText(_("learned"))
        self.minutes.setSpecialValueText(_("not known"))
        self.retries.setSpecialValueText(_("never"))
        self.after.setPlaceholderText("12, 15")
        fields = (
            (
                _("Memory per card"),
                self.memory,
                _("By itself from earlier runs or watched sessions; not known: a card of its own."),
            ),
            (_("Cards"), self.cards, _("How many cards it computes on.")),
            (_("Expected time"), self.minutes, _("How long it will run, as far as you know.")),
            (_("Priority"), self.priority, _("Higher numbers start first.")),
            (_("After jobs"), self.after, _("Numbers of the jobs that must be done before.")),
            (_("Try again"), self.retries, _("How often it is started again after it failed.")),
            (_("Name"), self.name, _("What the list calls it.")),
            (_("After a reboot"), self.reboot, _("What becomes of it when the machine went down while it ran.")),
        )
        for box in (self.memory, self.cards, self.minutes, self.priority, self.retries):
            box.lineEdit().setTextMargins(6, 0, 0, 0)
        for number, (words, control, why) in enumerate(fields):
            control.setToolTip(why)
            control.setAccessibleName(words)
            control.setMinimumWidth(1)
            row, column = 2 * (number // 2), number % 2
            grid.addWidget(label(words, "muted"), row, column)
            grid.addWidget(control, row + 1, column)
        layout.addLayout(grid)
        layout.addSpacing(4)
        self.alone.setToolTip(_("It has its cards to itself while it runs."))
        self.share.setToolTip(
            _("Without it two jobs share a card only where their slowdown beside each other was measured.")
        )
        for widget in (self.alone, self.share, self.problem, self.said, self.add_button):
            layout.addWidget(widget)
        layout.addStretch(1)

    def request(self) -> Request:
        """The job as typed.

        Raises:
            UsageError: nothing was typed, a quote is not closed, or jobs are not named by numbers.
        """
        try:
            argv = tuple(shlex.split(self.line.text()))
        except ValueError as err:
            raise UsageError("watch_line", "a quote is not closed") from err
        if not argv:
            raise UsageError("watch_no_command", "no command was given")
        folder = Path(self.folder.text().strip() or Path.cwd()).expanduser()
        memory = self.memory.value()
        return Request(
            command=argv,
            folder=str(folder),
            needs=Needs(
                memory_bytes=round(memory * GIB) if memory else None,
                cards=self.cards.value(),
                minutes=self.minutes.value() or None,
                source=NeedSource.GIVEN if memory else NeedSource.UNKNOWN,
                alone=self.alone.isChecked(),
                share=self.share.isChecked(),
            ),
            name=self.name.text().strip(),
            priority=self.priority.value(),
            after=_ids(self.after.text()),
            retries=self.retries.value(),
            on_reboot=OnReboot(self.reboot.currentData()),  # Qt keeps the text alone
        )

    def submit(self) -> None:
        """Ask to add what is typed, or say why that is no job."""
        if not self.add_button.isEnabled():
            return
        try:
            request = self.request()
        except GputunerError as err:
            self.say(sentences.error(err), "")
            return
        self.say("", "")
        self.wanted.emit(request)

    def say(self, problem: str, done: str) -> None:
        """Say what is wrong with the job, or that it was added."""
        for widget, words in ((self.problem, problem), (self.said, done)):
            widget.setText(words)
            widget.setVisible(bool(words))

    def set_acting(self, acting: bool) -> None:
        """Whether jobs can be added here at all."""
        self.setEnabled(acting)

    def ask_folder(self) -> QFileDialog:
        """Ask for the folder."""
        begin = Path(self.folder.text().strip() or Path.cwd()).expanduser()
        return ask_folder(self, _("The folder of your command"), begin, lambda path: self.folder.setText(str(path)))

    @property
    def kept(self) -> dict[str, str]:
        """What is typed, for a form that is built anew."""
        return {"line": self.line.text(), "folder": self.folder.text(), "name": self.name.text()}

    def keep(self, kept: dict[str, str]) -> None:
        """Put that in again."""
        for name, edit in (("line", self.line), ("folder", self.folder), ("name", self.name)):
            edit.setText(kept.get(name, ""))


def _ids(text: str) -> tuple[int, ...]:
    """Numbers of jobs.

    Raises:
        UsageError: something is no number.
    """
    parts = [part for part in text.replace(",", " ").split() if part]
    wrong = [part for part in parts if not part.isdigit()]
    if wrong:
        raise UsageError("option_value", f"--after {wrong[0]}", option="--after", value=wrong[0], expected="ID")
    return tuple(int(part) for part in parts)
