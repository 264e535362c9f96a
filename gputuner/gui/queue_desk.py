# pyright: standard
"""The job queue behind its page: read while it is seen, acted on in the background. Outlives the page."""

from collections.abc import Callable, Sequence
from time import time

from PySide6.QtCore import QObject, QTimer, Signal

from gputuner.gui.ports import QueuePort, SessionEntry
from gputuner.gui.queue_sessions import offered
from gputuner.gui.run_worker import Background
from gputuner.model.cards import CardInfo
from gputuner.model.jobs import Job, QueueView, Request

LOOK_MS = 1000
"""Time between two looks while the page is seen."""


class QueueDesk(QObject):
    """What stands in the queue, and what the user does to it. All calls of the port are made in the background."""

    changed = Signal()
    """``view`` or ``error`` is new."""
    failed = Signal(object)
    """What the user asked for could not be done: an exception."""
    added = Signal(object)
    """The jobs that were added: a tuple of ``Job``."""

    def __init__(self, queue: QueuePort, background: Background, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._queue = queue
        self._background = background
        self._reading = False
        self.view: QueueView | None = None
        """None: not read yet."""
        self.read_unix_s = 0.0
        """When ``view`` was read."""
        self.error: Exception | None = None
        """Why it could not be read the last time."""
        self.cards: tuple[CardInfo, ...] = ()
        """What a job may be kept to; empty: not told yet."""
        self.sessions: tuple[tuple[str, str], ...] = ()
        """Stored sessions whose memory a job may be like: id and words."""
        self._asked_cards = False
        self._timer = QTimer(self)
        self._timer.setInterval(LOOK_MS)
        self._timer.timeout.connect(self.look)

    @property
    def acting(self) -> bool:
        """Whether jobs may be added and a runner started."""
        return self._queue.acting

    @property
    def following(self) -> bool:
        """Whether it is looked at again and again."""
        return self._timer.isActive()

    def follow(self, seen: bool) -> None:
        """Look at it again and again while its page is seen."""
        if seen:
            self.look()
            if not self._asked_cards:
                self._asked_cards = True
                self._background.ask(self._queue.cards, self._known, self._unknown)
            self._background.ask(self._queue.sessions, self._stored, lambda _err: None)
            self._timer.start()
        else:
            self._timer.stop()

    def look(self) -> None:
        """Read it, unless that is under way."""
        if not self._reading:
            self._reading = True
            self._background.ask(self._queue.read, self._read, self._unread)

    def add(self, request: Request, like: str = "") -> None:
        """Add a job; ``like``: id of the stored session that measured its memory."""

        def told(jobs: tuple[Job, ...]) -> None:
            self.added.emit(jobs)
            self.look()

        self._background.ask(lambda: self._queue.add(request, like), told, self.failed.emit)

    def move(self, job_id: int, before: int | None = None, after: int | None = None) -> None:
        """Put a waiting job before or behind another; to the front where neither is named."""
        self._act(lambda: self._queue.move(job_id, before, after))

    def cancel(self, job_id: int) -> None:
        """Take a waiting job out, or end a running one."""
        self._act(lambda: self._queue.cancel(job_id))

    def retry(self, job_id: int) -> None:
        """Let an ended job wait again."""
        self._act(lambda: self._queue.retry(job_id))

    def start_runner(self) -> None:
        """Start what serves the queue."""
        self._act(self._queue.start_runner)

    def stop_runner(self) -> None:
        """Ask it to end; running jobs go on."""
        self._act(self._queue.stop_runner)

    def _act(self, call: Callable[[], None]) -> None:
        self._background.ask(call, lambda _nothing: self.look(), self.failed.emit)

    def _read(self, view: QueueView) -> None:
        self._reading, self.read_unix_s = False, time()
        if view != self.view or self.error is not None:
            self.view, self.error = view, None
        self.changed.emit()  # times go on even where nothing else has changed

    def _known(self, cards: tuple[CardInfo, ...]) -> None:
        self.cards = cards
        self.changed.emit()

    def _stored(self, entries: Sequence[SessionEntry]) -> None:
        self.sessions = offered(entries)
        self.changed.emit()

    def _unknown(self, _err: Exception) -> None:
        self._asked_cards = False  # asked again when the page is next seen; until then any card may take a job

    def _unread(self, err: Exception) -> None:
        self._reading = False
        self.error = err
        self.changed.emit()
