"""Who serves a queue: one runner per data folder, by a lock that the system drops with its process."""

import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

from gputuner.jobs.claims import FOLDER
from gputuner.jobs.opening import translated
from gputuner.model.errors import CardBusy
from gputuner.model.jobs import RunnerInfo

FILE = "runner.lock"


class RunnerLease:
    """The right to serve the queue of a data folder."""

    def __init__(self, data_dir: Path) -> None:
        """Take it.

        Raises:
            CardBusy: another runner has it.
            StoreError: the folder cannot be written.
        """
        path = data_dir / FOLDER / FILE
        with translated(path):
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._file = open(path, "a+", encoding="utf-8")  # noqa: SIM115  held while it serves
        if not _take(self._file, look=False):
            told = _read(self._file)
            self._file.close()
            pid = "?" if told is None else told.pid
            raise CardBusy("runner_elsewhere", f"process {pid} serves this queue", pid=pid)
        self._file.truncate(0)
        self._file.write(json.dumps({"pid": os.getpid(), "since": time.time()}))
        self._file.flush()

    def release(self) -> None:
        """Give it back; idempotent."""
        with suppress(OSError, ValueError):
            self._file.truncate(0)
        self._file.close()


def runner(data_dir: Path) -> RunnerInfo | None:
    """Who serves the queue now; None: nobody. Waits for nobody."""
    try:
        with open(data_dir / FOLDER / FILE, encoding="utf-8") as file:
            if _take(file, look=True):
                return None
            return _read(file)
    except OSError:
        return None


def _read(file: IO[str]) -> RunnerInfo | None:
    file.seek(0)
    try:
        told = json.loads(file.read())
        return RunnerInfo(pid=int(told["pid"]), since_unix_s=float(told["since"]))
    except (ValueError, KeyError, TypeError):
        return None


def _take(file: IO[str], *, look: bool) -> bool:
    """True if the lock is free (and ours now, unless only looked at)."""
    if sys.platform == "win32":
        import msvcrt

        try:
            file.seek(4096)  # the words at the beginning stay readable
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        if look:
            msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
        return True
    import fcntl

    for left in reversed(range(3)):
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if look else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            if look or not left:
                return False
            time.sleep(0.05)  # somebody just looks
        else:
            return True
    return False
