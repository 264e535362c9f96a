"""The jobs that hold a place on a card, and what has become of them meanwhile.

Whoever serves the queue looks at these rows first, whether it placed them itself or a runner before it did: that is all
there is to adopting. What is written here is conditional on the row being as it was read, so a supervisor that writes
its job's end at the same moment is never overruled.
"""

import signal
import sqlite3
import time
from dataclasses import dataclass

from gputuner.jobs.claims import supervisor_log
from gputuner.jobs.marked import send_marked
from gputuner.jobs.owners import Standing
from gputuner.jobs.processes import boot_id, lives, send, send_group
from gputuner.jobs.rows import reason_text, words
from gputuner.jobs.store import JobStore, requeue
from gputuner.jobs.supervisor import GRACE_S
from gputuner.model.jobs import JobState, OnReboot, Reason

CLAIM_S = 60.0
"""A start that nobody has claimed for so long is taken back, though its supervisor may still be coming up."""
QUICK_S = 10.0
"""What failed sooner than this after its start is not tried again at once: what was missing then is missing still."""
MOST_PAUSE_S = 300.0
MOST_UNCLAIMED = 3
"""So often a job's supervisor may fail to come up before the job is told to have failed."""
_COLUMNS = (
    "id, ticket, state, pid, pid_start, command_pid, command_start, boot, cards, reserved_bytes, label, alone, share, "
    "array_id, minutes, started, placed, cancel_asked, peak_bytes, used_bytes, on_reboot"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A job on its cards. Times are Unix seconds."""

    job: int
    ticket: str
    state: JobState
    pid: int | None
    pid_start: str | None
    command_pid: int | None
    command_start: str | None
    boot: str | None
    cards: tuple[str, ...]
    reserved_bytes: int | None
    label: str
    alone: bool
    share: bool
    array_id: int | None
    minutes: float | None
    since_unix_s: float
    cancel_asked_unix_s: float | None
    peak_bytes: int | None
    used_bytes: int | None
    on_reboot: OnReboot

    @property
    def standing(self) -> Standing:
        """How its processes are known."""
        return Standing(job=self.job, ticket=self.ticket, pid=self.pid, command_pid=self.command_pid)


def read_placed(store: JobStore) -> tuple[Placed, ...]:
    """All jobs that hold a place."""
    found = store.connection.execute(
        f"SELECT {_COLUMNS} FROM jobs WHERE state IN ('starting', 'running') ORDER BY id"
    ).fetchall()
    return tuple(map(_placed, found))


def _placed(row: sqlite3.Row) -> Placed:
    return Placed(
        job=row["id"],
        ticket=row["ticket"] or "",
        state=JobState(row["state"]),
        pid=row["pid"],
        pid_start=row["pid_start"],
        command_pid=row["command_pid"],
        command_start=row["command_start"],
        boot=row["boot"],
        cards=words(row["cards"]),
        reserved_bytes=row["reserved_bytes"],
        label=row["label"],
        alone=bool(row["alone"]),
        share=bool(row["share"]),
        array_id=row["array_id"],
        minutes=row["minutes"],
        since_unix_s=row["started"] or row["placed"] or 0.0,
        cancel_asked_unix_s=row["cancel_asked"],
        peak_bytes=row["peak_bytes"],
        used_bytes=row["used_bytes"],
        on_reboot=OnReboot(row["on_reboot"]),
    )


def settle(store: JobStore, placed: Placed, *, ours: bool, supervisor_ended: bool) -> bool:
    """Judge one placed job; True if its row has changed.

    Args:
        store: the queue.
        placed: the job.
        ours: this runner sent for its supervisor.
        supervisor_ended: that supervisor is known to be gone.
    """
    if placed.state is JobState.STARTING:
        late = time.time() - placed.since_unix_s > CLAIM_S
        return (supervisor_ended or late or not ours) and _take_back(store, placed, failed=ours)
    if placed.boot != boot_id():
        return _interrupted(store, placed)
    if lives(placed.pid, placed.pid_start, placed.boot):
        if placed.cancel_asked_unix_s is not None and placed.pid is not None:
            send(placed.pid, placed.pid_start, signal.SIGTERM)  # whoever asked may have been killed before he could
        return False
    if lives(placed.command_pid, placed.command_start, placed.boot):
        end_unsupervised(placed)
        return False
    if placed.cancel_asked_unix_s is not None and end_unsupervised(placed):
        return False  # the command is gone, but not all that it has started
    return _lost(store, placed)


def _take_back(store: JobStore, placed: Placed, *, failed: bool) -> bool:
    """Let a start that nobody claimed wait again; its ticket is void from then on. ``failed``: its supervisor could not
    do it, which is not tried for ever.
    """
    with store.writing() as connection:
        found = connection.execute(
            "SELECT unclaimed FROM jobs WHERE id = ? AND ticket = ? AND state = 'starting' AND pid IS NULL",
            (placed.job, placed.ticket),
        ).fetchone()
        if found is None:
            return True
        requeue(connection, placed.job)
        if not failed:
            return True
        connection.execute("UPDATE jobs SET unclaimed = unclaimed + 1 WHERE id = ?", (placed.job,))
        if found[0] + 1 >= MOST_UNCLAIMED:
            reason = reason_text(Reason(code="supervisor_failed", params={"log": str(supervisor_log(store.data_dir))}))
            connection.execute(
                "UPDATE jobs SET state = 'failed', ended = ?, reason = ?, failures = retries + 1 WHERE id = ?",
                (time.time(), reason, placed.job),
            )
    return True


def _interrupted(store: JobStore, placed: Placed) -> bool:
    """The machine went down under it."""
    reason = reason_text(Reason(code="rebooted"))
    with store.writing() as connection:
        changed = connection.execute(
            "UPDATE jobs SET state = 'interrupted', ended = ?, reason = ?, used_bytes = NULL "
            "WHERE id = ? AND ticket = ? AND state = 'running'",
            (time.time(), reason, placed.job, placed.ticket),
        ).rowcount
        if changed:
            connection.execute("UPDATE starts SET state = 'interrupted' WHERE ticket = ?", (placed.ticket,))
    return True


def rerun_interrupted(store: JobStore) -> tuple[int, ...]:
    """Let those wait again that ran in an earlier boot and whose owner wants them rerun; their ids."""
    with store.writing() as connection:
        found = connection.execute(
            "SELECT id FROM jobs WHERE state = 'interrupted' AND on_reboot = 'rerun' AND boot IS NOT ? "
            "AND cancel_asked IS NULL",
            (boot_id(),),
        ).fetchall()
        for row in found:
            requeue(connection, row[0])
    return tuple(row[0] for row in found)


def _lost(store: JobStore, placed: Placed) -> bool:
    """Supervisor and command are gone and nobody has told how it ended: it is not tried again, it may have done all."""
    cancelled = placed.cancel_asked_unix_s is not None
    state = JobState.CANCELLED if cancelled else JobState.FAILED
    reason = None if cancelled else reason_text(Reason(code="supervisor_lost"))
    with store.writing() as connection:
        changed = connection.execute(
            "UPDATE jobs SET state = ?, ended = ?, reason = ?, failures = retries + 1, used_bytes = NULL "
            "WHERE id = ? AND ticket = ? AND state = 'running'",
            (state.value, time.time(), reason, placed.job, placed.ticket),
        ).rowcount
        if changed:
            connection.execute("UPDATE starts SET state = ? WHERE ticket = ?", (state.value, placed.ticket))
    return True


def end_unsupervised(placed: Placed) -> bool:
    """End a command that has lost its supervisor, if the user has asked for that; False: nobody of it is left."""
    asked = placed.cancel_asked_unix_s
    if asked is None:
        return False
    number = signal.SIGKILL if time.time() - asked > GRACE_S else signal.SIGTERM
    there = placed.command_pid is not None and send_group(placed.command_pid, placed.command_start, number)
    return send_marked(placed.ticket, number, group=placed.command_pid if there else None) or there


def try_again(store: JobStore, job_id: int) -> bool:
    """Let a failed job wait again if its owner allows one more try; after memory ran out it then gets a card alone."""
    with store.writing() as connection:
        row = connection.execute(
            "SELECT reason, failures, ended - started FROM jobs WHERE id = ? AND state = 'failed' "
            "AND failures <= retries",
            (job_id,),
        ).fetchone()
        if row is None:
            return False
        if row[0] is not None and '"out_of_memory"' in row[0]:
            connection.execute("UPDATE jobs SET alone = 1 WHERE id = ?", (job_id,))
        requeue(connection, job_id)
        if row[2] is not None and row[2] < QUICK_S:
            connection.execute(
                "UPDATE jobs SET waiting_since = ? WHERE id = ?", (time.time() + pause_s(int(row[1])), job_id)
            )
    return True


def pause_s(failures: int) -> float:
    """Seconds until a job that failed so often is tried again: 1, 2, 4 … 300."""
    return min(MOST_PAUSE_S, 2.0 ** min(failures - 1, 16))
