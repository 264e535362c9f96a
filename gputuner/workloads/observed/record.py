"""The file in which one process tells what its training does: lines of JSON, few and bounded.

Opened for each line and closed again: a program that closes all its files, or whose numbers of open files are reused,
must not find ours among them.
"""

from __future__ import annotations

import json
import os
import time

FOLDER = "GPUTUNER_WATCH_DIR"
MOST_BYTES = 8 << 20
"""A process that wrote this much writes no more."""
MOST_LINE_BYTES = 4096
"""Longer lines are not written: a short one arrives whole."""


class Record:
    """One process' file; made with its first line."""

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, f"{os.getpid()}-{time.time_ns()}.jsonl")
        self._written = 0

    @property
    def begun(self) -> bool:
        """Whether a line was written."""
        return self._written > 0

    def write(self, line: dict[str, object]) -> None:
        """Append one line.

        Raises:
            OSError: the disk is full, the folder is gone, or the file has reached its bound.
        """
        data = json.dumps(line, separators=(",", ":")).encode("ascii") + b"\n"
        if len(data) > MOST_LINE_BYTES:
            return
        if self._written + len(data) > MOST_BYTES:
            raise OSError("the record has reached its bound")
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
        handle = os.open(self._path, flags, 0o600)
        try:
            os.write(handle, data)
        finally:
            os.close(handle)
        self._written += len(data)


def say_off(error: BaseException) -> None:
    """A file of one line that says why this process is not looked into (its folder permitting)."""
    folder = os.environ.get(FOLDER)
    if folder:
        Record(folder).write({"k": "off", "pid": os.getpid(), "why": told(error)})


def told(error: BaseException) -> str:
    """The class and the first words of an error, without its objects."""
    return f"{type(error).__name__}: {error}"[:200]
