"""Who runs the hook while the user's alerts change, and what becomes of one that still runs."""

import os
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from gputuner.assembly.alerts import AlertBook, Announcer
from gputuner.model.alerts import DEFAULT_RULES, AlertChange, AlertPlan
from gputuner.model.cards import Origin

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sh and named pipes")
HOT = AlertChange(rule=DEFAULT_RULES[0], card="GPU-0", t_ns=0, raised=True, value=90.0)


class Gate:
    """A hook that says it has begun, waits at a gate, and writes its word at the end."""

    def __init__(self, folder: Path, word: str) -> None:
        self._begun, self._gate, self.done = (folder / f"{word}-{name}" for name in ("begun", "gate", "done"))
        os.mkfifo(self._begun)
        os.mkfifo(self._gate)
        self.argv = ("sh", "-c", f"echo > {self._begun}; read x < {self._gate}; echo {word} >> {self.done}")

    def await_begin(self) -> None:
        self._begun.read_text()

    def open(self) -> None:
        self._gate.write_text("go\n")


def announcer(folder: Path, plan: AlertPlan) -> tuple[Announcer, list[str]]:
    said: list[str] = []
    return Announcer(AlertBook(folder), plan, Origin.SIMULATED, said.append), said


def test_a_hook_that_runs_goes_on_while_alerts_are_edited_and_another_command_is_named(tmp_path: Path):
    first, second = Gate(tmp_path, "first"), Gate(tmp_path, "second")
    plan = AlertPlan(rules=DEFAULT_RULES, hook=first.argv, notify=False)
    made, said = announcer(tmp_path, plan)
    made.tell([HOT], [])
    first.await_begin()
    made.tell([replace(HOT, raised=False)], [])  # waits, as one runs for the same alert
    plan = replace(plan, rules=DEFAULT_RULES[:3])
    made.follow(plan)
    made.follow(replace(plan, hook=second.argv))
    second.await_begin()
    first.open()
    second.open()
    made.close(lambda: True)
    assert (first.done.read_text(), second.done.read_text(), said) == ("first\n", "second\n", [])


def test_at_the_end_a_hook_gets_its_time_and_one_that_is_cut_short_is_said(tmp_path: Path):
    gate = Gate(tmp_path, "late")
    made, said = announcer(tmp_path, AlertPlan(hook=gate.argv, notify=False))
    made.tell([HOT], [])
    gate.await_begin()
    asked: list[int] = []

    def patient() -> bool:
        asked.append(1)
        if len(asked) == 2:
            threading.Thread(target=gate.open).start()
        return True

    made.close(patient)
    assert gate.done.read_text() == "late\n"
    hurried = Gate(tmp_path, "hurried")
    made, said = announcer(tmp_path, AlertPlan(hook=hurried.argv, notify=False))
    made.tell([HOT], [])
    hurried.await_begin()
    made.close(lambda: False)
    assert not hurried.done.exists()
    assert said == ["The alert's command sh still ran as gputuner ended and was ended with it."]
