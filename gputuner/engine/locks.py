"""Who uses a card: an exclusive file lock per card UUID for runs, marks beside it for those who only read.

Each file holds a ``Holder`` as JSON while it is held; the lock on the file says whether that still is so.
"""

import contextlib
import errno
import hashlib
import os
import secrets
import shlex
import sys
import time
from pathlib import Path
from typing import IO

from gputuner.model.codec import decode, encode
from gputuner.model.errors import CardBusy, StoreError, StoreForbidden
from gputuner.model.holders import Holder

if sys.platform == "win32":
    import msvcrt

    def _lock(file: IO[str], look: bool = False) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(file: IO[str], look: bool = False) -> None:
        fcntl.flock(file.fileno(), (fcntl.LOCK_SH if look else fcntl.LOCK_EX) | fcntl.LOCK_NB)


_FORBIDDEN = {errno.EROFS, errno.EACCES, errno.EPERM}
TRIES, PAUSE_S = 5, 0.01
"""A look at a lock takes it for some microseconds; who wants the card tries again before it counts as used."""
MOST_COMMAND = 200
"""Longest command line that is told, in characters."""


def _stem(card: str) -> str:
    return hashlib.sha256(card.encode()).hexdigest()[:16]


def _myself(purpose: str) -> str:
    """This process, as it stands in its files."""
    words = shlex.join([_program(), *sys.argv[1:]])
    command = words.encode("utf-8", "backslashreplace").decode()[:MOST_COMMAND]  # names of files may be no UTF-8
    myself = Holder(pid=os.getpid(), command=command, purpose=purpose, since_unix_s=time.time())
    return encode(myself).decode()


def _program() -> str:
    path = Path(sys.argv[0] or "gputuner")
    return path.parent.name if path.name == "__main__.py" else path.name


def _read(text: str) -> Holder:
    """Who wrote ``text``; an unknown one if it cannot be read."""
    try:
        return decode(text.encode(), Holder)
    except StoreError:
        return Holder(pid=int(text)) if text.strip().isdecimal() else Holder()


class CardLock:
    """Held while a run uses a card; the operating system lets go of it when this process ends, however it ends."""

    def __init__(self, data_dir: Path, card: str, purpose: str = "") -> None:
        """Take the lock for a ``purpose`` (name of the experiment).

        Raises:
            CardBusy: another process of ours holds it (``pid`` in the params where it is known).
            StoreError: the data folder cannot be written.
        """
        folder = data_dir / "locks"
        path = folder / f"{_stem(card)}.lock"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = open(path, "a+", encoding="utf-8")  # noqa: SIM115  held for the run
        except OSError as err:
            kind = StoreForbidden if err.errno in _FORBIDDEN else StoreError
            raise kind("data_dir_unwritable", f"cannot write to {data_dir}: {err}", path=str(data_dir)) from err
        for left in reversed(range(TRIES)):
            try:
                _lock(self._file)
                break
            except OSError as err:
                if left:
                    time.sleep(PAUSE_S)
                    continue
                pid = self._holder_pid()
                raise CardBusy("running_elsewhere", f"another gputuner (pid {pid}) uses this card", pid=pid) from err
        self._file.truncate(0)
        self._file.write(_myself(purpose))
        self._file.flush()

    def _holder_pid(self) -> str:
        self._file.seek(0)
        with self._file, contextlib.suppress(OSError):
            return str(_read(self._file.read()).pid or "")
        return ""

    def release(self) -> None:
        """Let go; idempotent."""
        with contextlib.suppress(OSError, ValueError):
            self._file.truncate(0)
        with contextlib.suppress(OSError):  # what a full disk did not take; it is closed all the same
            self._file.close()


class CardMark:
    """Tells that this process reads a card; any number may, and a folder that cannot be written is no obstacle."""

    def __init__(self, data_dir: Path, card: str, purpose: str) -> None:
        """Set the mark; ``card`` empty: all cards."""
        self._path = data_dir / "locks" / f"{_stem(card)}.{secrets.token_hex(4)}.mark"
        self._file: IO[str] | None = None
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(self._path, "x", encoding="utf-8")  # noqa: SIM115  held while it reads
            _lock(self._file)
            self._file.write(_myself(purpose))
            self._file.flush()

    def release(self) -> None:
        """Take the mark away; idempotent."""
        if self._file is not None and not self._file.closed:
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                self._file.close()


def holders(data_dir: Path, card: str) -> tuple[Holder, ...]:
    """Who uses a card (first) or reads it now, this process included; of ``""`` who reads all. Waits for nobody."""
    stem, folder = _stem(card), data_dir / "locks"
    found = (_held(path) for path in (folder / f"{stem}.lock", *sorted(folder.glob(f"{stem}.*.mark"))))
    return tuple(holder for holder in found if holder is not None)


def _held(path: Path) -> Holder | None:
    """Who holds a file; None if nobody does, or it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
            if not text:
                return None
            try:
                _lock(file, look=True)
            except (BlockingIOError, PermissionError):
                return _read(text)
    except OSError:
        return None
    if path.suffix == ".mark":  # its process is gone without taking it away
        with contextlib.suppress(OSError):
            path.unlink()
    return None
