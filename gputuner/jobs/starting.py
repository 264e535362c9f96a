"""Sends for the supervisors of jobs that were given their cards."""

import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from gputuner.analysis.placement import Placement
from gputuner.jobs.claims import supervisor_log
from gputuner.jobs.marked import unmarked
from gputuner.jobs.rows import NOTHING
from gputuner.jobs.store import JobStore

_DETACHED = 0x00000008 | 0x00000200
"""Windows: ``DETACHED_PROCESS`` and ``CREATE_NEW_PROCESS_GROUP``."""


class Starter:
    """Starts supervisors in sessions of their own; they go on when this process ends."""

    def __init__(self, command: Sequence[str], data_dir: Path) -> None:
        """Keep how this program starts a child of itself."""
        self._command = tuple(command)
        self._data_dir = data_dir.resolve()
        self._sent: dict[str, subprocess.Popen[bytes]] = {}

    def sent_for(self, ticket: str) -> bool:
        """Whether this runner sent for the supervisor with this ticket."""
        return ticket in self._sent

    def ended(self, ticket: str) -> bool:
        """Whether that supervisor is known to have ended."""
        process = self._sent.get(ticket)
        return process is not None and process.poll() is not None

    def reap(self, still_placed: frozenset[str]) -> bool:
        """Take leave of supervisors that have ended; True if there was one."""
        over = [ticket for ticket, process in self._sent.items() if process.poll() is not None]
        for ticket in over:
            if ticket not in still_placed:
                del self._sent[ticket]
        return bool(over)

    def place(self, store: JobStore, placements: Sequence[Placement]) -> tuple[tuple[Placement, str], ...]:
        """Give jobs their cards and tickets in one step; those that were just cancelled are left out."""
        placed: list[tuple[Placement, str]] = []
        if not placements:
            return ()
        with store.writing() as connection:
            for placement in placements:
                ticket = secrets.token_hex(8)
                changed = connection.execute(
                    "UPDATE jobs SET state = 'starting', ticket = ?, cards = ?, reserved_bytes = ?, placed = ?, "
                    "pid = NULL, pid_start = NULL, command_pid = NULL, command_start = NULL, boot = NULL, "
                    "reason = NULL, used_bytes = NULL, peak_bytes = NULL "
                    "WHERE id = ? AND state = 'waiting' AND cancel_asked IS NULL",
                    (ticket, _listed(placement.cards), placement.reserved_bytes, time.time(), placement.job),
                ).rowcount
                if changed:
                    placed.append((placement, ticket))
        return tuple(placed)

    def send(self, job: int, ticket: str) -> bool:
        """Start the supervisor; False: the system makes no process (the start is then taken back)."""
        words = [*self._command, "--job", str(job), ticket, str(self._data_dir)]
        try:
            with open(supervisor_log(self._data_dir), "ab") as failures:
                self._sent[ticket] = subprocess.Popen(
                    words,
                    env=unmarked(dict(os.environ)),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=failures,
                    start_new_session=True,
                    creationflags=_DETACHED if sys.platform == "win32" else 0,
                )
        except OSError:
            return False
        return True

    def leave(self) -> None:
        """Let those that run go on without us."""
        for process in self._sent.values():
            if process.poll() is None:
                process.returncode = 0  # they are not ours to wait for any more, and Python shall not complain
        self._sent.clear()


def _listed(cards: Sequence[str]) -> str:
    return json.dumps(cards) if cards else NOTHING
