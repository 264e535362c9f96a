"""Workers for our own kernels beside those of torch: which runs what, which ends when, and what if there are none."""

import sys
from pathlib import Path

from gputuner.engine.engine import Engine
from gputuner.engine.options import Options
from gputuner.engine.stage import WallStage
from gputuner.model.events import Event, Outcome, RunFinished, WorkerExited
from gputuner.model.fingerprint import HostFingerprint
from gputuner.model.steps import Done, OutOfMemory, Plan, Runtime, StepResult, UserCodeFailed, Work
from tests.engine.rig import CARD, SCRIPT, HandFeed, MemoryStore, Scripted


def work(runtime: Runtime, behaviour: str = "ok", fresh: bool = False) -> Work:
    return Work(
        label="trial", workload="scripted", params={"behaviour": behaviour}, measure_s=0.1, budget_s=1.0,
        runtime=runtime, fresh=fresh,
    )  # fmt: skip


def perform(
    folder: Path, steps: list[Work], *kernels_arguments: str
) -> tuple[list[str], list[Event], list[StepResult]]:
    """Runtimes of the workers in the order started, what the run told, and the outcome of each step."""
    started: list[str] = []
    seen: list[StepResult] = []

    def command(runtime: str, *arguments: str):
        def make(card: object, cap: object) -> list[str]:
            started.append(runtime)
            return [sys.executable, str(SCRIPT), *arguments]

        return make

    def plan() -> Plan:
        for step in steps:
            seen.append((yield step))  # noqa: PERF401  a comprehension cannot yield

    def stage() -> WallStage:
        return WallStage(
            HandFeed(), lambda: HostFingerprint(readings={}), command("torch"), lambda card, probe: {}, 2.0,
            command("kernels", *kernels_arguments),
        )  # fmt: skip

    engine = Engine(stage, lambda run_id: MemoryStore(folder / run_id), folder)
    events = list(engine.start(Scripted(make=plan), Options(cards=(CARD.uuid,))))
    assert isinstance(events[-1], RunFinished)
    assert events[-1].outcome is Outcome.COMPLETED
    return started, events, seen


def pids(results: list[StepResult]) -> list[int]:
    return [int(trial.notes["pid"]) for result in results if isinstance(result, Done) for trial in result.trials]


def exits(events: list[Event]) -> list[tuple[str, str]]:
    return [(event.worker, event.why) for event in events if isinstance(event, WorkerExited)]


def test_torch_stays_beside_kernels_and_kernels_end_before_torch(tmp_path: Path):
    steps = [work("torch"), work("kernels"), work("kernels"), work("torch"), work("kernels")]
    started, events, seen = perform(tmp_path, steps)
    first, second, third, fourth, fifth = pids(seen)
    assert started == ["torch", "kernels", "kernels"]
    assert first == fourth
    assert second == third != fifth
    assert exits(events)[0] == ("w2", "finished")


def test_a_fresh_process_is_one_of_the_same_runtime(tmp_path: Path):
    started, _events, seen = perform(tmp_path, [work("torch"), work("kernels"), work("kernels", fresh=True)])
    assert started == ["torch", "kernels", "kernels"]
    assert len(set(pids(seen))) == 3


def test_kernels_that_run_out_of_memory_start_no_torch(tmp_path: Path):
    started, events, seen = perform(tmp_path, [work("kernels", "oom"), work("torch")])
    assert isinstance(seen[0], OutOfMemory)
    assert started == ["torch", "kernels"]
    assert exits(events)[0] == ("w2", "out_of_memory")


def test_a_missing_extra_fails_the_trial_and_not_the_run(tmp_path: Path):
    started, _events, seen = perform(tmp_path, [work("kernels"), work("torch")], "--unusable", "extra_missing")
    assert isinstance(seen[0], UserCodeFailed)
    assert seen[0].reason == "extra_missing"
    assert isinstance(seen[1], Done)
    assert started == ["torch", "kernels"]


def test_a_card_that_kernels_cannot_serve_is_unsupported(tmp_path: Path):
    _started, _events, seen = perform(tmp_path, [work("kernels")], "--unusable", "driver_too_old_for_kernels")
    assert isinstance(seen[0], UserCodeFailed)
    assert seen[0].reason == "unsupported"


def test_a_context_that_does_not_open_is_unsupported_too(tmp_path: Path):
    _started, _events, seen = perform(tmp_path, [work("kernels", "no_context"), work("torch")])
    assert isinstance(seen[0], UserCodeFailed)
    assert seen[0].reason == "unsupported"
    assert isinstance(seen[1], Done)


def test_kernels_that_die_at_the_start_fail_the_trial(tmp_path: Path):
    _started, _events, seen = perform(tmp_path, [work("kernels"), work("torch")], "--dies")
    assert isinstance(seen[0], UserCodeFailed)
    assert isinstance(seen[1], Done)
