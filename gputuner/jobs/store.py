"""The jobs of a data folder: asked for, listed, moved, cancelled, tried again. Any process may do so at any time."""

import json
import sqlite3
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Self

from gputuner.analysis.told_command import told_command
from gputuner.jobs import rows
from gputuner.jobs.claims import database
from gputuner.jobs.opening import open_queue, translated
from gputuner.model.errors import UsageError
from gputuner.model.jobs import ENDED, Job, JobState, NeedSource, Request

STEP = 1024.0
"""Between the places of two jobs in the line."""
LEAST_GAP = 1e-6


class JobStore:
    """An open queue. One per thread or under a lock of the caller's; close it."""

    def __init__(self, data_dir: Path) -> None:
        """Open it; it is made where there is none.

        Raises:
            StoreError: it cannot be read or written.
        """
        self.data_dir = data_dir
        self.path = database(data_dir)
        self.connection = open_queue(data_dir)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close it; idempotent."""
        self.connection.close()

    @contextmanager
    def writing(self) -> Generator[sqlite3.Connection]:
        """One transaction: all of it or nothing.

        Raises:
            StoreError: it cannot be written.
        """
        with translated(self.path):
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
            except BaseException:
                self.connection.execute("ROLLBACK")
                raise
            self.connection.execute("COMMIT")

    def select(self, where: str, values: Sequence[object] = ()) -> list[sqlite3.Row]:
        """Rows of ``rows.COLUMNS``; ``where``: what stands after FROM jobs."""
        with translated(self.path):
            return self.connection.execute(f"SELECT {rows.COLUMNS} FROM jobs {where}", tuple(values)).fetchall()

    def value(self, query: str, values: Sequence[object] = ()) -> int:
        """The one number of a query."""
        with translated(self.path):
            row = self.connection.execute(query, tuple(values)).fetchone()
        return 0 if row is None or row[0] is None else int(row[0])

    def job(self, job_id: int) -> Job:
        """One job.

        Raises:
            UsageError: there is none of this id.
        """
        found = self.select("WHERE id = ?", (job_id,))
        if not found:
            raise UsageError("job_unknown", f"there is no job {job_id}", job=job_id)
        return rows.job_of(found[0], self.data_dir)

    def jobs(self, where: str = "ORDER BY id", values: Sequence[object] = ()) -> tuple[Job, ...]:
        """Jobs; ``where``: what stands after FROM jobs."""
        return tuple(rows.job_of(row, self.data_dir) for row in self.select(where, values))

    def counts(self) -> dict[JobState, int]:
        """How many jobs there are in each state."""
        with translated(self.path):
            found = self.connection.execute("SELECT state, count(*) FROM jobs GROUP BY state").fetchall()
        return {JobState(row[0]): int(row[1]) for row in found}

    def add(self, request: Request) -> tuple[int, ...]:
        """Put a job (an array: one for each index) at the end of the line; returns the ids.

        Raises:
            UsageError: a job that it is to follow does not exist.
            StoreError: it cannot be written.
        """
        now = time.time()
        ids: list[int] = []
        with self.writing() as connection:
            for before in request.after:
                if connection.execute("SELECT 1 FROM jobs WHERE id = ?", (before,)).fetchone() is None:
                    raise UsageError("job_unknown", f"there is no job {before}", job=before)
            environment = _environment_id(connection, request.environment)
            last = connection.execute("SELECT max(position) FROM jobs").fetchone()[0] or 0.0
            for i, index in enumerate(request.array or (None,)):
                first = ids[0] if ids else None
                ids.append(_insert(connection, request, index, first, environment, last + STEP * (i + 1), now))
            if request.array:
                connection.execute("UPDATE jobs SET array_id = ? WHERE id = ?", (ids[0], ids[0]))
        return tuple(ids)

    def move(self, job_id: int, before: int | None = None, *, after: int | None = None) -> None:
        """Put a waiting job before or behind another one, whose priority it takes; naming none: before all.

        Raises:
            UsageError: one of them does not exist, or does not wait.
        """
        other = before if before is not None else after
        with self.writing() as connection:
            self._require_waiting(job_id)
            if other is None:
                priority, position = connection.execute(
                    "SELECT priority, position FROM jobs WHERE state = 'waiting' ORDER BY priority DESC, position, id"
                ).fetchone()
                position -= STEP
            elif other == job_id:
                return
            else:
                self._require_waiting(other)
                priority, position = _place_beside(connection, job_id, other, behind=before is None)
            connection.execute("UPDATE jobs SET priority = ?, position = ? WHERE id = ?", (priority, position, job_id))

    def ask_cancel(self, job_id: int) -> Job:
        """Cancel a job that has not begun, or note that it is to end; returns it as it then stands.

        Raises:
            UsageError: it does not exist, or has ended.
        """
        now = time.time()
        with self.writing() as connection:
            job = self.job(job_id)
            if job.state in ENDED:
                raise UsageError("job_ended", f"job {job_id} has ended", job=job_id)
            changed = connection.execute(
                "UPDATE jobs SET state = 'cancelled', ended = ?, cancel_asked = ?, reason = NULL, ticket = NULL "
                "WHERE id = ? AND state IN ('waiting', 'starting') AND pid IS NULL",
                (now, now, job_id),
            ).rowcount
            if not changed:
                connection.execute("UPDATE jobs SET cancel_asked = ? WHERE id = ?", (now, job_id))
        return self.job(job_id)

    def retry(self, job_id: int) -> None:
        """Put an ended job back into the line, at its end.

        Raises:
            UsageError: it does not exist, or has not ended.
        """
        with self.writing() as connection:
            job = self.job(job_id)
            if job.state not in ENDED:
                raise UsageError("job_not_ended", f"job {job_id} has not ended", job=job_id)
            last = connection.execute("SELECT max(position) FROM jobs").fetchone()[0] or 0.0
            requeue(connection, job_id, last + STEP)
            connection.execute("UPDATE jobs SET failures = 0, unclaimed = 0 WHERE id = ?", (job_id,))

    def raw_command(self, job_id: int) -> tuple[str, ...]:
        """The words that will be run; never to be shown."""
        with translated(self.path):
            row = self.connection.execute("SELECT command FROM jobs WHERE id = ?", (job_id,)).fetchone()
        return () if row is None else tuple(json.loads(row[0]))

    def _require_waiting(self, job_id: int) -> None:
        if self.job(job_id).state is not JobState.WAITING:
            raise UsageError("job_not_waiting", f"job {job_id} does not wait", job=job_id)


def requeue(connection: sqlite3.Connection, job_id: int, position: float | None = None) -> None:
    """Let a job wait again, at its old place or another; what its last start left is cleared."""
    connection.execute(
        "UPDATE jobs SET state = 'waiting', ticket = NULL, pid = NULL, pid_start = NULL, command_pid = NULL, "
        "command_start = NULL, boot = NULL, cards = '[]', reserved_bytes = NULL, placed = NULL, "
        "started = NULL, ended = NULL, exit_code = NULL, cancel_asked = NULL, used_bytes = NULL, reason = NULL, "
        "waiting_since = ?, position = coalesce(?, position) WHERE id = ?",
        (time.time(), position, job_id),
    )


def digest(command: Sequence[str], folder: str) -> str:
    """What tells one command in one folder from every other."""
    return sha256(json.dumps([folder, *command]).encode()).hexdigest()


def _environment_id(connection: sqlite3.Connection, environment: dict[str, str]) -> int:
    text = json.dumps(environment, sort_keys=True)
    name = sha256(text.encode()).hexdigest()
    connection.execute("INSERT OR IGNORE INTO environments(digest, json) VALUES(?, ?)", (name, text))
    return int(connection.execute("SELECT id FROM environments WHERE digest = ?", (name,)).fetchone()[0])


def _insert(
    connection: sqlite3.Connection,
    request: Request,
    index: int | None,
    array_id: int | None,
    environment: int,
    position: float,
    now: float,
) -> int:
    needs = request.needs
    command = tuple(word.replace("{index}", str(index)) for word in request.command) if index is not None else None
    command = command or request.command
    values: dict[str, object] = {
        "name": request.name,
        "command": json.dumps(command),
        "told": json.dumps(told_command(command)),
        "digest": digest(request.command, request.folder),
        "folder": request.folder,
        "environment": environment,
        "priority": request.priority,
        "position": position,
        "memory_bytes": needs.memory_bytes,
        "cards_wanted": needs.cards,
        "minutes": needs.minutes,
        "need_source": (NeedSource.UNKNOWN if needs.memory_bytes is None else needs.source).value,
        "alone": needs.alone,
        "share": needs.share,
        "pinned": json.dumps(needs.pinned),
        "label": needs.label,
        "after": json.dumps(request.after),
        "retries": request.retries,
        "timeout_s": request.timeout_s,
        "start_within_s": request.start_within_s,
        "on_reboot": request.on_reboot.value,
        "array_id": array_id,
        "array_index": index,
        "added": now,
        "waiting_since": now,
    }
    names = ", ".join(values)
    marks = ", ".join("?" * len(values))
    cursor = connection.execute(f"INSERT INTO jobs({names}) VALUES({marks})", tuple(values.values()))
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def _place_beside(connection: sqlite3.Connection, job_id: int, other: int, *, behind: bool) -> tuple[int, float]:
    """Priority and place just before or behind a job; the line is numbered anew where no place is left."""
    priority, position, next_one = _gap(connection, job_id, other, behind=behind)
    if next_one is not None and abs(position - next_one) <= LEAST_GAP:
        line = connection.execute("SELECT id FROM jobs WHERE state = 'waiting' ORDER BY position, id").fetchall()
        connection.executemany(
            "UPDATE jobs SET position = ? WHERE id = ?", [(STEP * (i + 1), row[0]) for i, row in enumerate(line)]
        )
        priority, position, next_one = _gap(connection, job_id, other, behind=behind)
    if next_one is None:
        return priority, position + (STEP if behind else -STEP)
    return priority, (position + next_one) / 2.0


def _gap(connection: sqlite3.Connection, job_id: int, other: int, *, behind: bool) -> tuple[int, float, float | None]:
    """Priority and place of a job, and the place of its neighbour on that side (None: it has none of its priority)."""
    priority, position = connection.execute("SELECT priority, position FROM jobs WHERE id = ?", (other,)).fetchone()
    nearest, beyond = ("min", ">=") if behind else ("max", "<=")
    neighbour = connection.execute(
        f"SELECT {nearest}(position) FROM jobs WHERE state = 'waiting' AND priority = ? AND position {beyond} ? "
        "AND id NOT IN (?, ?)",
        (priority, position, job_id, other),
    ).fetchone()[0]
    return priority, position, neighbour
