import os
import signal

import pytest

from gputuner.engine.options import Options
from gputuner.model.errors import CardBusy, ExitCode, NoCard, StoreError
from gputuner.model.events import (
    Event,
    Outcome,
    PointMeasured,
    RunFinished,
    RunStarted,
    StepProgressed,
    StepStarted,
    TorchFound,
    WorkerExited,
)
from gputuner.model.points import Flag, Point
from gputuner.model.quantities import Quantity
from gputuner.model.samples import CardProcesses, ProcessOnCard, Sample
from gputuner.model.steps import (
    Done,
    Lost,
    OutOfMemory,
    Plan,
    Report,
    Settle,
    StepResult,
    Together,
    Total,
    UserCodeFailed,
)
from gputuner.telemetry.feed import Tick
from tests.engine.rig import CARD, Bench, MemoryStore, Scripted, outcomes_of, work


def test_events_say_nothing_of_where_the_users_files_lie(bench: Bench):
    asked = work(params={"recipe": "/home/someone/mine.py:make", "folder": "/home/someone", "batch": 2})
    make, results = outcomes_of([asked])
    events = list(bench.start(make))
    (started,) = [event for event in events if isinstance(event, StepStarted)]
    assert started.params == {"behaviour": "ok", "batch": 2}
    assert isinstance(results[0], Done)


def finished(events: list[Event]) -> RunFinished:
    last = events[-1]
    assert isinstance(last, RunFinished)
    return last


def pid_of(result: StepResult) -> int:
    assert isinstance(result, Done)
    return int(result.trials[0].notes["pid"])


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_run_tells_its_start_its_steps_and_always_its_end(bench: Bench):
    make, seen = outcomes_of([work()])
    events = list(bench.start(make))
    assert isinstance(events[0], RunStarted)
    assert isinstance(events[1], TorchFound)
    assert isinstance(events[2], StepStarted)
    assert finished(events).outcome is Outcome.COMPLETED
    assert isinstance(seen[0], Done)
    assert seen[0].trials[0].work == {"flop": 1e9}
    assert [e.seq for e in events] == sorted({e.seq for e in events})
    assert bench.stores[0].events == events
    assert bench.stores[0].closed


def told_of(events: list[Event]) -> list[StepProgressed]:
    return [e for e in events if isinstance(e, StepProgressed)]


def test_how_far_a_step_is_is_told_and_not_kept(bench: Bench):
    make, _ = outcomes_of([work(), work("tells")])
    events = list(bench.start(make))
    (told,) = told_of(events)
    assert (told.index, told.label, told.phase) == (2, "trial", "measure")
    assert (told.done_s, told.left_s, told.remaining_s, told.done, told.of) == (3.0, 9.0, 9.0, 5, 12)
    assert bench.stores[0].events == [e for e in events if not isinstance(e, StepProgressed)]


@pytest.mark.parametrize(("order", "told"), [(("tells", "ok"), [5]), (("ok", "tells"), [])])
def test_of_two_at_once_the_first_tells(bench: Bench, order: tuple[str, str], told: list[int]):
    make, _ = outcomes_of([Together(label="together", works=(work(order[0]), work(order[1])))])
    assert [e.done for e in told_of(list(bench.start(make)))] == told


def test_one_worker_serves_many_trials_and_none_is_left(bench: Bench):
    make, seen = outcomes_of([work(), work(), work(fresh=True)])
    events = list(bench.start(make))
    pids = [pid_of(r) for r in seen]
    assert pids[0] == pids[1]
    assert pids[2] != pids[0]
    assert not any(alive(p) for p in pids)
    assert [e.why for e in events if isinstance(e, WorkerExited)] == ["finished", "finished"]


def test_out_of_memory_is_a_value_and_the_next_trial_starts_fresh(bench: Bench):
    make, seen = outcomes_of([work(), work("oom"), work()])
    events = list(bench.start(make))
    assert isinstance(seen[1], OutOfMemory)
    assert seen[1].free_bytes == 7
    assert pid_of(seen[2]) != pid_of(seen[0])
    assert "out_of_memory" in [e.why for e in events if isinstance(e, WorkerExited)]
    assert finished(events).outcome is Outcome.COMPLETED


