"""``--job ID TICKET FOLDER``: the supervisor of one job. It outlives the runner and writes down how the job ended.

Standard library only, so that it starts fast and takes little memory beside a training of days. It holds the command at
a gate, claims the start (``claims.claim``), and only then lets it go. SIGTERM ends the job: as *cancelled* if the user
asked for that, else as *interrupted*, since then the system stops us (a shutdown).
"""

import json
import os
import select
import signal
import socket
import sqlite3
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType

from gputuner.jobs import claims
from gputuner.jobs.command import Gated, Ungated, made
from gputuner.jobs.failure import log_tail, out_of_memory
from gputuner.jobs.log_cap import LogCap, cap_of
from gputuner.jobs.marked import MARK, send_marked
from gputuner.jobs.processes import boot_id, start_mark

GRACE_S = 10.0
"""Between SIGTERM and SIGKILL."""
LOOK_S = 0.1
"""How often the rest of a job is looked at that was asked to end."""
MOST_KILLS = 20
"""So often the rest of a job is killed, which may make new processes meanwhile."""
CPU = "cpu"
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)


def main(arguments: Sequence[str]) -> int:
    """Run one job to its end."""
    job, ticket, data_dir = int(arguments[0]), arguments[1], Path(arguments[2])
    signals = _Signals()
    connection = claims.connect(claims.database(data_dir))
    try:
        order = claims.read_order(connection, job, ticket)
        if order is None:
            return 0
        log = claims.log_path(data_dir, job, order.attempt)
        command = made(order.command, order.folder, _environment(order, ticket), log)
        mine = claims.Claim(
            pid=os.getpid(),
            pid_start=start_mark(os.getpid()),
            command_pid=command.pid or None,
            command_start=start_mark(command.pid) if command.pid else None,
            boot=boot_id(),
        )
        if not _claimed(connection, job, ticket, mine):
            command.drop()
            return 0
    finally:
        connection.close()
    command.open()
    cap = LogCap(log, cap_of(order.environment))
    code, asked = _follow(command, order, ticket, signals, data_dir, cap)
    cap.look()
    state, reason, tail = _told(code, asked, log)
    claims.persistently(
        claims.database(data_dir),
        lambda opened: claims.finish(
            opened, job, ticket, state=state, exit_code=code, reason=json.dumps(reason) if reason else None, tail=tail
        ),
    )
    return 0


def _claimed(connection: sqlite3.Connection, job: int, ticket: str, mine: claims.Claim) -> bool:
    try:
        return claims.claim(connection, job, ticket, mine)
    except sqlite3.Error:
        return False


def _environment(order: claims.Order, ticket: str) -> dict[str, str]:
    """The user's own, with the cards of this start and who the job is."""
    own = {"GPUTUNER_JOB_ID": str(order.job), MARK: ticket}
    if order.array_index is not None:
        own["GPUTUNER_ARRAY_INDEX"] = str(order.array_index)
    if order.cards and order.cards != (CPU,):
        own["CUDA_VISIBLE_DEVICES"] = ",".join(order.cards)
    return {"PYTHONUNBUFFERED": "1", **order.environment, **own}  # a log would show a program's lines by the page


class _Signals:
    """SIGTERM and the end of a child, as something one can wait for; what a closing terminal sends is nothing to us."""

    def __init__(self) -> None:
        self.stop = False
        self._read, self._write = socket.socketpair()
        for end in (self._read, self._write):
            end.setblocking(False)
        signal.set_wakeup_fd(self._write.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if sys.platform != "win32":
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            signal.signal(signal.SIGCHLD, _noted)

    def wait(self, seconds: float) -> None:
        """Until a signal has come, or so long."""
        ready, _w, _x = select.select([self._read], [], [], max(0.0, seconds))
        if ready:
            with suppress(BlockingIOError):
                self._read.recv(4096)

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self.stop = True


def _noted(_number: int, _frame: FrameType | None) -> None:
    """The wake-up is all that is wanted."""


def _follow(
    command: Gated | Ungated, order: claims.Order, ticket: str, signals: _Signals, data_dir: Path, cap: LogCap
) -> tuple[int, str | None]:
    """Wait for the command's end; exit code, and the state it ends in if it did not end by itself."""
    ends = None if order.timeout_s is None else time.monotonic() + order.timeout_s
    asked: str | None = None
    kill_at: float | None = None
    polls = sys.platform == "win32"
    while (code := command.ended()) is None:
        now = time.monotonic()
        if asked is None and (signals.stop or polls or (ends is not None and now >= ends)):
            asked = _asked(order.job, signals, data_dir, late=ends is not None and now >= ends)
            if asked is not None:
                _send(command, ticket, signal.SIGTERM)
                kill_at = now + GRACE_S
        if kill_at is not None and now >= kill_at:
            _send(command, ticket, _KILL)
            kill_at = now + GRACE_S
        due = [at - now for at in (None if asked else ends, kill_at) if at is not None]
        signals.wait(min([*due, cap.look()]))
    if asked is not None:
        _end_rest(command, ticket, time.monotonic() + GRACE_S if kill_at is None else kill_at, cap)
    return code, asked


def _asked(job: int, signals: _Signals, data_dir: Path, *, late: bool) -> str | None:
    """Who wants the end: the user, the time limit, or the system."""
    if signals.stop or sys.platform == "win32":
        with suppress(sqlite3.Error):
            connection = claims.connect(claims.database(data_dir))
            try:
                if claims.cancel_asked(connection, job):
                    return "cancelled"
            finally:
                connection.close()
    if late:
        return "timed_out"
    return "interrupted" if signals.stop else None


def _send(command: Gated | Ungated, ticket: str, number: int) -> bool:
    """Send all processes of the job a signal, also those that left its group; False: nobody is left."""
    in_group = command.send(number)
    return send_marked(ticket, number, group=command.pid) or in_group


def _end_rest(command: Gated | Ungated, ticket: str, kill_at: float, cap: LogCap) -> None:
    """Wait for what is left of the job that was asked to end; at last kill it."""
    kills = 0
    while _send(command, ticket, 0) and kills < MOST_KILLS:
        if time.monotonic() >= kill_at:
            _send(command, ticket, _KILL)
            kills += 1
        time.sleep(min(LOOK_S, cap.look()))


def _told(code: int, asked: str | None, log: Path) -> tuple[str, dict[str, object] | None, str]:
    """State, reason and last lines as they are written down."""
    if asked is not None:
        return asked, {"code": "stopped_outside"} if asked == "interrupted" else None, ""
    if code == 0:
        return "done", None, ""
    tail = log_tail(log)
    if out_of_memory(tail):
        return "failed", {"code": "out_of_memory", "params": {"exit_code": code}}, tail
    if code > 128:
        return "failed", {"code": "signal", "params": {"signal": code - 128}}, tail
    return "failed", {"code": "exit", "params": {"exit_code": code}}, tail
