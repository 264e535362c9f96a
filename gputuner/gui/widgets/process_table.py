# pyright: standard
"""Who holds memory on the card."""

from datetime import datetime
from time import time

from PySide6.QtWidgets import QFrame, QVBoxLayout

from gputuner.gui.theme import Theme
from gputuner.gui.widgets.labels import Elided
from gputuner.gui.widgets.tables import Cell, Column, Table
from gputuner.language import numbers, terms
from gputuner.language.numbers import MISSING
from gputuner.language.words import _
from gputuner.model.readings import Reason
from gputuner.model.samples import CardProcesses, ProcessOnCard


def _row(process: ProcessOnCard, now_s: float) -> list[Cell]:
    memory = numbers.value(process.memory_bytes, "bytes")
    why = terms.reason(process.memory_reason) if process.memory_reason else ""
    if process.started_s is None:
        since = Cell(MISSING, _("start time not readable"), True)
    else:
        started = datetime.fromtimestamp(process.started_s).strftime("%Y-%m-%d %H:%M")
        since = Cell(numbers.duration(max(0.0, round(now_s - process.started_s))), started)
    command = process.command or process.name
    unreadable = terms.reason(Reason.NO_PERMISSION)
    kind = _("computes") if process.compute else _("display")
    return [
        Cell(str(process.pid)),
        Cell(process.user or MISSING, "" if process.user else unreadable, not process.user),
        Cell(memory, why, process.memory_bytes is None),
        Cell(MISSING if process.sm_utilisation is None else f"{process.sm_utilisation * 100:.0f} %"),
        since,
        Cell(kind, "", True),
        Cell(command or MISSING, "" if command else unreadable, not process.compute),
    ]


class ProcessTable(QFrame):
    """The processes of the chosen card, largest first, with what could not be told below."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setProperty("role", "card")
        self.table = Table(
            theme,
            [
                Column(_("Process"), 8),
                Column(_("User"), 9),
                Column(_("Memory"), 8, right=True),
                Column(_("Busy"), 6, right=True),
                Column(_("Since"), 11),
                Column(_("Kind"), 9),
                Column(_("Command"), 0),
            ],
            _("processes on the card"),
        )
        self._note = Elided()
        self._note.setContentsMargins(10, 2, 10, 4)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(4, 2, 4, 2)
        layout.setSpacing(0)
        layout.addWidget(self.table)
        layout.addWidget(self._note)

    @property
    def note(self) -> str:
        """The line below the table."""
        return self._note.whole if self._note.isVisibleTo(self) else ""

    def show_processes(self, processes: CardProcesses | None, now_s: float | None = None, lost: bool = False) -> None:
        """Show a process table, or why there is none; of a lost card none, for what ran there is not known."""
        if processes is None or lost:
            self.table.rows.show_rows([])
            self._say(_("The card is lost: its processes cannot be read") if lost else _("Processes not read yet"))
            return
        entries = sorted(processes.processes, key=lambda p: (-(p.memory_bytes or 0), p.pid))
        now = time() if now_s is None else now_s
        self.table.rows.show_rows([(str(process.pid), _row(process, now)) for process in entries])
        if processes.reason is not None:
            self._say(_("Processes cannot be listed: {reason}").format(reason=terms.reason(processes.reason)))
        elif not entries:
            self._say(_("No process holds memory on this card"))
        elif processes.unowned_bytes and processes.unowned_bytes > 256 * 2**20:
            amount = numbers.value(processes.unowned_bytes, "bytes")
            self._say(_("{amount} in use belong to no process that can be seen from here").format(amount=amount))
        else:
            self._say("")

    def _say(self, text: str) -> None:
        self._note.show_text(text)
        self._note.setVisible(bool(text))
