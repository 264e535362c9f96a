"""The size limit of a job's log: where it grows beyond, its oldest lines are cut away in place. Standard library only.

The command writes to the file itself, so that nothing hangs on the supervisor: not its pace, and not its life. The
supervisor looks at the file's size, and more often the sooner it may be full. What is kept is written anew behind a
first line that says what is gone. The file stays the same, and who appends to it writes on at its new end; what comes
in the instant between reading and cutting is lost. So on the disk a log takes the limit at most, and what the job
writes from one look to the next. On Windows nothing is cut: a file that another process writes cannot be shortened.
"""

import os
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

VARIABLE = "GPUTUNER_JOB_LOG_MIB"
"""In a job's environment: its limit in MiB."""
MIB = 1 << 20
CAP_BYTES = 64 * MIB
LEAST_BYTES = MIB // 16
KEPT_SHARE, NEWER_SHARE = 0.5, 0.25
"""Of the limit: what a cut leaves, and what may come while that is read without reading again."""
AGAIN, TRIES = 3, 10
LOOK_S, SOONEST_S = 0.5, 0.02
"""Between two looks: of a log that grows slowly, and at least."""
LONGEST_START = 1 << 16
"""A line whose beginning is cut off is left out unless it is longer than this."""
_SAYS, _BYTES = b"gputuner: the oldest output of this log was cut away, ", b" bytes in all"
_FIRST_LINE = 200


def cap_of(environment: Mapping[str, str]) -> int:
    """The limit in bytes that a job's environment asks for; the usual one where it says nothing that can be read."""
    try:
        asked = float(environment.get(VARIABLE, "")) * MIB
    except ValueError:
        return CAP_BYTES
    return max(LEAST_BYTES, int(asked)) if asked < float("inf") else CAP_BYTES  # not for NaN either


def cut_bytes(path: Path) -> int:
    """How much of the oldest output is gone, as the log's first line says; 0: nothing."""
    try:
        with read_whole(path) as file:
            return head_of(file)[0]
    except OSError:
        return 0


def first_line(cut: int, cap: int) -> bytes:
    """What a log says of itself once it was cut."""
    return _SAYS + str(cut).encode() + _BYTES + f" ({VARIABLE}: {cap / MIB:g})\n".encode()


class LogCap:
    """Keeps one log below its limit while its job runs."""

    def __init__(self, path: Path, cap: int) -> None:
        """``cap``: bytes."""
        self._path, self._cap = path, cap
        self._seen = (time.monotonic(), 0)

    def look(self) -> float:
        """Cut it if it is too large; seconds until the next look."""
        try:
            size = os.stat(self._path).st_size
            if size > self._cap:
                size = cut(self._path, self._cap)
        except OSError:  # deleted by its user, or the disk does not answer: the job goes on
            return LOOK_S
        (then, before), self._seen = self._seen, (time.monotonic(), size)
        rate = max(0, size - before) / max(SOONEST_S, self._seen[0] - then)
        until_full_s = (self._cap - size) / rate if rate > 0 else LOOK_S
        return min(LOOK_S, max(SOONEST_S, until_full_s))


def cut(path: Path, cap: int) -> int:
    """Leave of a log that is too large the newest lines, behind a line that says so; its size then.

    Raises:
        OSError: it cannot be read or written.
    """
    if sys.platform == "win32":
        return os.stat(path).st_size
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
    try:
        size = os.fstat(file).st_size
        if size <= cap:
            return size
        _alone(file)
        gone, head = _cut(os.pread(file, _FIRST_LINE, 0))
        start, kept = _newest(file, cap)
        os.ftruncate(file, 0)
        # in one call: whoever appends at the same time comes before it or after
        _whole(file, first_line(gone + start - head, cap) + kept)
        return os.fstat(file).st_size
    finally:
        os.close(file)


@contextmanager
def read_whole(path: Path) -> Generator[BinaryIO]:
    """A log that is not cut while it is read here.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_SH)
        yield file


def _alone(file: int) -> None:
    """Wait a little for who reads just now; one that was stopped meanwhile is not waited for longer."""
    for _ in range(TRIES):
        with suppress(OSError):
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        time.sleep(SOONEST_S)


def _newest(file: int, cap: int) -> tuple[int, bytearray]:
    """The newest lines and where they begin, with what came while they were read."""
    start, kept, most = 0, bytearray(), int((KEPT_SHARE + NEWER_SHARE) * cap)
    for _ in range(AGAIN):
        start = _line_start(file, os.fstat(file).st_size - int(KEPT_SHARE * cap))
        kept = bytearray()
        while len(kept) < most and (newer := os.pread(file, most - len(kept), start + len(kept))):
            kept += newer
        if len(kept) < most:
            break  # all of it, to this moment
    return start, kept


def _line_start(file: int, at: int) -> int:
    """The first beginning of a line from byte ``at`` on; ``at`` itself in a very long one."""
    place = os.pread(file, LONGEST_START, at - 1).find(b"\n")
    return at if place < 0 else at + place


def _whole(file: int, raw: bytes) -> None:
    left = memoryview(raw)
    while left:
        left = left[os.write(file, left) :]


def head_of(file: BinaryIO) -> tuple[int, int]:
    """How many bytes of the oldest output are gone, and the length of the line that says so; zeros: none.

    Raises:
        OSError: it cannot be read.
    """
    file.seek(0)
    return _cut(file.read(_FIRST_LINE))


def _cut(start: bytes) -> tuple[int, int]:
    """What a first line says is gone, and its own length; zeros where it says nothing."""
    line, newline, _rest = start.partition(b"\n")
    number = line.removeprefix(_SAYS).partition(_BYTES)[0]
    told = newline and line.startswith(_SAYS) and _BYTES in line and number.isdigit()
    return (int(number), len(line) + 1) if told else (0, 0)
