"""Which process is meant: a number alone is not enough, since numbers come back.

A process is known by its number, the time it began (as the system counts it) and the boot it lives in. Standard library
only, but for systems without ``/proc``, where psutil is asked.
"""

import os
import signal
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

from gputuner.model.boot import boot_id as model_boot_id

_GONE = "ZX"
"""States of a process that has ended and is only kept for whoever will ask how."""


@cache
def boot_id() -> str:
    """What tells this boot of the machine from every other."""
    if told := model_boot_id():
        return told
    import psutil

    return f"{psutil.boot_time():.0f}"


def start_mark(pid: int) -> str | None:
    """When a living process began, as text that is only good to be compared; None: there is no such process."""
    if os.path.exists("/proc/self/stat"):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            return None
        return None if fields[0] in _GONE else fields[19]
    import psutil

    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else f"{process.create_time():.2f}"
    except psutil.Error:
        return None


def lives(pid: int | None, mark: str | None, boot: str | None) -> bool:
    """Whether that very process lives: not another of its number, and not one of another boot."""
    return pid is not None and mark is not None and boot == boot_id() and start_mark(pid) == mark


def send(pid: int, mark: str | None, number: int) -> bool:
    """Send that very process a signal; False: it is gone. Where the system can, its number cannot change meanwhile."""
    opened = _opened(pid)
    try:
        if start_mark(pid) != mark or mark is None:
            return False
        if opened is not None and sys.platform == "linux":
            signal.pidfd_send_signal(opened, number)
        else:
            os.kill(pid, number)
    except OSError:
        return False
    finally:
        if opened is not None:
            os.close(opened)
    return True


def send_group(pid: int, mark: str | None, number: int) -> bool:
    """Send a signal to the process group that this living process leads; False: it is gone."""
    if mark is None or start_mark(pid) != mark:
        return False
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(pid, number)
        else:
            os.kill(pid, number)
        return True
    return False


def _opened(pid: int) -> int | None:
    if sys.platform == "linux" and hasattr(os, "pidfd_open"):
        with suppress(OSError):
            return os.pidfd_open(pid)
    return None
