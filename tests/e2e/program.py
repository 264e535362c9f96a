"""The real program as a child process: its lines, its children, its end."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

GONE_S = 600.0


class Program:
    """One running ``gputuner --cli``."""

    def __init__(self, arguments: list[str], environment: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gputuner", "--cli", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "LC_ALL": "C.UTF-8", **(environment or {})},
        )
        self.said: list[str] = []

    def wait_for(self, words: str) -> str:
        """The first line on stderr that holds ``words``."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)
            if words in line:
                return line
        raise AssertionError(f"ended without saying {words!r}:\n{''.join(self.said)}")

    def children(self) -> list[psutil.Process]:
        """All processes below it."""
        return psutil.Process(self.process.pid).children(recursive=True)

    def child(self, words: str) -> psutil.Process:
        """The child whose command line holds ``words``."""
        return next(c for c in self.children() if words in " ".join(c.cmdline()))

    def end(self) -> tuple[int, str, str]:
        """Exit code, stdout and stderr once it has ended."""
        out, err = self.process.communicate(timeout=300)
        return self.process.returncode, out, "".join(self.said) + err

    def interrupt(self) -> None:
        """Ctrl-C."""
        self.process.send_signal(signal.SIGINT)


@contextmanager
def running(arguments: list[str], environment: dict[str, str] | None = None) -> Iterator[Program]:
    """A program that is killed at the end if the test left it running."""
    program = Program(arguments, environment)
    try:
        yield program
    finally:
        if program.process.poll() is None:
            program.process.kill()
        program.process.communicate()


def run(*arguments: str, environment: dict[str, str] | None = None) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of one command."""
    with running(list(arguments), environment) as program:
        return program.end()


def all_gone(processes: list[psutil.Process]) -> bool:
    """True if every one of them ends by itself within the time allowed."""
    _, alive = psutil.wait_procs(processes, timeout=GONE_S)
    return not alive


def sessions(data_dir: Path) -> list[Path]:
    """The session files of a data folder."""
    return sorted((data_dir / "sessions").glob("*.sqlite"))