def test_crash_sticky_error_and_user_error_are_told_apart(bench: Bench):
    make, seen = outcomes_of([work("crash"), work("sticky"), work("user_error"), work("chatter")])
    list(bench.start(make))
    assert isinstance(seen[0], Lost)
    assert isinstance(seen[1], Lost)
    assert isinstance(seen[2], UserCodeFailed)
    assert seen[2].traceback == "Traceback: shape"
    assert isinstance(seen[3], Done), "a body's own printing must not hurt"


def test_a_crash_that_half_the_size_survives_is_a_size_limit(bench: Bench):
    limited = work("crash_above", params={"batch": 64, "works_to": 40}, size_param="batch")
    broken = work("crash_above", params={"batch": 64, "works_to": 0}, size_param="batch")
    make, seen = outcomes_of([limited, broken])
    list(bench.start(make))
    assert isinstance(seen[0], OutOfMemory)
    assert seen[0].size_limit
    assert isinstance(seen[1], Lost)


def test_a_kill_from_outside_is_no_size_limit_unless_the_same_work_is_killed_again(bench: Bench):
    killed = work("killed", params={"batch": 64, "works_to": 40}, size_param="batch")
    make, seen = outcomes_of([killed, killed])
    list(bench.start(make))
    assert seen[0] == Lost(message="SIGKILL", killed=True)
    assert isinstance(seen[1], OutOfMemory)
    assert seen[1].size_limit


def test_a_crash_is_told_with_its_signal(bench: Bench):
    make, seen = outcomes_of([work("crash")])
    list(bench.start(make))
    assert seen[0] == Lost(message="SIGSEGV")


def test_together_runs_in_two_workers(bench: Bench):
    make, seen = outcomes_of([Together(label="pair", works=(work(), work()))])
    events = list(bench.start(make))
    assert [e.why for e in events if isinstance(e, WorkerExited)] == ["finished", "finished"]
    assert isinstance(seen[0], Done)
    assert len({t.notes["pid"] for t in seen[0].trials}) == 2


@pytest.mark.parametrize(("behaviour", "why"), [("busy", "cancelled"), ("deaf", "killed")])
def test_cancel_in_mid_trial_keeps_what_was_measured(bench: Bench, behaviour: str, why: str):
    if behaviour == "deaf":
        bench.arguments.append("deaf")
    point = Point(id="p", card=CARD.uuid, metric="m", workload="w", params={}, value=1.0, unit="1")

    def make() -> Plan:
        yield Report(points=(point,))
        yield work(behaviour)

    run = bench.start(make)
    events: list[Event] = []
    for event in run:
        events.append(event)
        if isinstance(event, StepStarted):
            run.cancel()
            run.cancel()
    assert finished(events).outcome is Outcome.CANCELLED
    assert finished(events).exit_code == ExitCode.INTERRUPTED
    assert any(isinstance(e, PointMeasured) for e in bench.stores[0].events)
    assert [e.why for e in events if isinstance(e, WorkerExited)] == [why]


def test_an_unusable_interpreter_ends_the_run_with_its_reason(bench: Bench):
    bench.arguments.append("--unusable")
    make, seen = outcomes_of([work()])
    events = list(bench.start(make))
    assert finished(events).error_code == "torch_missing"
    assert finished(events).exit_code == ExitCode.NO_CARD
    assert seen == []


def test_a_busy_card_is_refused_unless_shared(bench: Bench):
    other = ProcessOnCard(pid=4242, name="python", user="li", command="train.py", memory_bytes=2**30)
    bench.feed.users[CARD.uuid] = CardProcesses(card=CARD.uuid, t_ns=0, processes=(other,))
    make, _ = outcomes_of([work()])
    with pytest.raises(CardBusy) as refused:
        bench.start(make)
    assert "4242" in str(refused.value)
    assert bench.stores == []
    point = Point(id="p", card=CARD.uuid, metric="m", workload="w", params={}, value=1.0, unit="1")

    def reporting() -> Plan:
        yield Report(points=(point,))

    events = list(bench.start(reporting, share=True))
    assert [e.point.flags for e in events if isinstance(e, PointMeasured)] == [(Flag.SHARED,)]


def test_a_second_run_on_the_same_card_is_refused_while_the_first_runs(bench: Bench):
    make, _ = outcomes_of([work("busy")])
    first = bench.start(make)
    with pytest.raises(CardBusy) as refused:
        bench.start(make)
    assert refused.value.code == "running_elsewhere"
    first.cancel()
    list(first)
    second = bench.start(outcomes_of([work()])[0])
    assert finished(list(second)).outcome is Outcome.COMPLETED


