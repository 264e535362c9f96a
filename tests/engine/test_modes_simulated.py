"""The modes on simulated cards: the same jobs in time slices, under MPS, and as streams of one process."""

import pytest

from gputuner.model.events import Event, Outcome, RunFinished, Warned, WorkerExited
from gputuner.model.steps import Done, Lost, OutOfMemory, Plan, StepResult, Together, UserCodeFailed, Work
from tests.engine.rig import Scripted, Simulated, outcomes_of

EDSR = {"batch": 16, "precision": "fp16", "channels_last": True, "variant": "baseline", "patch": 48}


def training(workload: str = "edsr", **params: object) -> Work:
    return Work(
        label="trial", workload=workload, params={**EDSR, **params}, measure_s=1.0, budget_s=60.0, warmup_s=0.5
    )  # fmt: skip


def performed(lab: Simulated, *steps: Work | Together) -> tuple[list[Event], list[StepResult]]:
    make, seen = outcomes_of(list(steps))
    events = lab.run(Scripted(make=make))
    assert isinstance(events[-1], RunFinished)
    assert events[-1].outcome is Outcome.COMPLETED
    return events, seen


def rates(result: StepResult) -> list[float]:
    assert isinstance(result, Done)
    return [trial.work["samples"] * len(trial.iteration_s) / sum(trial.iteration_s) for trial in result.trials]


def in_each_mode(lab: Simulated, work: Work) -> list[Done]:
    pairs = [Together(label="pair", works=(work, work), mode=mode) for mode in ("processes", "mps", "streams")]
    done = [result for result in performed(lab, *pairs)[1] if isinstance(result, Done)]
    assert [result.mode for result in done] == ["processes", "mps", "streams"]
    return done


def test_jobs_that_the_card_limits_gain_side_by_side(simulated):
    done = in_each_mode(simulated(card="h200-sxm"), training(batch=256))
    sliced, mps, streams = (sum(rates(result)) for result in done)
    assert min(mps, streams) > 1.02 * sliced
    assert not any(trial.notes["host_serialised"] for trial in done[2].trials)


def test_jobs_that_the_host_limits_stand_in_each_others_way_in_one_process(simulated):
    done = in_each_mode(simulated(card="h200-sxm"), training(batch=16))
    _, mps, streams = (sum(rates(result)) for result in done)
    assert streams < 0.9 * mps
    assert all(trial.notes["host_serialised"] for trial in done[2].trials)


def test_notes_of_mps_and_of_streams(simulated):
    lab = simulated()
    _, seen = performed(
        lab,
        Together(label="a", works=(training(), training()), mode="mps", thread_percentages=(80, 20)),
        Together(label="b", works=(training(), training()), mode="streams", priorities=(-1, 0)),
    )
    mps, streams = seen
    assert isinstance(mps, Done)
    assert isinstance(streams, Done)
    assert [trial.notes["thread_percentage"] for trial in mps.trials] == [80, 20]
    assert [trial.notes["priority"] for trial in streams.trials] == [-1, 0]
    assert {trial.notes["mode"] for trial in streams.trials} == {"streams"}
    assert all(isinstance(trial.notes["host_serialised"], bool) for trial in streams.trials)


def test_streams_are_one_process_with_the_memory_of_all(simulated):
    lab = simulated()
    alone = lab.model.model.context_bytes
    seen: list[int] = []

    def make() -> Plan:
        yield Together(label="a", works=(training(), training(), training()), mode="streams")
        table = lab.cards.processes(lab.model.uuid, lab.clock.now_ns()).processes
        assert len(table) == 1
        seen.append(table[0].memory_bytes)

    events = lab.run(Scripted(make=make))
    assert seen == [alone], "the jobs' memory is given back"
    assert len([e for e in events if isinstance(e, WorkerExited)]) == 1


def test_one_alone_may_be_asked_for_in_a_mode_with_idle_processes_beside_it(simulated):
    _, seen = performed(
        simulated(),
        Together(label="a", works=(training(),), mode="mps", idle=1),
        Together(label="b", works=(training(),), mode="streams"),
        training(),
    )
    assert [r.mode for r in seen if isinstance(r, Done)] == ["mps", "streams", "processes"]
    mps, streams, alone = (rates(result)[0] for result in seen)
    assert mps == pytest.approx(alone, rel=0.02)
    assert streams == pytest.approx(alone, rel=0.02)


def test_streams_that_do_not_fit_lose_the_process(simulated):
    lab = simulated(card="gtx-1080-ti")
    _, seen = performed(
        lab, Together(label="a", works=(training(batch=64), training(batch=4096)), mode="streams"), training(batch=2)
    )
    assert isinstance(seen[0], OutOfMemory)
    assert isinstance(seen[1], Done)


def test_a_card_before_volta_has_no_mps(simulated):
    lab = simulated(card="gtx-1080-ti")
    pair = Together(label="a", works=(training(batch=2), training(batch=2)), mode="mps")
    events, seen = performed(lab, pair, pair)
    (told,) = [e for e in events if isinstance(e, Warned)]
    assert (told.code, told.params) == ("mps_unavailable", {"reason": "before_volta"})
    assert [r.mode for r in seen if isinstance(r, Done)] == ["processes", "processes"]


def test_jobs_that_cannot_live_in_one_process_run_in_several(simulated):
    other = Work(
        label="t", workload="edsr", params=dict(EDSR), measure_s=0.5, budget_s=60.0, environment=(("A", "1"),)
    )  # fmt: skip
    events, seen = performed(simulated(), Together(label="a", works=(training(), other), mode="streams"))
    (told,) = [e for e in events if isinstance(e, Warned)]
    assert (told.code, told.params) == ("streams_unavailable", {"reason": "other_environment"})
    assert not isinstance(seen[0], Lost | UserCodeFailed)
