"""The processes of a job wherever they went: by the mark that its start left in their environment.

A process that made a session or a group of its own is no longer in its job's group, but it has inherited the ticket.
Read from ``/proc``; elsewhere nothing is found. A program that empties its environment is not found either. Standard
library only.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from gputuner.jobs.processes import send, start_mark

MARK = "GPUTUNER_JOB"
"""Variable in a job's environment that tells its ticket: whose process it is can be read from outside."""
_PROC = Path("/proc")
_ENTRY = f"{MARK}=".encode()


def unmarked(environment: dict[str, str]) -> dict[str, str]:
    """An environment for what a job starts that is not part of it: runners and supervisors of other jobs."""
    return {name: value for name, value in environment.items() if name != MARK}


def tickets() -> dict[str, list[int]]:
    """The living processes that carry a mark, by its ticket."""
    found: dict[str, list[int]] = {}
    for pid in _pids():
        ticket = _ticket(pid)
        if ticket is not None:
            found.setdefault(ticket, []).append(pid)
    return found


def marked(ticket: str) -> list[int]:
    """The living processes of one start of a job."""
    return [pid for pid in _pids() if _ticket(pid) == ticket]


def send_marked(ticket: str, number: int, group: int | None = None) -> bool:
    """Send a signal to all processes of one start, but to those of ``group`` (which got it); False: there are none."""
    found = marked(ticket)
    for pid in found:
        mark = start_mark(pid)
        if mark is not None and not (group is not None and _group(pid) == group) and _ticket(pid) == ticket:
            send(pid, mark, number)
    return bool(found)


def _pids() -> Iterable[int]:
    own = os.getpid()
    with suppress(OSError):
        for name in os.listdir(_PROC):
            if name.isdigit() and int(name) != own:
                yield int(name)


def _ticket(pid: int) -> str | None:
    """The ticket that a living process carries; None: none, or it is somebody else's."""
    try:
        entries = (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return None
    found = next((entry for entry in entries if entry.startswith(_ENTRY)), None)
    return None if found is None or start_mark(pid) is None else found[len(_ENTRY) :].decode(errors="replace")


def _group(pid: int) -> int | None:
    if hasattr(os, "getpgid"):
        with suppress(OSError):
            return os.getpgid(pid)
    return None
