"""The job queue of a data folder, for the command line and the window: read it, act on it, serve it.

Every call opens the database for itself, so calls may come from any thread at any time, beside other processes.
"""

import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gputuner.analysis.placement import never_fits
from gputuner.analysis.placement_room import Room
from gputuner.assembly.children import child_command
from gputuner.assembly.queue_standing import ended_now, left_behind, with_standing
from gputuner.jobs import lease, opening, snapshot
from gputuner.jobs.failure import log_tail
from gputuner.jobs.marked import unmarked
from gputuner.jobs.processes import send, start_mark
from gputuner.jobs.store import JobStore
from gputuner.model.cards import CardInfo
from gputuner.model.errors import DoesNotFit, GputunerError, UsageError
from gputuner.model.jobs import ENDED, Job, JobState, QueueCard, QueueView, Reason, Request, RunnerInfo

if TYPE_CHECKING:
    from gputuner.model.jobs import Needs

ENDS_S = 10.0
"""So long a runner may take to come up, or to end."""
LOOK_S = 0.05
_NOBODY = Reason(code="no_runner")
_ENDED_LIST = ", ".join(f"'{state.value}'" for state in ENDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogTail:
    """The end of the log of a job's last start."""

    text: str
    path: Path | None
    """None: it was never started."""
    attempt: int
    size_bytes: int
    ended: bool
    """Whether nothing more will come."""


class Queue:
    """The queue of one data folder."""

    def __init__(self, data_dir: Path) -> None:
        """Nothing is opened or made yet."""
        self.data_dir = data_dir

    def read(self, *, most_waiting: int | None = 200, most_ended: int | None = 50, left: bool = False) -> QueueView:
        """The queue now: running jobs, waiting ones in their order, then ended ones, the newest first.

        Args:
            most_waiting: so many of the waiting at most; None: all.
            most_ended: so many of the ended at most; None: all.
            left: also look for processes that ended jobs have left behind.

        Raises:
            StoreError: it cannot be read.
        """
        if not opening.exists(self.data_dir):
            return QueueView()
        runner = lease.runner(self.data_dir)
        with JobStore(self.data_dir) as store, opening.translated(store.path):
            placed = store.jobs("WHERE state IN ('starting', 'running') ORDER BY id")
            placed = with_standing(store, placed, served=runner is not None)
            waiting = store.jobs(
                "WHERE state = 'waiting' ORDER BY priority DESC, position, id LIMIT ?", (_most(most_waiting),)
            )
            ended = store.jobs(
                f"WHERE state IN ({_ENDED_LIST}) ORDER BY ended DESC, id DESC LIMIT ?", (_most(most_ended),)
            )
            if runner is None:
                waiting = tuple(job if _stuck(job) else replace(job, reason=_NOBODY) for job in waiting)
            return QueueView(
                jobs=(*placed, *waiting, *ended),
                cards=snapshot.cards(store),
                runner=runner,
                counts=store.counts(),
                left=left_behind(store) if left else {},
            )

    def job(self, job_id: int) -> Job:
        """One job.

        Raises:
            UsageError: there is none of this id.
        """
        with self._store() as store:
            return store.job(job_id)

    def known_cards(self) -> tuple[QueueCard, ...]:
        """The cards as a runner that serves now has seen them; empty: nobody serves, or not for long."""
        if lease.runner(self.data_dir) is None or not opening.exists(self.data_dir):
            return ()
        with self._store() as store, opening.translated(store.path):
            found = snapshot.cards(store)
        return found if all(time.time() - card.seen_unix_s < snapshot.FRESH_S for card in found) else ()

    def add(self, request: Request, cards: Sequence[CardInfo] | Sequence[QueueCard]) -> tuple[Job, ...]:
        """Put a job into the line; what it needs and was not given is learned, where it was measured before.

        Args:
            request: the job.
            cards: all cards; empty: not known, so nothing is checked.

        Raises:
            DoesNotFit: ``job_never_fits``, ``job_never_fits_cards``: it could never start.
            UsageError: a job that it is to follow does not exist.
            StoreError: the queue cannot be written.
        """
        from gputuner.jobs.learning import learned
        from gputuner.sessions.library import SessionLibrary

        with self._store() as store:
            asked = _labelled(learned(request, store, SessionLibrary(self.data_dir)))
            refuse_impossible(asked.needs, cards)
            return tuple(store.job(job_id) for job_id in store.add(asked))

    def parse_command(self, text: str) -> tuple[str, ...]:
        """The words of a command line, without a shell.

        Raises:
            UsageError: it is empty, or a quotation mark is not closed.
        """
        try:
            words = tuple(shlex.split(text, posix=sys.platform != "win32"))
        except ValueError as error:
            raise UsageError("queue_command_line", str(error), command=text) from error
        if not words:
            raise UsageError("queue_no_command", "no command was given")
        return words

    def move(self, job_id: int, before: int | None = None, *, after: int | None = None) -> None:
        """Put a waiting job before or behind another one, whose priority it takes; naming none: before all.

        Raises:
            UsageError: one of them does not exist, or does not wait.
        """
        with self._store() as store:
            store.move(job_id, before, after=after)

    def cancel(self, job_id: int) -> Job:
        """Take a job out of the line; one that runs is asked to end (SIGTERM, then SIGKILL, to all of its processes).

        Returns:
            The job; one that ran may not have ended yet; its reason then says if its supervisor is not there to do it.

        Raises:
            UsageError: it does not exist, or has ended.
        """
        with self._store() as store:
            job = store.ask_cancel(job_id)
            if job.state is JobState.RUNNING:
                row = store.connection.execute("SELECT pid, pid_start FROM jobs WHERE id = ?", (job_id,)).fetchone()
                if row["pid"] is not None:
                    send(row["pid"], row["pid_start"], signal.SIGTERM)
                job = ended_now(store, job)
        return job

    def retry(self, job_id: int) -> Job:
        """Put an ended job back into the line, at its end.

        Raises:
            UsageError: it does not exist, or has not ended.
        """
        with self._store() as store:
            store.retry(job_id)
            return store.job(job_id)

    def log(self, job_id: int, *, most_bytes: int = 65536) -> LogTail:
        """The end of the log of a job's last start.

        Raises:
            UsageError: there is no such job.
        """
        job = self.job(job_id)
        path = Path(job.log) if job.log else None
        size = 0
        if path is not None:
            with suppress(OSError):
                size = path.stat().st_size
        text = "" if path is None else log_tail(path, most_bytes, most_lines=None)
        return LogTail(text=text, path=path, attempt=job.attempt, size_bytes=size, ended=job.state in ENDED)

    def runner(self) -> RunnerInfo | None:
        """Who serves the queue now."""
        return lease.runner(self.data_dir)

    def start_runner(self) -> None:
        """Start a runner in a session of its own, which goes on when this program ends.

        Raises:
            GputunerError: it did not come up.
        """
        if self.runner() is not None:
            return
        words = [*child_command(), "--cli", "queue", "run", "--quiet", "--data-dir", str(self.data_dir.resolve())]
        try:
            process = subprocess.Popen(
                words,
                env=unmarked(dict(os.environ)),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            raise GputunerError("runner_not_started", str(error), message=error.strerror or str(error)) from error
        threading.Thread(target=process.wait, name="queue runner", daemon=True).start()
        until = time.monotonic() + ENDS_S
        while self.runner() is None:
            if process.poll() is not None or time.monotonic() >= until:
                raise GputunerError("runner_not_started", "the runner did not come up", message="")
            time.sleep(LOOK_S)

    def stop_runner(self) -> None:
        """Ask the runner to end; jobs that run go on.

        Raises:
            GputunerError: it does not end.
        """
        found = self.runner()
        if found is None:
            return
        send(found.pid, start_mark(found.pid), signal.SIGTERM)
        until = time.monotonic() + ENDS_S
        while (now := self.runner()) is not None and now.pid == found.pid:
            if time.monotonic() >= until:
                raise GputunerError("runner_not_ended", "the runner does not end", pid=found.pid)
            time.sleep(LOOK_S)

    def _store(self) -> JobStore:
        return JobStore(self.data_dir)


def open_queue(data_dir: Path) -> Queue:
    """The queue of a data folder; touches nothing."""
    return Queue(data_dir)


def refuse_impossible(needs: "Needs", cards: Sequence[CardInfo] | Sequence[QueueCard]) -> None:
    """Refuse a job that could never start on these cards.

    Raises:
        DoesNotFit: ``job_never_fits`` and ``job_never_fits_cpu`` (memory), ``job_never_fits_cards`` (number of cards).
    """
    rooms = [_empty_room(card) for card in cards]
    against = never_fits(needs, rooms) if rooms else None
    if against is None:
        return
    code = "job_never_fits" if against.code == "never_memory" else "job_never_fits_cards"
    code = "job_never_fits_cpu" if code == "job_never_fits" and against.params.get("cpu") else code
    raise DoesNotFit(code, against.code, **against.params)


def _empty_room(card: CardInfo | QueueCard) -> Room:
    if isinstance(card, QueueCard):
        total = card.total_bytes
    elif card.is_cpu:
        import psutil

        total = psutil.virtual_memory().total
    else:
        total = card.memory_total_bytes
    name = card.title
    return Room(uuid=card.uuid, title=name, index=card.index, total_bytes=total or 0, free_bytes=total)


def _stuck(job: Job) -> bool:
    """Whether it would not start whoever served."""
    return job.reason is not None and job.reason.code == "after_failed"


def _labelled(request: Request) -> Request:
    """With the name under which ``contend`` measures this command, unless the user named another."""
    if request.needs.label:
        return request
    from gputuner.experiments.contention_commands import command_jobs

    (job,) = command_jobs([request.command])
    return replace(request, needs=replace(request.needs, label=job.label))


def _most(number: int | None) -> int:
    return -1 if number is None else number
