"""The logs of jobs for the command line: shown in pieces, followed, and how much of the disk they take."""

from collections.abc import Iterator
from pathlib import Path

from gputuner.jobs import log_cap, logs
from gputuner.jobs.claims import FOLDER, LOGS

Follower = logs.Follower
cut_bytes = log_cap.cut_bytes


def folder(data_dir: Path) -> Path:
    """Where the logs of a data folder lie."""
    return data_dir / FOLDER / LOGS


def taken_bytes(data_dir: Path) -> int:
    """What they take together."""
    return logs.total_bytes(folder(data_dir))


def pieces(path: Path, end: int, *, last: int | None = None, most_bytes: int | None = None) -> Iterator[str]:
    """The log up to byte ``end``, or its ``last`` lines, or what of these lies in its last ``most_bytes``.

    A log that its user has deleted is empty.
    """
    try:
        start = 0 if last is None else logs.start_of_last(path, last, end)
        yield from logs.lines(path, start if most_bytes is None else max(start, end - most_bytes), end)
    except FileNotFoundError:
        return
