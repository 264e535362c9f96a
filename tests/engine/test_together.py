"""Several jobs at once in processes of their own: idle ones beside them, and survivors of those that fail."""

import pytest

from gputuner.model.events import StepFinished, StepStarted, WorkerExited
from gputuner.model.steps import Done, Lost, OutOfMemory, StepResult, Together, UserCodeFailed, Work
from tests.engine.rig import Bench, Scripted, Simulated, outcomes_of, work


def jobs(*behaviours: str, **fields: object) -> Together:
    return Together(label="jobs", works=tuple(work(how) for how in behaviours), **fields)


def pids(result: StepResult) -> list[int]:
    assert isinstance(result, Done)
    return [int(trial.notes["pid"]) for trial in result.trials]


def test_alone_and_together_have_the_same_processes(bench: Bench):
    make, seen = outcomes_of([work(idle=2), jobs("ok", "ok", "ok"), work(idle=2)])
    events = list(bench.start(make))
    assert len([e for e in events if isinstance(e, WorkerExited)]) == 3
    assert pids(seen[0]) + pids(seen[2]) == pids(seen[1])[:1] * 2
    assert len(set(pids(seen[1]))) == 3


@pytest.mark.parametrize(("step", "left"), [(jobs("ok", "ok", idle=1), 3), (jobs("ok", "ok"), 2), (work(idle=1), 2)])
def test_no_process_stays_beside_those_that_are_wanted(bench: Bench, step: Work | Together, left: int):
    counted: list[int] = []

    def make():
        yield jobs("ok", "ok", "ok", "ok")
        yield step
        counted.append(len([e for e in bench.stores[0].events if isinstance(e, WorkerExited)]))

    list(bench.start(make))
    assert counted == [4 - left]


def test_a_work_that_says_nothing_of_idle_processes_leaves_them_as_they_are(bench: Bench):
    make, seen = outcomes_of([jobs("ok", "ok"), work(), jobs("ok", "ok")])
    list(bench.start(make))
    assert pids(seen[0]) == pids(seen[2])


def test_the_first_failure_is_that_of_all_where_nobody_asks_for_survivors(bench: Bench):
    make, seen = outcomes_of([jobs("ok", "oom_while_arming", "ok")])
    list(bench.start(make))
    assert isinstance(seen[0], OutOfMemory)


def test_three_of_four_are_kept_when_one_does_not_fit(bench: Bench):
    make, seen = outcomes_of([jobs("ok", "oom_while_arming", "ok", "ok", partly=True)])
    events = list(bench.start(make))
    (done,) = seen
    assert len(set(pids(done))) == 3
    assert isinstance(done, Done)
    (failed,) = done.failed
    assert (failed.job, failed.at_ns) == (1, None)
    assert failed.result == OutOfMemory(message="CUDA out of memory", free_bytes=7)
    assert sorted(e.why for e in events if isinstance(e, WorkerExited)) == ["finished"] * 3 + ["out_of_memory"]


@pytest.mark.parametrize(
    ("how", "kind"), [("oom", OutOfMemory), ("user_error", UserCodeFailed), ("crash", Lost), ("sticky", Lost)]
)
def test_a_failure_behind_the_barrier_says_when(bench: Bench, how: str, kind: type):
    make, seen = outcomes_of([jobs(how, "ok", partly=True)])
    events = list(bench.start(make))
    (done,) = seen
    assert isinstance(done, Done)
    (failed,) = done.failed
    assert failed.job == 0
    assert isinstance(failed.result, kind)
    start, end = (e.t_ns for e in events if isinstance(e, StepStarted | StepFinished))
    assert failed.at_ns is not None
    assert start <= failed.at_ns <= end


def test_where_none_survives_the_first_failure_is_that_of_all(bench: Bench):
    make, seen = outcomes_of([jobs("user_error", "oom", partly=True)])
    list(bench.start(make))
    assert isinstance(seen[0], UserCodeFailed)


def test_idle_processes_of_a_simulated_card_hold_their_contexts(simulated):
    lab: Simulated = simulated()
    held: list[int] = []

    def make():
        for idle in (0, 3):
            params = {"n": 1024, "precision": "fp16"}
            yield Work(label="w", workload="matmul", params=params, measure_s=0.2, budget_s=5.0, idle=idle)
            held.append(len(lab.cards.processes(lab.model.uuid, lab.clock.now_ns()).processes))

    lab.run(Scripted(make=make))
    assert held == [1, 4]


def test_streams_are_one_trial_of_one_worker(bench: Bench):
    pair = jobs("ok", "ok", mode="streams", priorities=(0, -1), idle=1)
    make, seen = outcomes_of([jobs("ok", "ok"), pair])
    list(bench.start(make))
    (_, done) = seen
    assert isinstance(done, Done)
    assert done.mode == "streams"
    assert len(set(pids(done))) == 1
    assert [trial.notes["priority"] for trial in done.trials] == [0, -1]


def test_what_one_stream_cannot_all_lose(bench: Bench):
    make, seen = outcomes_of([jobs("ok", "oom_while_arming", mode="streams", partly=True), work()])
    events = list(bench.start(make))
    assert isinstance(seen[0], OutOfMemory)
    assert isinstance(seen[1], Done)
    assert [e.why for e in events if isinstance(e, WorkerExited)] == ["out_of_memory", "finished"]


def test_a_step_says_how_many_and_in_which_mode(bench: Bench):
    make, _ = outcomes_of([jobs("ok", "ok"), jobs("ok", mode="streams")])
    told = [e.params for e in bench.start(make) if isinstance(e, StepStarted)]
    assert told == [{"behaviour": "ok", "jobs": 2}, {"behaviour": "ok", "jobs": 1, "mode": "streams"}]
