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
from math import isfinite
from pathlib import Path
from typing import IO

from gputuner.model.boot import boot_id
from gputuner.model.codec import decode, encode
from gputuner.model.control import OWN_WAY, Setting, Value, numbers_in
from gputuner.model.errors import CardBusy, StoreError

if sys.platform == "win32":
    import msvcrt

    def _lock(file: IO[str]) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(file: IO[str]) -> None:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)


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
    driver, suspended = None, 0.0
    with contextlib.suppress(OSError):
        driver = (sysfs / "module/nvidia").stat().st_ino
    if hasattr(time, "CLOCK_BOOTTIME"):
        suspended = time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)
    return Moment(boot=boot_id(proc), driver=driver, suspended_s=round(suspended, 1))


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
        page = self._page(self._path(card))
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
        """Whether a process has the card's lock; told by the system, so that looking takes nothing from anyone."""
        path = self._path(card).with_suffix(".lock")
        try:
            number = path.stat().st_ino
        except FileNotFoundError:
            return False
        except OSError:
            return True
        try:
            told = Path("/proc/locks").read_text(encoding="ascii", errors="replace")
        except OSError:  # elsewhere the system does not tell: rather no word than a false one
            return True
        return any(f":{number} " in line for line in told.splitlines() if "FLOCK" in line)

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
            self._make_folder()
            fresh = path.with_suffix(".new")
            with open(fresh, "wb") as file:
                _mode(file.fileno(), 0o644)
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
            self._make_folder()
            # only the owner may open it: whoever can read a file can lock it, and keep others from putting back
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            file = open(descriptor, "a+", encoding="ascii", errors="replace")  # noqa: SIM115  held while a change stands
            _mode(descriptor, 0o600)
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

    def _make_folder(self) -> None:
        """The folder, which all may read whatever the umask says: others see in it what stands."""
        if self._folder.is_dir():
            return
        missing = [folder for folder in (self._folder, *self._folder.parents) if not folder.exists()]
        self._folder.mkdir(parents=True, exist_ok=True)
        if os.name == "posix":
            for folder in missing if os.geteuid() == 0 else missing[:1]:
                folder.chmod(0o755)

    def _path(self, card: str) -> Path:
        return self._folder / f"{hashlib.sha256(card.encode()).hexdigest()[:16]}.json"

    def _files(self, folder: Path) -> list[Path]:
        try:
            return sorted(folder.glob("*.json"))
        except OSError:
            return []

    def _page(self, path: Path) -> Page | None:
        try:
            page = decode(path.read_bytes(), Page)
            if not all(_sound(entry) for entry in page.entries):
                raise StoreError("control_journal", "values that no setting has", path=str(path), message="")
            return page
        except OSError:
            return None
        except StoreError:
            with contextlib.suppress(OSError):
                os.replace(path, path.with_suffix(".damaged"))
            self.damaged.append(str(path))
            return None


def _sound(entry: Entry) -> bool:
    """False for values that this program cannot have written."""
    count = numbers_in(entry.setting)
    empty_too = entry.setting in OWN_WAY
    return bool(entry.written) and all(
        (len(value) == count and all(isfinite(number) for number in value)) or (not value and empty_too)
        for value in (entry.found, *entry.written)
    )


def _mode(descriptor: int, mode: int) -> None:
    """Set the mode whatever the umask says (POSIX); a file of somebody else stays as it is."""
    if os.name == "posix":
        with contextlib.suppress(PermissionError):
            os.fchmod(descriptor, mode)


def _flush_folder(folder: Path) -> None:
    """Make a renaming last over a power cut (POSIX; elsewhere folders cannot be opened)."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
