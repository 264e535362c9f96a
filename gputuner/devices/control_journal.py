"""The journal of changed settings: what must be put back, on disk before anything is changed.

One file per card in one folder, replaced at one stroke and flushed to the disk. Beside it lies the card's lock, which
whoever holds a change keeps; the system drops it with its process. So an entry that is not *kept* and whose card
nobody locks was left behind by a process that died.
"""

import contextlib
import hashlib
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from gputuner.model.codec import decode, encode
from gputuner.model.control import Setting, Value
from gputuner.model.errors import CardBusy, StoreError

if sys.platform == "win32":
    import msvcrt

    def _lock(file: IO[str], *, look: bool = False) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(file: IO[str], *, look: bool = False) -> None:
        fcntl.flock(file.fileno(), (fcntl.LOCK_SH if look else fcntl.LOCK_EX) | fcntl.LOCK_NB)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What tells whether a card still is the one that was changed: boot, loading of the driver, time asleep.

    ``boot`` empty or ``driver`` None: not known. ``suspended_s``: seconds that the machine has slept since its boot.
    """

    boot: str
    driver: int | None = None
    suspended_s: float = 0.0


def moment_now(proc: Path = Path("/proc"), sysfs: Path = Path("/sys")) -> Moment:
    """The present moment. A module of the kernel gets a new number in sysfs each time that it is loaded."""
    boot, driver, suspended = "", None, 0.0
    with contextlib.suppress(OSError):
        boot = (proc / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    with contextlib.suppress(OSError):
        driver = (sysfs / "module/nvidia").stat().st_ino
    if hasattr(time, "CLOCK_BOOTTIME"):
        suspended = time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)
    return Moment(boot=boot, driver=driver, suspended_s=round(suspended, 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One change: what was found, and what was written (the last counts; the one before may still stand).

    ``kept``: meant to last beyond the process that made it. ``at_unix_s``: when.
    """

    setting: Setting
    found: Value
    written: tuple[Value, ...]
    kept: bool = False
    moment: Moment
    at_unix_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """All changes of one card that stand."""

    card: str
    entries: tuple[Entry, ...] = field(default=())


class Journal:
    """The changes that stand, by card. Reading never fails: what is damaged is set aside and told as such."""

    def __init__(self, folder: Path, *, readable: tuple[Path, ...] = ()) -> None:
        """Keep it in ``folder``; ``readable``: folders of others, of which only is told."""
        self._folder = folder
        self._readable = readable
        self.damaged: list[str] = []

    @property
    def folder(self) -> Path:
        """Where it lies."""
        return self._folder

    def pages(self) -> tuple[Page, ...]:
        """Every card's page."""
        return tuple(page for path in self._files(self._folder) if (page := self._page(path)) is not None)

    def entries(self, card: str) -> tuple[Entry, ...]:
        """The changes of one card that this journal may change."""
        path = self._path(card)
        page = self._page(path) if path.exists() else None
        return page.entries if page is not None and page.card == card else ()

    def seen(self, card: str) -> tuple[Entry, ...]:
        """The changes of one card, those in other journals too."""
        others = (Journal(folder).entries(card) for folder in self._readable if folder != self._folder)
        return (*self.entries(card), *(entry for entries in others for entry in entries))

    def abandoned(self, boot: str) -> tuple[Page, ...]:
        """Changes of this boot that were to be put back and that no process holds any more; takes nothing."""
        left = (
            Page(card=page.card, entries=tuple(e for e in page.entries if not e.kept and e.moment.boot == boot))
            for page in self.pages()
        )
        return tuple(page for page in left if page.entries and not self._held(page.card))

    def _held(self, card: str) -> bool:
        try:
            with open(self._path(card).with_suffix(".lock"), encoding="ascii", errors="replace") as file:
                _lock(file, look=True)
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return False

    def write(self, card: str, entries: tuple[Entry, ...]) -> None:
        """Replace a card's page, on the disk when this returns; no entries: there is no page.

        Raises:
            StoreError: the folder cannot be written.
        """
        path = self._path(card)
        try:
            if not entries:
                path.unlink(missing_ok=True)
                return
            self._folder.mkdir(mode=0o755, parents=True, exist_ok=True)
            fresh = path.with_suffix(".new")
            with open(fresh, "wb") as file:
                file.write(encode(Page(card=card, entries=entries)))
                file.flush()
                os.fsync(file.fileno())
            os.replace(fresh, path)
            _flush_folder(self._folder)
        except OSError as err:
            raise StoreError(
                "control_journal", f"the journal cannot be written: {err}", path=str(self._folder), message=str(err)
            ) from err

    def lock(self, card: str) -> Callable[[], None]:
        """Take the lock of a card; what is returned lets it go.

        Raises:
            CardBusy: another process changes settings of it.
            StoreError: the folder cannot be written.
        """
        path = self._path(card).with_suffix(".lock")
        try:
            self._folder.mkdir(mode=0o755, parents=True, exist_ok=True)
            file = open(path, "a+", encoding="ascii", errors="replace")  # noqa: SIM115  held while a change stands
        except OSError as err:
            raise StoreError(
                "control_journal", f"the journal cannot be written: {err}", path=str(self._folder), message=str(err)
            ) from err
        try:
            _lock(file)
        except OSError as err:
            file.seek(0)
            with file:
                pid = file.read(20).strip()
            raise CardBusy("control_busy", f"process {pid} changes settings of this card", pid=pid) from err
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        return file.close

    def _path(self, card: str) -> Path:
        return self._folder / f"{hashlib.sha256(card.encode()).hexdigest()[:16]}.json"

    def _files(self, folder: Path) -> list[Path]:
        try:
            return sorted(folder.glob("*.json"))
        except OSError:
            return []

    def _page(self, path: Path) -> Page | None:
        try:
            return decode(path.read_bytes(), Page)
        except OSError:
            return None
        except StoreError:
            with contextlib.suppress(OSError):
                os.replace(path, path.with_suffix(".damaged"))
            self.damaged.append(str(path))
            return None


def _flush_folder(folder: Path) -> None:
    """Make a renaming last over a power cut (POSIX; elsewhere folders cannot be opened)."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
