"""The user's own command, started as the user would and never harmed: its life hangs on nothing of ours.

It keeps the folder, the streams, the limits and every inherited file of the one who started us; no pipe leads to it, so
none can break, and it goes on when we die. States: *running* → *ended* (``exit_code``), once, whoever waits.
"""

import errno
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from gputuner.model.errors import ExitCode, GputunerError

FATAL = 128
"""A command that died by signal n is told as 128 + n, as shells do."""


class CommandError(GputunerError):
    """The command could not be started; with the exit codes that shells use for it."""

    exit_code = ExitCode.COMMAND_NOT_FOUND


class CommandForbidden(CommandError):
    """It is there, but cannot be run."""

    exit_code = ExitCode.COMMAND_NOT_EXECUTABLE


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How a command is to be started.

    ``environment``: all of it; None: ours. ``folder`` None: where we are. ``output``: a file that takes its output and
    errors, with nothing to read for it (None: our own streams). ``to_stderr``: its output goes to our stderr.
    ``apart``: in a session of its own, so that the terminal's signals do not reach it; only where it needs no terminal.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str] | None = field(default=None, repr=False)
    folder: Path | None = None
    output: Path | None = None
    to_stderr: bool = False
    apart: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """What the command and the descendants that it waited for have used, as the system counts (its peak of memory holds
    ours from before it became the command, so that is not told).
    """

    cpu_s: float


class WatchedCommand:
    """A command that has been started."""

    def __init__(self, process: "subprocess.Popen[bytes]", *, apart: bool) -> None:
        """Wait for ``process`` in a thread; use ``start``."""
        self.pid = process.pid
        self.started_ns = time.monotonic_ns()
        self.ended_ns: int | None = None
        self.used: Used | None = None
        self._process = process
        self._apart = apart
        self._exit_code: int | None = None
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._callbacks: list[Callable[[], None]] = []
        threading.Thread(target=self._wait, name=f"command-{self.pid}", daemon=True).start()

    @property
    def exit_code(self) -> int | None:
        """How it ended, 128 + n after signal n; None while it runs."""
        return self._exit_code

    @property
    def signal(self) -> int | None:
        """The signal it died by, if it did."""
        code = self._process.returncode
        return -code if self._exit_code is not None and code is not None and code < 0 else None

    def send(self, number: int) -> None:
        """Send it a signal; one that has ended gets none. Apart, its whole process group gets it."""
        with self._lock:
            if self._exit_code is not None:
                return
            try:
                if sys.platform == "win32":
                    self._process.terminate()
                elif self._apart:
                    os.killpg(self.pid, number)
                else:
                    os.kill(self.pid, number)
            except (ProcessLookupError, PermissionError):
                return

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Its exit code once it has ended; None if it has not within ``timeout_s``."""
        self._ended.wait(timeout_s)
        return self._exit_code

    def on_end(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` once it has ended, from a thread; at once if it has already."""
        with self._lock:
            if self._exit_code is None:
                self._callbacks.append(callback)
                return
        callback()

    def _wait(self) -> None:
        """Wait for the end. Until the command is reaped, under the lock, its number is no other process's."""
        code: int | None = None
        if hasattr(os, "waitid"):
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        else:
            code = self._process.wait()
        with self._lock:
            if code is None:
                code, self.used = _reaped(self.pid)
            self.ended_ns = time.monotonic_ns()
            self._process.returncode = code
            self._exit_code = FATAL - code if code < 0 else code
            callbacks = tuple(self._callbacks)
        self._ended.set()
        for callback in callbacks:
            callback()


def start(launch: Launch, around: AbstractContextManager[object] | None = None) -> WatchedCommand:
    """Start the command; ``around`` is entered while its process is made (for what that inherits of a thread).

    Raises:
        CommandError: it is not found, cannot be run, or its folder or output file cannot be used.
    """
    if launch.folder is not None and not launch.folder.is_dir():
        raise CommandError("command_folder", f"no folder {launch.folder}", path=str(launch.folder))
    output = _opened(launch.output) if launch.output is not None else None
    try:
        with around or nullcontext():
            process = subprocess.Popen(
                _resolved(launch.argv),
                env=None if launch.environment is None else dict(launch.environment),
                cwd=launch.folder,
                stdin=subprocess.DEVNULL if output is not None else None,
                stdout=_stdout(launch, output),
                stderr=subprocess.STDOUT if output is not None else None,
                close_fds=False,
                start_new_session=launch.apart,
            )
    except OSError as error:
        raise _refused(error, launch.argv[0]) from error
    finally:
        if output is not None:
            output.close()
    return WatchedCommand(process, apart=launch.apart)


def _stdout(launch: Launch, output: IO[bytes] | None) -> IO[bytes] | int | None:
    if output is not None:
        return output
    return sys.stderr.fileno() if launch.to_stderr else None


def _opened(path: Path) -> IO[bytes]:
    """The file for the output, to be written at its end, so that it may be cut by whoever keeps it small."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return open(path, "ab")
    except OSError as error:
        raise CommandError("command_output", f"cannot write {path}", path=str(path)) from error


def _resolved(argv: tuple[str, ...]) -> list[str]:
    """The words as the system's loader wants them: Windows finds no ``.cmd`` by itself."""
    if sys.platform != "win32":
        return list(argv)
    return [shutil.which(argv[0]) or argv[0], *argv[1:]]


def _refused(error: OSError, program: str) -> CommandError:
    if error.errno == errno.ENOENT:
        there = os.path.exists(program) and os.sep in program
        code = "command_interpreter" if there else "command_not_found"
        return CommandError(code, f"{program} was not found", program=program)
    if error.errno == errno.ENOEXEC:
        return CommandForbidden("command_no_program", f"{program} is no program", program=program)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EISDIR):
        return CommandForbidden("command_forbidden", f"{program} cannot be run", program=program)
    return CommandForbidden("command_failed", str(error), program=program, message=error.strerror or str(error))


def _reaped(pid: int) -> tuple[int, Used]:
    """The end of a process that has ended, as the system tells it."""
    _pid, status, usage = os.wait4(pid, 0)
    return os.waitstatus_to_exitcode(status), Used(cpu_s=usage.ru_utime + usage.ru_stime)


STOPPING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGKILL") if hasattr(signal, name))
"""What asks it to end, each harder than the one before."""
