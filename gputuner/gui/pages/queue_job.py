# pyright: standard
"""The chosen job of the queue: what it is, why it waits or how it ended, what can be done, and its log as it grows."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from gputuner.gui.widgets.labels import Elided, label
from gputuner.gui.widgets.output_log import OutputLog
from gputuner.language import jobs as words
from gputuner.language import numbers
from gputuner.language.words import _
from gputuner.model.jobs import ENDED, PLACED, Job, JobState


class JobPanel(QFrame):
    """Hidden while no job is chosen. To end a running job is asked in place."""

    cancel_wanted = Signal(int)
    retry_wanted = Signal(int)
    front_wanted = Signal(int)
    step_wanted = Signal(int)
    """Up (−1) or down (1)."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("role", "card")
        self.job: Job | None = None
        self._asked: int | None = None
        self.title = Elided("", "heading")
        self.why = label("", "small", wrap=True)
        self.grown = label("", "small", wrap=True)
        self.log = OutputLog()
        self.log.setPlaceholderText(_("it has written nothing yet"))
        self.buttons = {
            "front": self._button(_("To the front"), _("The next that starts"), self._front),
            "up": self._button("↑", _("Up (Alt+Up)"), lambda: self.step_wanted.emit(-1)),
            "down": self._button("↓", _("Down (Alt+Down)"), lambda: self.step_wanted.emit(1)),
            "retry": self._button(_("Run again"), _("Let it wait for a card again"), self._retry),
            "cancel": self._button(_("Cancel…"), _("Take it out, or end it"), self.ask_cancel),
        }
        self.buttons["up"].setAccessibleName(_("up"))
        self.buttons["down"].setAccessibleName(_("down"))
        head = QHBoxLayout()
        head.setSpacing(6)
        head.addWidget(self.title, 1)
        for button in self.buttons.values():
            head.addWidget(button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 8, 12, 10)
        layout.setSpacing(4)
        layout.addLayout(head)
        layout.addWidget(self.why)
        layout.addWidget(self.grown)
        layout.addWidget(self._confirmation())
        layout.addWidget(self.log, 1)
        self.show_job(None)

    def _button(self, text: str, hint: str, act: Callable[[], object]) -> QPushButton:
        button = QPushButton(text)
        button.setProperty("small", True)
        button.setToolTip(hint)
        button.clicked.connect(lambda _checked=False: act())
        return button

    def _confirmation(self) -> QWidget:
        self.confirm = QWidget()
        self.confirm.setProperty("role", "clear")
        row = QHBoxLayout(self.confirm)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(label(_("End this job? What it has not saved is lost."), "danger"), 1)
        self.confirm_no = QPushButton(_("Let it run"))
        self.confirm_no.clicked.connect(lambda _checked=False: self._answer(yes=False))
        self.confirm_yes = QPushButton(_("End it"))
        self.confirm_yes.clicked.connect(lambda _checked=False: self._answer(yes=True))
        row.addWidget(self.confirm_no)
        row.addWidget(self.confirm_yes)
        self.confirm.hide()
        return self.confirm

    def show_job(self, job: Job | None, place: tuple[bool, bool] = (False, False)) -> None:
        """Show a job; ``place``: whether it can go up, and down, among the waiting ones."""
        if self.job is None or job is None or self.job.id != job.id or job.state not in PLACED:
            self._asked = None
            self.confirm.hide()
        self.job = job
        self.setVisible(job is not None)
        if job is None:
            self.log.follow(None)
            return
        command = " ".join(job.command)
        self.title.show_text(" · ".join(part for part in (str(job.id), job.name, command) if part), job.folder)
        grown = self._grown_words(job)
        told = words.ended(job) if job.state in ENDED else "" if grown and job.reason is None else words.reason(job)
        self.why.setText(told)
        self.why.setVisible(bool(told))
        self.grown.setText(f"! {grown}" if grown else "")
        self.grown.setVisible(bool(grown))
        waiting = job.started_unix_s is None
        self.log.setPlaceholderText(_("it has not started") if waiting else _("it has written nothing yet"))
        up, down = place
        waits, over = job.state is JobState.WAITING, job.state in ENDED
        for name, shown in (("front", waits), ("up", waits), ("down", waits), ("retry", over), ("cancel", not over)):
            self.buttons[name].setVisible(shown)
        self.buttons["front"].setEnabled(up)
        self.buttons["up"].setEnabled(up)
        self.buttons["down"].setEnabled(down)
        self.log.follow(Path(job.log) if job.log else None)

    @staticmethod
    def _grown_words(job: Job) -> str:
        if not job.grown_bytes or job.state not in PLACED:
            return ""
        amount = numbers.value(job.grown_bytes, "bytes")
        return _("It has grown past what is kept for it by {amount}; it is not ended for that.").format(amount=amount)

    def ask_cancel(self) -> None:
        """Take a waiting job out; ask in place before a running one is ended."""
        if self.job is None:
            return
        if self.job.state not in PLACED:
            self.cancel_wanted.emit(self.job.id)
            return
        self._asked = self.job.id
        self.confirm.show()
        self.confirm_no.setFocus()

    def _answer(self, *, yes: bool) -> None:
        self.confirm.hide()
        if yes and self._asked is not None:
            self.cancel_wanted.emit(self._asked)
        self._asked = None

    def _retry(self) -> None:
        if self.job is not None:
            self.retry_wanted.emit(self.job.id)

    def _front(self) -> None:
        if self.job is not None:
            self.front_wanted.emit(self.job.id)
