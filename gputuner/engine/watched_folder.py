"""Folders for the records of commands, among the system's temporary files: made, and swept once nobody is left of them.

Each holds a note of the process that made it. Where that was killed, the folder goes at the next start, unless
processes of the command live on, which still write there. Without a note that can be judged here (another machine or
container shares the folder) it goes three days after its last line.
"""

import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from gputuner.workloads.observed.environment import FOLDER

WATCH, JOB = "gputuner-watch-", "gputuner-job-"
"""How their names begin: of a command that is watched, and of one that is a job beside others."""
OWNER = "owner"
FORGOTTEN_S = 3 * 86400.0
SAME_START_S = 60.0
"""A process of that number which began at another time is another's; the system's clock may be set meanwhile."""
BOOT_ID, NAMESPACE = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")


def make(prefix: str) -> Path:
    """A new folder, its path without links; first sweeps what earlier ones have left.

    Raises:
        OSError: it cannot be made.
    """
    sweep()
    folder = Path(os.path.realpath(tempfile.mkdtemp(prefix=prefix)))
    me = psutil.Process()
    (folder / OWNER).write_text(json.dumps({"pid": me.pid, "started_s": me.create_time(), "where": _where()}))
    return folder


def remove(folder: Path | None) -> None:
    """Remove a folder of records, if there is one."""
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


def sweep() -> None:
    """Remove the folders that nobody is left of."""
    left = [folder for folder in _folders() if not _owner_lives(folder)]
    used = _used() if left else set[str]()
    for folder in left:
        if str(folder) not in used and (_owned_here(folder) or _forgotten(folder)):
            remove(folder)


def _forgotten(folder: Path) -> bool:
    with suppress(OSError):
        newest = max(entry.stat().st_mtime for entry in (folder, *folder.iterdir()))
        return time.time() - newest > FORGOTTEN_S
    return False


def _folders() -> Iterator[Path]:
    with suppress(OSError):
        base = Path(os.path.realpath(tempfile.gettempdir()))
        for prefix in (WATCH, JOB):
            yield from sorted(
                folder for folder in base.glob(f"{prefix}*") if folder.is_dir() and not folder.is_symlink()
            )


def _owned_here(folder: Path) -> bool:
    """Whether the folder was made by a process whose number means the same here."""
    where, owner = _where(), _owner(folder)
    return where is not None and owner is not None and owner["where"] == where


def _owner_lives(folder: Path) -> bool:
    owner = _owner(folder)
    if owner is None or not _owned_here(folder):
        return False
    with suppress(psutil.Error, TypeError, ValueError):
        return abs(psutil.Process(int(owner["pid"])).create_time() - float(owner["started_s"])) < SAME_START_S
    return False


def _owner(folder: Path) -> dict[str, Any] | None:
    with suppress(OSError, ValueError):
        told: object = json.loads((folder / OWNER).read_text())
        if isinstance(told, dict) and {"pid", "started_s", "where"} <= told.keys():
            return told  # pyright: ignore[reportUnknownVariableType]
    return None


def _used() -> set[str]:
    """The folders that running processes write to."""
    found: set[str] = set()
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            found.add(process.environ().get(FOLDER, ""))
    return found


def _where() -> str | None:
    """This boot of this machine, and whose process numbers these are; None: not known."""
    with suppress(OSError):
        return f"{BOOT_ID.read_text().strip()} {os.readlink(NAMESPACE)}"
    return None
