"""The job queue as the window is handed it: the setup's data folder and cards, this program's environment."""

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gputuner.assembly.setup import Setup
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.errors import UsageError
from gputuner.model.jobs import Job, QueueView, Request
from gputuner.sessions.library import Entry

if TYPE_CHECKING:
    from gputuner.assembly.queue import Queue


class WindowQueue:
    """Meets ``gui.ports.QueuePort`` over a :class:`Setup`; the queue is opened when it is first asked for."""

    def __init__(self, setup: Setup) -> None:
        """Take ``setup``, which its maker closes."""
        self._setup = setup
        self._opened: Queue | None = None
        self._pretends = False

    @property
    def acting(self) -> bool:
        """Whether the cards are real, so that commands can run on them."""
        return self._setup.origin is Origin.MEASURED

    def read(self) -> QueueView:
        """The queue as it stands.

        Raises:
            GputunerError: it cannot be read.
        """
        if self._pretends:
            from gputuner.assembly.pretended_queue import pretended

            return pretended(self._setup.cards(), time.time())
        return self._queue.read()

    def pretend(self) -> None:
        """From now on tell of invented jobs, for pictures; on simulated cards alone, and then nothing can be done."""
        self._pretends = self._setup.origin is Origin.SIMULATED

    def cards(self) -> tuple[CardInfo, ...]:
        """The cards that jobs can be kept to.

        Raises:
            GputunerError: the driver does not answer.
        """
        return self._setup.cards()

    def sessions(self) -> tuple[Entry, ...]:
        """The stored sessions, newest first."""
        return self._setup.sessions.entries()

    def add(self, request: Request, like: str = "") -> tuple[Job, ...]:
        """Add a job that starts in the environment of this program.

        Args:
            request: the job.
            like: id of the stored session that measured its memory.

        Raises:
            GputunerError: it can never fit, its folder is not there, the session measured no memory, or the cards are
                not real.
        """
        self._check()
        if not Path(request.folder).is_dir():
            raise UsageError("command_folder", f"no folder {request.folder}", path=request.folder)
        if like:
            from gputuner.jobs.learning import from_session

            request = replace(request, needs=from_session(request.needs, self._setup.sessions, like))
        return self._queue.add(replace(request, environment=dict(os.environ)), self._setup.cards())

    def move(self, job_id: int, before: int | None, after: int | None) -> None:
        """Put a waiting job before or behind another; to the front where neither is named.

        Raises:
            GputunerError: one of them does not wait.
        """
        self._queue.move(job_id, before, after=after)

    def cancel(self, job_id: int) -> None:
        """Take a waiting job out; end a running one.

        Raises:
            GputunerError: it is over.
        """
        self._queue.cancel(job_id)

    def retry(self, job_id: int) -> None:
        """Let an ended job wait again.

        Raises:
            GputunerError: it is not over.
        """
        self._queue.retry(job_id)

    def start_runner(self) -> None:
        """Start the process that serves the queue.

        Raises:
            GputunerError: it could not be started, or the cards are not real.
        """
        self._check()
        self._queue.start_runner()

    def stop_runner(self) -> None:
        """Ask it to end; running jobs go on.

        Raises:
            GputunerError: it does not answer.
        """
        self._queue.stop_runner()

    @property
    def _queue(self) -> "Queue":
        if self._pretends:
            self._check()
        if self._opened is None:
            from gputuner.assembly.queue import open_queue

            self._opened = open_queue(self._setup.data_dir)
        return self._opened

    def _check(self) -> None:
        if not self.acting:
            option = "--simulate" if self._setup.origin is Origin.SIMULATED else "--replay"
            raise UsageError("watch_real_only", "a queue starts commands on real cards", option=option)
