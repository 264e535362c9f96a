"""The records that the hooks inside a watched command leave: followed while it runs, and read whole at its end."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from gputuner.analysis.watching_records import gather
from gputuner.model.followed import TrainingNow
from gputuner.model.watched import Observed

RECENT = 20
"""Lines that the newest figures are made of, half a second or more each."""
MOST_HEAD = 50
"""Lines of facts that are kept of a process."""
MOST_FILES = 256
"""Files that are read; of a command that starts more processes with torch the first are told."""
MOST_BYTES = 2**20
"""So much of a file is read at one look; what is older is left out of the newest figures."""


def read_records(folder: Path | None) -> tuple[Observed, ...]:
    """All that each process of the command has told, the longest training first; () without hooks."""
    found = [gather(_whole(file)) for file in _files(folder)]
    return tuple(sorted((each for each in found if each is not None), key=lambda each: (-each.steps, each.pid)))


@dataclass(slots=True)
class _File:
    offset: int = 0
    rest: bytes = b""
    head: list[bytes] = field(default_factory=lambda: [])
    recent: deque[bytes] = field(default_factory=lambda: deque(maxlen=RECENT))
    steps: int = 0


class RecordTail:
    """Reads what has been added to the records since the last look."""

    def __init__(self, folder: Path | None) -> None:
        """Nothing read yet; ``folder`` None: there are no records."""
        self._folder = folder
        self._known: dict[Path, _File] = {}

    def look(self) -> tuple[TrainingNow, ...]:
        """The newest figures of every process that trains, the longest training first."""
        found: list[TrainingNow] = []
        for path in _files(self._folder):
            file = self._known.setdefault(path, _File())
            _advance(path, file)
            observed = gather([*file.head, *file.recent])
            if observed is not None and observed.steps:
                found.append(training_now(observed, file.steps))
        return tuple(sorted(found, key=lambda each: (-each.steps, each.pid)))


def training_now(observed: Observed, steps: int) -> TrainingNow:
    """The newest figures of one process that has made ``steps`` in all."""
    series, training_s = observed.step_series_s, observed.training_s
    return TrainingNow(
        pid=observed.pid,
        rank=observed.rank,
        steps=steps,
        step_s=series[-1] if series else None,
        waiting=min(1.0, observed.waited_s / training_s) if training_s > 0 else None,
        rate_per_s=observed.rate_per_s,
        batch=observed.batch_size,
        allocated_peak_bytes=observed.allocated_peak_bytes,
        reserved_peak_bytes=observed.reserved_peak_bytes,
        memory_total_bytes=observed.memory_total_bytes,
    )


def _files(folder: Path | None) -> list[Path]:
    try:
        return [] if folder is None else sorted(folder.glob("*.jsonl"))[:MOST_FILES]
    except OSError:
        return []


def _whole(path: Path) -> Iterable[bytes]:
    try:
        return path.read_bytes().split(b"\n")
    except OSError:
        return ()


def _advance(path: Path, file: _File) -> None:
    """Take the lines that are new and whole."""
    try:
        with path.open("rb") as stream:
            size = stream.seek(0, 2)
            begin = max(file.offset, size - MOST_BYTES)
            stream.seek(begin)
            data = (file.rest if begin == file.offset else b"") + stream.read(size - begin)
    except OSError:
        return
    file.offset = size
    *lines, file.rest = data.split(b"\n")
    windows = [line for line in lines if b'"window"' in line]
    file.head = [*file.head, *(line for line in lines if line not in windows)][:MOST_HEAD]
    file.recent.extend(windows)
    told = gather([*file.head[:1], *windows]) if windows else None
    file.steps += told.steps if told is not None else 0
