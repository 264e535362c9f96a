"""What the supervisor of a job writes: that it runs it, and how it ended. Standard library only.

A start is claimed by one conditional update, which names the ticket that the runner gave out for it. A ticket is good
once: a runner that takes a start back (because nobody claimed it) gives the next one another ticket, so whoever comes
late claims nothing. So a job never runs twice, whoever is killed when.
"""

import json
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

FOLDER = "queue"
FILE = "queue.sqlite"
LOGS = "logs"
BUSY_S = 30.0
"""So long a writer waits for another."""
TRIED_FOR_S = 3600.0
"""So long a supervisor tries to write down how its job ended (a full disk may be tidied)."""
AGAIN_S = 1.0
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a supervisor is to run."""

    job: int
    attempt: int
    command: tuple[str, ...]
    folder: str
    environment: dict[str, str] = field(repr=False)
    cards: tuple[str, ...]
    array_index: int | None
    timeout_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Who runs a job."""

    pid: int
    pid_start: str | None
    command_pid: int | None
    command_start: str | None
    boot: str


def database(data_dir: Path) -> Path:
    """File of the queue of a data folder."""
    return data_dir / FOLDER / FILE


def log_path(data_dir: Path, job: int, attempt: int) -> Path:
    """File that takes the output of one start of a job."""
    return data_dir / FOLDER / LOGS / f"{job}.{attempt}.log"


def supervisor_log(data_dir: Path) -> Path:
    """File that takes what supervisors say when they fail themselves."""
    return data_dir / FOLDER / "supervisors.log"


def connect(path: Path) -> sqlite3.Connection:
    """A connection in autocommit, whose commits are on the disk when they return.

    Raises:
        sqlite3.Error: it cannot be opened.
    """
    connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA synchronous = FULL")  # a claim that a power cut takes back would run a job twice
    return connection


def read_order(connection: sqlite3.Connection, job: int, ticket: str) -> Order | None:
    """What to run; None: this ticket is not good (any more)."""
    row = connection.execute(
        "SELECT attempt, command, folder, json, cards, array_index, timeout_s FROM jobs JOIN environments "
        "ON environments.id = jobs.environment WHERE jobs.id = ? AND ticket = ? AND state = 'starting'",
        (job, ticket),
    ).fetchone()
    if row is None:
        return None
    return Order(
        job=job,
        attempt=row[0] + 1,
        command=tuple(json.loads(row[1])),
        folder=row[2],
        environment=json.loads(row[3]),
        cards=tuple(json.loads(row[4])),
        array_index=row[5],
        timeout_s=row[6],
    )


def claim(connection: sqlite3.Connection, job: int, ticket: str, by: Claim) -> bool:
    """Make the job ours; False: it is somebody else's, was cancelled, or the ticket is void."""
    now = time.time()
    connection.execute("BEGIN IMMEDIATE")
    try:
        changed = connection.execute(
            "UPDATE jobs SET state = 'running', attempt = attempt + 1, started = ?, pid = ?, pid_start = ?, "
            "command_pid = ?, command_start = ?, boot = ?, reason = NULL, exit_code = NULL, ended = NULL, tail = '' "
            "WHERE id = ? AND ticket = ? AND state = 'starting' AND pid IS NULL AND cancel_asked IS NULL",
            (now, by.pid, by.pid_start, by.command_pid, by.command_start, by.boot, job, ticket),
        ).rowcount
        if changed:
            connection.execute(
                "INSERT INTO starts(job, attempt, ticket, pid, boot, cards, reserved_bytes, started) "
                "SELECT id, attempt, ticket, pid, boot, cards, reserved_bytes, started FROM jobs WHERE id = ?",
                (job,),
            )
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
    return changed == 1


def finish(
    connection: sqlite3.Connection,
    job: int,
    ticket: str,
    *,
    state: str,
    exit_code: int | None,
    reason: str | None,
    tail: str,
) -> bool:
    """Write down how the job ended; False: somebody else has already."""
    now = time.time()
    connection.execute("BEGIN IMMEDIATE")
    try:
        changed = connection.execute(
            "UPDATE jobs SET state = ?, exit_code = ?, reason = ?, tail = ?, ended = ?, used_bytes = NULL, "
            "failures = failures + (? = 'failed') WHERE id = ? AND ticket = ? AND state = 'running'",
            (state, exit_code, reason, tail, now, state, job, ticket),
        ).rowcount
        if changed:
            connection.execute(
                "UPDATE starts SET state = ?, exit_code = ?, ended = ?, "
                "peak_bytes = (SELECT peak_bytes FROM jobs WHERE id = ?) WHERE ticket = ?",
                (state, exit_code, now, job, ticket),
            )
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
    return changed == 1


def cancel_asked(connection: sqlite3.Connection, job: int) -> bool:
    """Whether the user wants the job to end."""
    row = connection.execute("SELECT cancel_asked FROM jobs WHERE id = ?", (job,)).fetchone()
    return row is not None and row[0] is not None


def persistently(path: Path, write: Callable[[sqlite3.Connection], T]) -> T | None:
    """Write, and try again while the disk is full or others write; None: it never succeeded."""
    until = time.monotonic() + TRIED_FOR_S
    while True:
        try:
            connection = connect(path)
            try:
                return write(connection)
            finally:
                connection.close()
        except sqlite3.Error:
            if time.monotonic() >= until:
                return None
            time.sleep(AGAIN_S)
