"""A program of the user's that we start beside our own work: apart from us, and with signals as a login shell has them.

What a process ignores and holds is inherited by what it starts, and lasts. ``watch`` holds signals, and whoever started
us may ignore some (``nohup``, a shell's ``&``), so that a program started from a thread of ours could not be ended by
them. POSIX's own call resets both while it makes the process; no Python runs in between, which would be unsafe with
threads.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Protocol

FIRST_LOOK_S, LONGEST_LOOK_S = 0.0005, 0.05
"""Between two looks whether it has ended, at first and at last."""

_FIXED = {getattr(signal, name) for name in ("SIGKILL", "SIGSTOP") if hasattr(signal, name)}
"""Nobody can change what these do."""


class Spawned(Protocol):
    """A program that runs, with what it reads and what it says; its process group is its own."""

    @property
    def pid(self) -> int:
        """Its process, and its group."""
        ...

    @property
    def stdin(self) -> IO[bytes] | None:
        """What it reads."""
        ...

    @property
    def stdout(self) -> IO[bytes] | None:
        """What it writes, errors too."""
        ...

    def poll(self) -> int | None:
        """Its exit code, below 0: a signal; None while it runs."""
        ...

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code once it has ended.

        Raises:
            subprocess.TimeoutExpired: it has not within ``timeout`` seconds.
        """
        ...


def take_defaults() -> None:
    """In a process that becomes another program: hold no signal, and ignore none."""
    for number in signal.valid_signals() - _FIXED:
        signal.signal(number, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_SETMASK, ())


def spawn(argv: Sequence[str], environment: Mapping[str, str]) -> Spawned:
    """Start ``argv`` with pipes to and from it.

    Raises:
        OSError: it is not found, or cannot be run.
        ValueError: a word or a variable holds what no program can get.
    """
    if sys.platform == "win32":
        return subprocess.Popen(
            list(argv), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=dict(environment)
        )
    reads, writes = os.pipe(), os.pipe()
    given, told = reads[0], writes[1]
    try:
        pid = os.posix_spawnp(
            argv[0],
            list(argv),
            dict(environment),
            file_actions=[
                (os.POSIX_SPAWN_DUP2, source, target) for source, target in ((given, 0), (told, 1), (told, 2))
            ],
            setsid=True,
            setsigmask=(),
            setsigdef=signal.valid_signals() - _FIXED,
        )
    except BaseException:
        for end in (reads[1], writes[0]):
            os.close(end)
        raise
    finally:
        for end in (given, told):
            os.close(end)
    return _Posix(pid, os.fdopen(reads[1], "wb"), os.fdopen(writes[0], "rb"))


class _Posix:
    def __init__(self, pid: int, stdin: IO[bytes], stdout: IO[bytes]) -> None:
        self.pid, self.stdin, self.stdout = pid, stdin, stdout
        self._exit_code: int | None = None

    def poll(self) -> int | None:
        if self._exit_code is None:
            with suppress(ChildProcessError):
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid:
                    self._exit_code = os.waitstatus_to_exitcode(status)
        return self._exit_code

    def wait(self, timeout: float | None = None) -> int:
        until_s = None if timeout is None else time.monotonic() + timeout
        pause_s = FIRST_LOOK_S
        while (code := self.poll()) is None:
            left_s = LONGEST_LOOK_S if until_s is None else until_s - time.monotonic()
            if left_s <= 0:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
            time.sleep(min(pause_s, left_s, LONGEST_LOOK_S))
            pause_s *= 2
        return code
