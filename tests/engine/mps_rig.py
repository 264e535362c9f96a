"""What tests of MPS stand on: the engine's bench with a stand-in for NVIDIA's daemon, and what is left of it."""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from gputuner.engine import mps_journal
from gputuner.model.events import Event, Outcome, RunFinished, Warned
from gputuner.model.steps import Done, StepResult, Together
from tests.engine.rig import Bench, outcomes_of, work

FAKE = Path(__file__).with_name("fake_mps.py")
ROOT = Path(__file__).parents[2]
CHILD = [sys.executable, "-m", "gputuner"]
START = ["-d GPU-test", "get_server_list"]
ASKED = ["get_server_list", "get_client_list"]
END = [*ASKED, "quit -t 5"]


class Lab(Bench):
    """The engine's bench with a stand-in for the daemon."""

    folder: Path

    def tell(self, *words: str) -> None:
        (self.folder / "behaviour").write_text(" ".join(words))

    def journal(self) -> list[str]:
        """Commands so far; a server's and a client's number say nothing."""
        return journal_of(self.folder)

    @property
    def left(self) -> list[str]:
        """What runs or lies there still."""
        run = [str(path) for path in mps_journal.runtime_of(self.folder).rglob("*")]
        return run + left_processes(self.folder)


def journal_of(folder: Path) -> list[str]:
    path = folder / "journal"
    lines = path.read_text().splitlines() if path.exists() else []
    return [line if line.startswith(("-d", "quit")) else line.split()[0] for line in lines]


def left_processes(folder: Path) -> list[str]:
    found: list[str] = []
    for process in psutil.process_iter():
        try:
            words = process.cmdline()
            if any(str(folder) in word for word in words) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(" ".join(words))
        except psutil.Error:
            continue
    return found


def install(folder: Path) -> str:
    """The stand-in as a program in ``folder``; its path."""
    path = folder / "nvidia-cuda-mps-control"
    path.write_text(f"#!{sys.executable}\n{FAKE.read_text()}")
    path.chmod(0o755)
    return str(path)


def pair(*behaviours: str, **fields: object) -> Together:
    works = tuple(work(how) for how in behaviours or ("ok", "ok"))
    return Together(label="pair", works=works, mode="mps", **fields)


def warned(events: list[Event]) -> list[str]:
    return [e.code for e in events if isinstance(e, Warned)]


def notes(result: StepResult, name: str) -> list[object]:
    assert isinstance(result, Done)
    return [trial.notes[name] for trial in result.trials]


def run(lab: Lab, *steps: object, **options: object) -> tuple[list[Event], list[StepResult]]:
    make, seen = outcomes_of(list(steps))
    events = list(lab.start(make, **options))
    assert isinstance(events[-1], RunFinished)
    assert events[-1].outcome is Outcome.COMPLETED
    return events, seen


def await_line(folder: Path, line: str) -> None:
    await_fact(lambda: line in journal_of(folder), line)


def await_fact(holds: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + 600.0
    while not holds():
        assert time.monotonic() < until, what
        time.sleep(0.02)
