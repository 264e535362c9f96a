"""A command of the user's as a tree of processes that ends with us: started in a group of its own, ended without rest.

On Linux whoever starts it adopts what its processes leave behind (sub-reaper), and the command dies with its starter
even where that is killed. What detached itself is found by the mark in its environment.
"""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from gputuner.engine.spawned import take_defaults

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
"""``linux/prctl.h``."""
POLL_S = 0.1
KILLED_S = 5.0
"""A process that is not gone so long after SIGKILL hangs in the kernel."""
SIGKILL = getattr(signal, "SIGKILL", signal.SIGTERM)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A variable in the command's environment, by which its processes are known."""

    name: str
    value: str


class Tree:
    """One command and all that it starts. To be used by one thread of a process that starts nothing else."""

    def __init__(
        self, argv: Iterable[str], environment: Mapping[str, str], folder: Path | None, log: Path, mark: Mark
    ) -> None:
        """Start ``argv``; its output and errors go to the end of the file ``log``, and it has nothing to read.

        Raises:
            OSError: it is not found or cannot be run, or the log cannot be written.
        """
        self._mark = mark
        self._exit_code: int | None = None
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                list(argv),
                env=dict(environment),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_set_up(),
            )
        self.pid = self._process.pid

    @property
    def exit_code(self) -> int | None:
        """How the command itself ended, negative: by that signal; None while it runs."""
        self._reap()
        return self._exit_code

    def end(
        self, grace_s: float, hurry: Callable[[], bool], stubborn: Callable[[list[int]], float] = lambda _: 0.0
    ) -> None:
        """SIGTERM to all of it, and SIGKILL to what is left after ``grace_s`` or once ``hurry`` says so.

        ``stubborn`` is told of those that are to be killed, and says how long (s) they still have to end.
        """
        self._signal(signal.SIGTERM)
        self._await(grace_s, hurry)
        if self._lives():
            self._await(stubborn([each.pid for each in self._left()]), hurry)
        until_s = time.monotonic() + KILLED_S
        while self._lives() and time.monotonic() < until_s:
            self._signal(SIGKILL)
            time.sleep(POLL_S)
        self._reap()

    def _signal(self, number: int) -> None:
        """To all that is left, and to the command's group while its number cannot be another's."""
        self._reap()
        left = self._left()
        there = self._exit_code is None or in_group(self.pid, left)
        signal_all(self.pid if there else None, left, number)

    def _await(self, seconds: float, hurry: Callable[[], bool]) -> None:
        until_s = time.monotonic() + seconds
        while self._lives() and time.monotonic() < until_s and not hurry():
            time.sleep(POLL_S)

    def _lives(self) -> bool:
        self._reap()
        return self._exit_code is None or bool(self._left())

    def _left(self) -> list[psutil.Process]:
        found: dict[int, psutil.Process] = {each.pid: each for each in marked(self._mark)}
        with suppress(psutil.Error):
            found.update({each.pid: each for each in psutil.Process().children(recursive=True)})
        return [each for each in found.values() if _runs(each)]

    def _reap(self) -> None:
        """Take the ends of the command and of all that was left to us."""
        if not hasattr(os, "WNOHANG"):
            self._exit_code = self._process.poll()
            return
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == self.pid:
                    self._exit_code = self._process.returncode = os.waitstatus_to_exitcode(ended[1])


def adopt_orphans() -> None:
    """From now on what this process' descendants leave behind becomes its child (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def sweep(group: int | None, mark: Mark) -> int:
    """Kill what a starter that is gone has left of its command; how many processes that were.

    ``group``: the command's process group where it was told.
    """
    left = marked(mark)
    signal_all(group if group is not None and in_group(group, left) else None, left, SIGKILL)
    return len(left)


def marked(mark: Mark) -> list[psutil.Process]:
    """Every running process that bears the mark, but us."""
    found: list[psutil.Process] = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.pid != os.getpid() and process.environ().get(mark.name) == mark.value and _runs(process):
                found.append(process)
    return found


def signal_all(group: int | None, processes: Iterable[psutil.Process], number: int) -> None:
    """Send a signal to a process group and to processes, as far as they are there."""
    if group is not None and hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)
    for process in processes:
        with suppress(psutil.Error):
            process.send_signal(number)


def in_group(group: int, processes: Iterable[psutil.Process]) -> bool:
    """Whether one of these is in the process group: its number then is no other's."""
    for process in processes:
        with suppress(OSError):
            if hasattr(os, "getpgid") and os.getpgid(process.pid) == group:
                return True
    return False


def _runs(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return process.status() != psutil.STATUS_ZOMBIE
    return False


def _set_up() -> Callable[[], None] | None:
    """For the new process, before it becomes the command: signals are as a shell leaves them, whatever its starter
    ignores; it dies when its starter does, also before this call (Linux).
    """
    if sys.platform != "linux":
        return None if sys.platform == "win32" else take_defaults
    prctl, parent = ctypes.CDLL(None, use_errno=True).prctl, os.getpid()

    def set_up() -> None:
        take_defaults()
        prctl(PR_SET_PDEATHSIG, int(SIGKILL), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return set_up
