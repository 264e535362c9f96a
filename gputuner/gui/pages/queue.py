# pyright: standard
"""The page Queue: jobs in their order, why each waits, the cards that they share, and what the chosen one writes."""

from time import time

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QHideEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QSplitter, QVBoxLayout, QWidget

from gputuner.gui.pages.queue_job import JobPanel
from gputuner.gui.queue_desk import QueueDesk
from gputuner.gui.queue_rows import at_words, job_rows, runner_words, summary_words, waiting_ids
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.card_reserves import CardReserves
from gputuner.gui.widgets.labels import Elided, card, label
from gputuner.gui.widgets.notice import Notice
from gputuner.gui.widgets.pane import setup_width
from gputuner.gui.widgets.queue_form import QueueForm
from gputuner.gui.widgets.queue_table import QueueTable
from gputuner.language import jobs as words
from gputuner.language import sentences
from gputuner.language.words import _, ngettext
from gputuner.model.errors import GputunerError
from gputuner.model.jobs import Job, JobState


class QueuePage(QWidget):
    """Left a new job, right the cards, the jobs and the log of the chosen one."""

    def __init__(self, theme: Theme, desk: QueueDesk) -> None:
        super().__init__()
        self.setProperty("role", "page")
        self._desk = desk
        self._trouble = ""
        self.form = QueueForm(theme)
        self.cards = CardReserves(theme)
        self.table = QueueTable(theme)
        self.notice = Notice()
        self.panel = JobPanel()
        self.runner = QPushButton()
        self._summary, self._runner_words = Elided("", "small"), label("", "muted")
        self._build()
        self._connect()
        self.refresh()

    def _build(self) -> None:
        head = card()
        row = QHBoxLayout(head)
        row.setContentsMargins(16, 8, 12, 8)
        row.setSpacing(12)
        row.addWidget(label(_("Queue"), "title"))
        row.addWidget(self._summary, 1)
        row.addWidget(self._runner_words)
        self.runner.setMinimumWidth(120)
        row.addWidget(self.runner)
        self._list = QFrame()
        self._list.setProperty("role", "card")
        inside = QVBoxLayout(self._list)
        inside.setContentsMargins(4, 2, 4, 4)
        inside.addWidget(self.table)
        self._parts = QSplitter(Qt.Orientation.Vertical)
        self._parts.setChildrenCollapsible(False)
        self._parts.setHandleWidth(8)
        self._parts.addWidget(self._list)
        self._parts.addWidget(self.panel)
        self._parts.setStretchFactor(0, 3)
        self._parts.setStretchFactor(1, 2)
        right = QVBoxLayout()
        right.setSpacing(8)
        for widget in (self.notice, self.cards):
            right.addWidget(widget)
        right.addWidget(self._parts, 1)
        self._spare = QWidget()
        self._spare.setProperty("role", "clear")
        right.addWidget(self._spare, 1)
        columns = QHBoxLayout()
        columns.setSpacing(8)
        columns.addWidget(self.form)
        columns.addLayout(right, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 10, 16, 12)
        layout.setSpacing(8)
        layout.addWidget(head)
        layout.addLayout(columns, 1)

    def _connect(self) -> None:
        desk = self._desk
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self.refresh)
        desk.changed.connect(self._changed)
        desk.failed.connect(self._said_failed)
        desk.added.connect(self._said_added)
        self.form.wanted.connect(lambda request: desk.add(request, self.form.fields.like_session))
        self.table.moved.connect(desk.move)
        self.table.on_current(lambda _key: self._show_job())
        self.panel.cancel_wanted.connect(desk.cancel)
        self.panel.retry_wanted.connect(desk.retry)
        self.panel.front_wanted.connect(lambda job_id: desk.move(job_id))
        self.panel.step_wanted.connect(self.table.move_by)
        self.notice.acted.connect(self.toggle_runner)
        self.runner.clicked.connect(lambda _checked=False: self.toggle_runner())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The form is as wide as the set-up of the other pages."""
        super().resizeEvent(event)
        self.form.setFixedWidth(setup_width(self.width()))

    def showEvent(self, event: QShowEvent) -> None:
        """Follow the queue while it is seen."""
        super().showEvent(event)
        self._timer.start()
        self._desk.follow(True)

    def hideEvent(self, event: QHideEvent) -> None:
        """No look while hidden."""
        super().hideEvent(event)
        self._timer.stop()
        self._desk.follow(False)

    def _changed(self) -> None:
        """Draw anew, all changes of a moment at once; a page that is not seen is drawn when it is shown."""
        if self.isVisible():
            self._timer.start()

    def toggle_runner(self) -> None:
        """Start what serves the queue, or ask it to end."""
        view = self._desk.view
        if view is None or not self._desk.acting:
            return
        if view.runner is None:
            self._desk.start_runner()
        else:
            self._desk.stop_runner()

    def job(self) -> Job | None:
        """The chosen job."""
        key, view = self.table.current_key(), self._desk.view
        return next((job for job in view.jobs if str(job.id) == key), None) if view is not None else None

    def refresh(self) -> None:
        """Show the queue as it stands."""
        view, acting = self._desk.view, self._desk.acting
        self.form.set_acting(acting)
        self.form.fields.offer_cards(self._desk.cards)
        self.form.fields.offer_sessions(self._desk.sessions)
        self._show_notice()
        jobs = view.jobs if view is not None else ()
        self._parts.setVisible(bool(jobs))
        self._parts.setEnabled(self._desk.error is None)  # greyed: as it was when it could last be read
        self._spare.setVisible(not jobs)
        self.cards.show_cards(view.cards if view is not None else ())
        self._summary.show_text(summary_words(view) if view is not None else _("looking…"))
        self._runner_words.setText(runner_words(view) if view is not None else "")
        serving = view is not None and view.runner is not None
        self.runner.setText(_("Stop the runner") if serving else _("Start the runner"))
        self.runner.setToolTip(
            _("Running jobs go on; nothing new is started.")
            if serving
            else _("A process of its own starts jobs as cards have room; it goes on when this window closes.")
        )
        self.runner.setEnabled(view is not None and acting)
        if view is not None:
            self.table.show_jobs(job_rows(view, time()), waiting_ids(jobs))
            if jobs and self.table.current_key() is None:
                self.table.selectRow(0)
        self._show_job()

    def _show_job(self) -> None:
        job = self.job()
        self.panel.show_job(job, place=self._place(job))

    def _place(self, job: Job | None) -> tuple[bool, bool]:
        """Whether a job can go up, and down."""
        waiting = self.table.movable
        if job is None or job.id not in waiting:
            return False, False
        return waiting[0] != job.id, waiting[-1] != job.id

    def _show_notice(self) -> None:
        view, desk, offered = self._desk.view, self._desk, False
        if desk.error is not None:
            self.notice.say(_("The queue cannot be read"), self._unread_words(desk.error))
        elif self._trouble:
            self.notice.say(_("That could not be done"), self._trouble)
        elif view is not None and view.pretended:
            told = _("Nobody has queued anything: these jobs are made up to show the page on simulated cards.")
            self.notice.say(_("Invented jobs"), told)
        elif not desk.acting:
            told = _("A queue starts commands on real cards: open the window without --simulate and --replay.")
            self.notice.say(_("Nothing can be queued here"), told)
        elif view is None:
            self.notice.say("")
        elif not view.jobs:
            told = _(
                "Add a command at the left. It starts as soon as a card has room for it, beside other jobs only where "
                "their slowdown beside each other was measured and is small."
            )
            if view.runner is None:
                told = _("Add a command at the left, and start the runner: without one nothing is started.")
            self.notice.say(_("The queue is empty"), told)
        elif view.runner is None and view.counts.get(JobState.WAITING, 0):
            told = _("Jobs wait, and nothing starts them: no runner serves the queue.")
            self.notice.say(_("No runner"), told, _("Start the runner"))
            offered = True
        elif view.paused is not None:
            self.notice.say(_("Paused"), words.card_reason(view.paused))
        else:
            self.notice.say("")
        self.runner.setVisible(not offered)  # the same button once

    def _unread_words(self, err: Exception) -> str:
        if self._desk.view is None:
            return _error_words(err)
        at = at_words(self._desk.read_unix_s)
        return "\n".join([_error_words(err), _("What is shown is as of {time}.").format(time=at)])

    def _said_failed(self, err: Exception) -> None:
        self._trouble = _error_words(err)
        if self.form.line.text():
            self.form.say(self._trouble, "")
        self._show_notice()

    def _said_added(self, jobs: tuple[Job, ...]) -> None:
        self._trouble = ""
        self.form.clear_added()
        count = len(jobs)
        numbers = ", ".join(str(job.id) for job in jobs[:3]) + (" …" if count > 3 else "")
        done = ngettext("Added as job {numbers}", "Added as jobs {numbers}", count).format(numbers=numbers)
        self.form.say("", done)


def _error_words(err: Exception) -> str:
    return sentences.error(err) if isinstance(err, GputunerError) else f"{type(err).__name__}: {err}"
