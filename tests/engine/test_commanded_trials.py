"""Commands of the user's as trials of a run: alone, beside a worker, failing, cancelled."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import psutil
import pytest

from gputuner.engine import commanded, mps_ground, workers
from gputuner.engine.engine import Engine
from gputuner.engine.mps import OwnMps
from gputuner.engine.options import Options
from gputuner.engine.stage import WallStage
from gputuner.model.cards import CardInfo
from gputuner.model.events import Event, Outcome, RunFinished, StepProgressed, WorkerExited
from gputuner.model.fingerprint import HostFingerprint
from gputuner.model.quantities import Quantity
from gputuner.model.samples import Sample
from gputuner.model.steps import Done, OutOfMemory, Plan, StepResult, Together, UserCodeFailed, Work
from gputuner.sessions.files import output_folder
from gputuner.telemetry.feed import Tick
from tests.engine import mps_rig
from tests.engine.commanded_rig import CHILD, STEPS, python
from tests.engine.rig import CARD, SCRIPT, HandFeed, MemoryStore

TRAINING = python(STEPS + "    print(os.environ['CUDA_VISIBLE_DEVICES'], flush=True)\n    train(10000)")


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """The hand-fed feed tells nothing, and a loaded machine takes its time."""
    monkeypatch.setattr("gputuner.engine.safety.SILENCE_S", 600.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """An experiment with commands, whose steps the test gives."""

    name: ClassVar[str] = "scripted"
    needs_worker: ClassVar[bool] = True
    make: Callable[[], Plan] = field(repr=False)
    commands: tuple[tuple[str, ...], ...]
    folder: str

    def plan(self, context: object) -> Plan:
        return self.make()

    def expected_s(self) -> float:
        return 600.0

    def limited(self) -> bool:
        return True


def command(number: int = 1, **params: float) -> Work:
    return Work(
        label="contend_alone",
        workload="command",
        params={"command": number, **params},
        measure_s=0.5,
        budget_s=30.0,
        warmup_s=0.2,
        runtime="command",
    )


BESIDE = Work(label="contend_alone", workload="scripted", params={}, measure_s=0.1, budget_s=5.0)


def children() -> set[int]:
    return {each.pid for each in psutil.Process().children(recursive=True)}


def run(
    folder: Path,
    commands: tuple[tuple[str, ...], ...],
    *steps: Work | Together,
    cancel_at: str = "",
    hot_at: str = "",
    mps: Callable[[CardInfo, Path | None], OwnMps | str] | None = None,
) -> tuple[list[StepResult], list[Event]]:
    """The outcome of each step and what was told; cancelled, or too hot, once a step is at such a phase."""
    feed = HandFeed()
    seen: list[StepResult] = []

    def plan() -> Plan:
        for step in steps:
            seen.append((yield step))  # noqa: PERF401  a comprehension cannot yield

    def stage() -> WallStage:
        return WallStage(
            feed,
            lambda: HostFingerprint(readings={}),
            lambda card, cap: [sys.executable, str(SCRIPT)],
            lambda card, probe: {},
            2.0,
            mps=mps or (lambda card, data_dir: "not_here"),
            commanded=(CHILD, lambda card: {**os.environ, "CUDA_VISIBLE_DEVICES": card.uuid}),
        )

    before = children()
    engine = Engine(stage, lambda run_id: MemoryStore(folder / run_id), folder)
    started = engine.start(Mix(make=plan, commands=commands, folder=str(folder)), Options(cards=(CARD.uuid,)))
    events: list[Event] = []
    for event in started:
        events.append(event)
        if isinstance(event, StepProgressed) and event.phase == cancel_at:
            started.cancel()
        if isinstance(event, StepProgressed) and event.phase == hot_at:
            hot = Sample(card=CARD.uuid, t_ns=event.t_ns, values={Quantity.CORE_TEMPERATURE_C: 120.0})
            feed.push(Tick(t_ns=event.t_ns, samples=(hot,)))
    assert children() - before == set()
    return seen, events


def logs(events: list[Event], folder: Path) -> dict[str, str]:
    """What the commands wrote, by the name of the file."""
    return {file.name: file.read_text() for file in output_folder(folder / events[0].run_id).iterdir()}


def test_a_command_beside_a_worker_gives_a_trial_of_its_own(tmp_path):
    (alone, both), events = run(tmp_path, (TRAINING,), command(), Together(label="both", works=(BESIDE, command())))
    assert isinstance(alone, Done)
    assert isinstance(both, Done)
    assert [len(done.trials) for done in (alone, both)] == [1, 2]
    assert both.trials[0].work == {"flop": 1e9}
    for trial in (alone.trials[0], both.trials[1]):
        assert trial.work == {"samples": 8.0}
        assert {round(seconds, 6) for seconds in trial.iteration_s} == {0.02}
    exits = [event for event in events if isinstance(event, WorkerExited)]
    assert {event.why for event in exits} == {"finished"}
    assert len(exits) == 3
    assert logs(events, tmp_path) == {"1-1.log": "GPU-test\n", "1-2.log": "GPU-test\n"}


def test_alone_beside_an_idle_process_that_one_has_a_context_of_its_own(tmp_path):
    (done,), events = run(tmp_path, (TRAINING,), Together(label="alone", works=(command(),), idle=2))
    assert isinstance(done, Done)
    assert sum(isinstance(event, WorkerExited) for event in events) == 3


def test_one_that_fails_tells_its_exit_code_and_last_words_and_the_other_is_kept(tmp_path):
    failing = python("print('about to', flush=True)\nraise SystemExit('no data')")
    works = (BESIDE, command(2))
    (alone, both), _ = run(tmp_path, (TRAINING, failing), command(2), Together(label="both", works=works, partly=True))
    expected = UserCodeFailed(message="exit code 1", traceback="about to\nno data", reason="command_failed")
    assert alone == expected
    assert isinstance(both, Done)
    assert len(both.trials) == 1
    assert [(failed.job, failed.result) for failed in both.failed] == [(1, expected)]


def test_one_without_memory_is_an_outcome_of_its_own(tmp_path):
    short = python("raise MemoryError('CUDA out of memory')")
    (alone, again), _ = run(tmp_path, (short,), command(), BESIDE)
    assert isinstance(alone, OutOfMemory)
    assert isinstance(again, Done)


@pytest.mark.parametrize("phase", ["warmup", "measure"])
def test_cancelled_while_it_runs_nothing_of_it_is_left(tmp_path, phase):
    outcomes, events = run(tmp_path, (TRAINING,), command(), cancel_at=phase)
    assert outcomes == []
    finished = events[-1]
    assert isinstance(finished, RunFinished)
    assert finished.outcome is Outcome.CANCELLED


DEAF = python("import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(600)")


def test_where_the_card_is_in_danger_it_has_no_time_for_a_checkpoint(tmp_path, monkeypatch):
    monkeypatch.setattr(commanded, "GRACE_S", 600.0)
    monkeypatch.setattr(workers, "GRACE_S", 0.2)
    outcomes, events = run(tmp_path, (DEAF,), command(), hot_at="warmup")
    assert outcomes == []
    finished = events[-1]
    assert isinstance(finished, RunFinished)
    assert finished.outcome is Outcome.STOPPED_FOR_SAFETY


CLIENT = python(
    """
    import os, pathlib, signal, time
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    pipe = pathlib.Path(os.environ["CUDA_MPS_PIPE_DIRECTORY"])
    (pipe / "clients" / str(os.getpid())).touch()
    print("percentage", os.environ.get("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"), flush=True)
    while not (pipe / "terminated" / str(os.getpid())).exists():
        time.sleep(0.02)
    """
)
"""A client of MPS that hears no SIGTERM and ends once the server has let go of it."""


def test_under_mps_it_is_a_client_which_its_server_lets_go_before_it_is_killed(place, monkeypatch):
    monkeypatch.setattr(commanded, "GRACE_S", 0.3)
    monkeypatch.setattr(mps_ground, "USUAL_PIPE", str(place / "no users daemon"))
    program = mps_rig.install(place)
    step = Together(label="both", works=(command(patience_s=0.5),), mode="mps", thread_percentages=(40,))

    def daemon(card: CardInfo, data_dir: Path | None) -> OwnMps:
        return OwnMps(card.uuid, data_dir, mps_rig.CHILD, program)

    (done,), events = run(place, (CLIENT,), step, mps=daemon)
    assert isinstance(done, Done)
    assert done.mode == "mps"
    assert done.trials[0].iteration_s == ()
    assert logs(events, place) == {"1-1.log": "percentage 40\n"}
    journal = mps_rig.journal_of(place)
    assert "terminate_client" in journal
    assert journal[-1] == "quit -t 5"
    assert mps_rig.left_processes(place) == []
