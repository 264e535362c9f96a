"""The command of a job: made, held at a gate until its start is claimed, then let go. Standard library only.

The gate is a pipe: the command's process exists, with its number, before it becomes the command, and it becomes it only
on a word of ours. So claim and number are written down in one update before anything of the user's runs, and a
supervisor that dies at the gate takes the unborn command with it.
"""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

NOT_FOUND, NOT_EXECUTABLE = 127, 126
"""Exit codes of a command that cannot be started, as shells have them."""
_GO = b"g"


class Gated:
    """A command behind its gate (systems that fork)."""

    def __init__(self, words: tuple[str, ...], folder: str, environment: dict[str, str], log: Path) -> None:
        """Make its process, a group of its own; nothing of it runs yet.

        Raises:
            OSError: no process can be made, or the log cannot be written.
        """
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        waits, self._gate = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._gate)
            _become(words, folder, environment, output, waits)
        os.close(waits)
        os.close(output)
        with suppress(OSError):
            os.setpgid(self.pid, self.pid)  # both sides do it, so that it holds whoever comes first

    def open(self) -> None:
        """Let it go."""
        os.write(self._gate, _GO)
        os.close(self._gate)

    def drop(self) -> None:
        """End it unborn."""
        os.close(self._gate)
        os.waitpid(self.pid, 0)

    def ended(self) -> int | None:
        """Its exit code, 128 + n after signal n; None while it runs."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid == 0:
            return None
        code = os.waitstatus_to_exitcode(status)
        return 128 - code if code < 0 else code

    def send(self, number: int) -> bool:
        """Send its whole group a signal; False: nobody of it is left."""
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            return False
        except OSError:
            return True
        return True


def _become(
    words: tuple[str, ...], folder: str, environment: dict[str, str], output: int, waits: int
) -> NoReturn:  # pragma: no cover  runs in a process that becomes another program
    with suppress(OSError):
        os.setpgid(0, 0)
    code, named = NOT_EXECUTABLE, words[0]
    try:
        if os.read(waits, 1) != _GO:
            os._exit(0)
        signal.set_wakeup_fd(-1)
        _take_defaults()
        null = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((null, 0), (output, 1), (output, 2)):
            os.dup2(source, target)
        named = folder
        os.chdir(folder)
        named = words[0]
        os.execvpe(words[0], list(words), environment)
    except OSError as error:
        code = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
        os.write(output, f"gputuner: cannot start the job: {named}: {error.strerror}\n".encode(errors="replace"))
    finally:
        os._exit(code)


def _take_defaults() -> None:
    """Ignore no signal and hold none, whatever the supervisor, the runner or who started it does."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


class Ungated:
    """A command where processes do not fork (Windows): it is made when the gate opens, so its number comes later."""

    def __init__(self, words: tuple[str, ...], folder: str, environment: dict[str, str], log: Path) -> None:
        """Keep what to start."""
        self.pid = 0
        self._start = (words, folder, environment, log)
        self._process: subprocess.Popen[bytes] | None = None
        self._code: int | None = None

    def open(self) -> None:
        """Start it."""
        words, folder, environment, log = self._start
        flags = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
        with open(log, "ab") as output:
            try:
                self._process = subprocess.Popen(
                    list(words),
                    cwd=folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    creationflags=flags,
                )
            except OSError as error:
                output.write(f"gputuner: cannot start the job: {words[0]}: {error.strerror}\n".encode())
                self._code = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
                return
        self.pid = self._process.pid

    def drop(self) -> None:
        """Nothing was started."""

    def ended(self) -> int | None:
        """Its exit code; None while it runs."""
        return self._code if self._process is None else self._process.poll()

    def send(self, number: int) -> bool:
        """End it; False: it has ended."""
        if self._process is None or self._process.poll() is not None:
            return False
        self._process.terminate()
        return True


def made(words: tuple[str, ...], folder: str, environment: dict[str, str], log: Path) -> Gated | Ungated:
    """The command, not yet started.

    Raises:
        OSError: no process can be made, or the log cannot be written.
    """
    kind = Ungated if sys.platform == "win32" else Gated
    return kind(words, folder, environment, log)
