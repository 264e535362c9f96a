"""Who writes a session: an exclusive lock on ``<run_id>.lock`` beside it, which the system drops with its process."""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO


def lock_path(session: Path) -> Path:
    """Where the lock of a session file lies."""
    return session.with_suffix(".lock")


def _take(file: IO[bytes], look: bool) -> bool:
    """True if the lock is ours now (or if this file system knows no locks).

    Args:
        file: open lock file.
        look: do not wait, and share the lock with others who only look.
    """
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK if look else msvcrt.LK_LOCK, 1)
        except OSError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB if look else fcntl.LOCK_EX)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


class Lease:
    """The writer's hold on its session file; ends with ``release`` or with the process."""

    def __init__(self, session: Path) -> None:
        """Take the lock of a session file that no other writer can have (its name was created by us).

        Raises:
            OSError: the folder cannot be written.
        """
        self._path = lock_path(session)
        self._file = self._path.open("ab")
        _take(self._file, look=False)  # only a moment's look by is_running can stand in the way

    def release(self) -> None:
        """Give the lock back and remove its file; idempotent."""
        if not self._file.closed:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
            self._file.close()


def is_running(session: Path) -> bool:
    """Whether a process is writing this session now."""
    path = lock_path(session)
    try:
        with path.open("rb") as file:
            return not _take(file, look=True)
    except OSError:
        # No lock file; or one that only its writer may open, which a process that is gone no longer holds
        return os.path.exists(path) and not os.access(path, os.R_OK)
