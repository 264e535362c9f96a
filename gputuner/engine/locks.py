"""One run per card: a file lock per card UUID tells that a card is used by another gputuner."""

import contextlib
import errno
import hashlib
import os
import sys
from pathlib import Path
from typing import IO

from gputuner.model.errors import CardBusy, StoreError, StoreForbidden

if sys.platform == "win32":
    import msvcrt

    def _lock(file: IO[str]) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(file: IO[str]) -> None:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)


_FORBIDDEN = {errno.EROFS, errno.EACCES, errno.EPERM}


class CardLock:
    """Held while a run uses a card; the operating system lets go of it when this process ends, however it ends."""

    def __init__(self, data_dir: Path, card: str) -> None:
        """Take the lock.

        Raises:
            CardBusy: another process of ours holds it (``pid`` in the params where it is known).
            StoreError: the data folder cannot be written.
        """
        folder = data_dir / "locks"
        path = folder / (hashlib.sha256(card.encode()).hexdigest()[:16] + ".lock")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = open(path, "a+", encoding="utf-8")  # noqa: SIM115  held for the run
        except OSError as err:
            kind = StoreForbidden if err.errno in _FORBIDDEN else StoreError
            raise kind("data_dir_unwritable", f"cannot write to {data_dir}: {err}", path=str(data_dir)) from err
        try:
            _lock(self._file)
        except OSError as err:
            self._file.seek(0)
            pid = self._file.read().strip()
            self._file.close()
            raise CardBusy("running_elsewhere", f"another gputuner (pid {pid}) uses this card", pid=pid) from err
        self._file.truncate(0)
        self._file.write(str(os.getpid()))
        self._file.flush()

    def release(self) -> None:
        """Let go; idempotent."""
        with contextlib.suppress(OSError, ValueError):
            self._file.truncate(0)
        self._file.close()
