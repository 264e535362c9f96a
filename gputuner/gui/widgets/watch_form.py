# pyright: standard
"""The form of the question what one's own command does: the command, its folder, and whether to look inside."""

import shlex
from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QLineEdit, QPushButton, QVBoxLayout

from gputuner.gui.theme import Theme
from gputuner.gui.watch_desk import Command
from gputuner.gui.widgets.check_box import CheckBox
from gputuner.gui.widgets.labels import label
from gputuner.gui.widgets.open_file import ask_folder
from gputuner.gui.widgets.spec_form import Form
from gputuner.language.words import _
from gputuner.model.errors import UsageError


class WatchForm(Form):
    """A line to type as in a terminal; no shell reads it."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(Command)
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
        self.choose.clicked.connect(self.ask_folder)
        self.hooks = CheckBox(theme, _("Look inside its Python"))
        self.hooks.setChecked(True)
        self.hooks.setToolTip(
            _(
                "Torch trainings tell their step time, waiting for data and memory; it costs at most 1 % and switches "
                "itself off where it fails. Without it the processes and the cards alone are watched."
            )
        )
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(label(_("Command"), "muted"))
        layout.addWidget(self.line)
        layout.addSpacing(4)
        layout.addWidget(label(_("Folder"), "muted"))
        layout.addWidget(self.folder)
        layout.addWidget(self.choose)
        layout.addSpacing(6)
        layout.addWidget(self.hooks)
        for edit in (self.line, self.folder):
            edit.textChanged.connect(lambda _text: self.changed.emit())
        self.hooks.toggled.connect(lambda _on: self.changed.emit())

    def spec(self) -> Command:
        """The command.

        Raises:
            UsageError: nothing was typed, or a quote is not closed.
        """
        try:
            argv = tuple(shlex.split(self.line.text()))
        except ValueError as err:
            raise UsageError("watch_line", "a quote is not closed") from err
        if not argv:
            raise UsageError("watch_no_command", "no command was given")
        typed = self.folder.text().strip()
        return Command(argv=argv, folder=Path(typed).expanduser() if typed else None, hooks=self.hooks.isChecked())

    def values(self) -> dict[str, object]:
        """What is typed and ticked."""
        return {"line": self.line.text(), "folder": self.folder.text(), "hooks": self.hooks.isChecked()}

    def set_values(self, values: dict[str, object]) -> None:
        """Put values in (those of controls that exist)."""
        if "line" in values:
            self.line.setText(str(values["line"]))
            self.folder.setText(str(values.get("folder", "")))
            self.hooks.setChecked(bool(values.get("hooks", True)))

    def ask_folder(self) -> QFileDialog:
        """Ask for the folder."""
        begin = Path(self.folder.text().strip() or Path.cwd()).expanduser()
        return ask_folder(self, _("The folder of your command"), begin, lambda path: self.folder.setText(str(path)))