def test_an_unknown_card_leaves_nothing_behind(bench: Bench):
    with pytest.raises(NoCard):
        bench.engine.start(Scripted(make=outcomes_of([])[0]), Options(cards=("GPU-nope",)))
    assert bench.stores == []


def test_heat_stops_the_run_and_says_so(bench: Bench):
    make, _ = outcomes_of([work("busy")])
    run = bench.start(make)
    hot = Sample(card=CARD.uuid, t_ns=1, values={Quantity.CORE_TEMPERATURE_C: 89.0})
    while not run.wait(0.02):
        bench.feed.push(Tick(t_ns=1, samples=(hot,)))
    events = list(run)
    assert finished(events).outcome is Outcome.STOPPED_FOR_SAFETY
    assert finished(events).error_code == "safety_core_hot"
    assert [e.why for e in events if isinstance(e, WorkerExited)] == ["cancelled"]


def test_silent_telemetry_stops_the_run(bench: Bench):
    make, _ = outcomes_of([work("busy")])
    events = list(bench.start(make))
    assert finished(events).error_code == "safety_telemetry_silent"


def test_a_failing_store_stops_the_run_but_not_its_end(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    def write(self: MemoryStore, event: Event) -> None:
        if isinstance(event, StepStarted):
            raise StoreError("store_full", "disk full")
        self.events.append(event)

    monkeypatch.setattr(MemoryStore, "write", write)
    make, seen = outcomes_of([work(), work()])
    events = list(bench.start(make))
    assert finished(events).outcome is Outcome.FAILED
    assert finished(events).error_code == "store_full"
    assert seen == []


def test_a_bug_in_a_plan_is_told_as_one(bench: Bench):
    def make() -> Plan:
        yield Total(steps=1, expected_s=1.0)
        raise ZeroDivisionError

    events = list(bench.start(make))
    assert finished(events).exit_code == ExitCode.BUG
    assert "ZeroDivisionError" in finished(events).error_text


def test_a_worker_killed_from_outside_is_lost_and_replaced(bench: Bench):
    seen: list[StepResult] = []

    def make() -> Plan:
        seen.append((yield work()))
        os.kill(pid_of(seen[0]), signal.SIGKILL)
        seen.append((yield work()))
        seen.append((yield work()))

    events = list(bench.start(make))
    assert isinstance(seen[1], (Lost, Done))
    assert isinstance(seen[2], Done)
    assert finished(events).outcome is Outcome.COMPLETED


def test_a_worker_that_dies_while_the_card_idles_is_lost_at_once(bench: Bench):
    """The idle pause before a cold burst: the death arrives while nobody waits for this worker."""
    make, seen = outcomes_of([work("dies_at_barrier", idle_before_s=0.5), work()])
    events = list(bench.start(make))
    assert isinstance(seen[0], Lost)
    assert isinstance(seen[1], Done)
    assert finished(events).outcome is Outcome.COMPLETED


def test_a_death_during_settling_is_not_forgotten(bench: Bench):
    pids: list[int] = []

    def make() -> Plan:
        pids.append(pid_of((yield work())))
        os.kill(pids[0], signal.SIGKILL)
        yield Settle(label="settle", at_most_s=0.5)

    events = list(bench.start(make))
    assert finished(events).outcome is Outcome.COMPLETED
    assert len([e for e in events if isinstance(e, WorkerExited)]) == 1


@pytest.mark.parametrize("order", [("oom_while_arming", "ok"), ("ok", "oom_while_arming")])
def test_out_of_memory_of_one_of_two_is_told_as_such(bench: Bench, order: tuple[str, str]):
    make, seen = outcomes_of([Together(label="pair", works=tuple(work(how) for how in order)), work()])
    list(bench.start(make))
    assert isinstance(seen[0], OutOfMemory)
    assert isinstance(seen[1], Done)


def test_two_at_once_share_the_memory_cap():
    """Each of two trials on a shared card may take half of what may be taken."""
    from gputuner.engine.workers import Workers

    workers = Workers(None, None, CARD, 10 * 2**30, lambda *_, **__: None)  # pyright: ignore[reportArgumentType]
    assert workers.cap_bytes(1) == 10 * 2**30
    assert workers.cap_bytes(2) == 5 * 2**30
