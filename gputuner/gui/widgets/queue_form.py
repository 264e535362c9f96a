# pyright: standard
"""The form of a new job of the queue: its command, where it starts, and what it needs."""

import shlex
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFileDialog, QLineEdit, QPushButton

from gputuner.gui.theme import Theme
from gputuner.gui.widgets.labels import label
from gputuner.gui.widgets.open_file import ask_folder
from gputuner.gui.widgets.pane import PaneCard
from gputuner.gui.widgets.queue_fields import FieldProblem, QueueFields
from gputuner.language import sentences
from gputuner.language.words import _
from gputuner.model.errors import GputunerError, UsageError
from gputuner.model.jobs import Request


class QueueForm(PaneCard):
    """A line to type as in a terminal (no shell reads it), and what it needs; what is not known is learned."""

    wanted = Signal(object)
    """A ``Request`` to add."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
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
        self.fields = QueueFields(theme)
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
        layout = self.column
        layout.setSpacing(3)
        layout.addWidget(label(_("Add a job"), "heading"))
        layout.addSpacing(2)
        layout.addWidget(label(_("Command"), "muted"))
        layout.addWidget(self.line)
        layout.addWidget(label(_("Folder"), "muted"))
        layout.addWidget(self.folder)
        layout.addWidget(self.choose)
        layout.addSpacing(6)
        layout.addWidget(self.fields)
        for widget in (self.problem, self.said, self.add_button):
            layout.addWidget(widget)
        layout.addStretch(1)

    def request(self) -> Request:
        """The job as typed.

        Raises:
            UsageError: nothing was typed, or a quote is not closed.
            FieldProblem: a field cannot be read.
        """
        try:
            argv = tuple(shlex.split(self.line.text()))
        except ValueError as err:
            raise UsageError("watch_line", "a quote is not closed") from err
        if not argv:
            raise UsageError("watch_no_command", "no command was given")
        folder = Path(self.folder.text().strip() or Path.cwd()).expanduser()
        return self.fields.request(argv, str(folder))

    def submit(self) -> None:
        """Ask to add what is typed, or say why that is no job."""
        if not self.add_button.isEnabled():
            return
        try:
            request = self.request()
        except GputunerError as err:
            self.say(sentences.error(err), "")
            return
        except FieldProblem as err:  # it is of a field that stands in the fold
            self.fields.more.unfold(True)
            self.say(str(err), "")
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

    def clear_added(self) -> None:
        """Empty what the next job hardly shares with the one that was added: its command and its indices."""
        self.line.clear()
        self.fields.array.clear()

    @property
    def kept(self) -> tuple[str, str, dict[str, object]]:
        """What is typed, for a form that is built anew."""
        return self.line.text(), self.folder.text(), self.fields.kept

    def keep(self, kept: tuple[str, str, dict[str, object]]) -> None:
        """Put that in again."""
        line, folder, fields = kept
        self.line.setText(line)
        self.folder.setText(folder)
        self.fields.keep(fields)
