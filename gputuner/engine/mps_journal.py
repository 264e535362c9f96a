"""The journal of an MPS daemon of ours: whose it is, so that whoever finds it can end one whose owner is gone."""

import contextlib
import json
import os
import platform
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from gputuner.engine.mps_daemon import Daemon

OURS, TEMPORARY = "mps-", "gputuner-"
"""How the names of our folders begin."""
SAME_START_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Owner:
    """A process, told apart from a later one of the same number by its start (seconds since 1970)."""

    host: str
    pid: int
    started_s: float

    @classmethod
    def myself(cls) -> "_Owner":
        return cls(host=platform.node(), pid=os.getpid(), started_s=psutil.Process().create_time())

    def alive(self) -> bool:
        """Whether it runs; of one on another machine, which shares the folder, that is taken as given."""
        if self.host != platform.node():
            return True
        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.started_s) < SAME_START_S
            return same and process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
        except psutil.Error:
            return False


def runtime_of(data_dir: Path) -> Path:
    """The folder of what lives as long as a process."""
    return data_dir / "run"


def write(journal: Path, folder: Path, program: str) -> None:
    """Keep that this process owns the daemon of ``folder``, before it is started.

    Raises:
        OSError: the journal cannot be written.
    """
    partial = journal.with_suffix(".part")
    partial.write_text(json.dumps({**asdict(_Owner.myself()), "folder": str(folder), "program": program}))
    partial.replace(journal)


def sweep(data_dir: Path) -> int:
    """End what processes of ours that are gone have left running; how many daemons that were."""
    return sum(end_journalled(journal) for journal in sorted(runtime_of(data_dir).glob("mps-*.json")))


def end_journalled(journal: Path) -> bool:
    """End the daemon of a journal whose owner is gone, and forget it; True: it still ran."""
    try:
        told = json.loads(journal.read_text())
        owner = _Owner(host=str(told["host"]), pid=int(told["pid"]), started_s=float(told["started_s"]))
        daemon = Daemon(Path(told["folder"]), str(told["program"]))
    except (OSError, ValueError, KeyError, TypeError):
        return False
    if owner.alive() or not daemon.folder.name.startswith((OURS, TEMPORARY)):
        return False
    found = daemon.alive()
    daemon.end()
    forget(journal)
    return found


def forget(journal: Path) -> None:
    """Remove a journal, and its folder if nothing else lies there."""
    journal.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        journal.parent.rmdir()
