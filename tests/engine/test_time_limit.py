"""How long a run may take: far longer than expected where it is limited, as long as it takes where it is not."""

from collections.abc import Callable, Mapping, Sequence

from gputuner.model.events import Outcome, RunFinished, StepFinished, StepStarted
from gputuner.model.steps import Done, Plan, StepResult, Total, Work
from gputuner.workloads.simulated import SimulatedWorker
from tests.engine.rig import Scripted, Simulated

Start = Callable[..., Simulated]
PRODUCTS = 4
"""100 s each; the experiment expects 60 s, and a limited one ends after 1.5 · 60 + 120 = 210 s."""


def product(seconds: float = 100.0, budget_s: float = 200.0) -> Work:
    params = {"precision": "bf16", "n": 8192}
    return Work(label="matmul", workload="matmul", params=params, measure_s=seconds, budget_s=budget_s)


def plan_of(works: Sequence[Work], seen: list[StepResult], total_s: float = 60.0) -> Callable[[], Plan]:
    def make() -> Plan:
        yield Total(steps=len(works), expected_s=total_s)
        for work in works:
            seen.append((yield work))  # noqa: PERF401  a comprehension cannot yield

    return make


def last_of(events: Sequence[object]) -> RunFinished:
    last = events[-1]
    assert isinstance(last, RunFinished)
    return last


def test_a_limited_run_is_ended_when_it_takes_far_longer_than_expected(simulated: Start):
    seen: list[StepResult] = []
    events = simulated().run(Scripted(make=plan_of([product()] * PRODUCTS, seen)))
    assert last_of(events).outcome is Outcome.TIMED_OUT
    assert last_of(events).error_code == "timed_out"
    assert len(seen) == 2
    started_s, ended_s = (event.t_ns / 1e9 for event in (events[0], events[-1]))
    assert 210.0 <= ended_s - started_s <= 240.0


def test_a_run_without_a_limit_loses_nothing_to_a_wrong_estimate(simulated: Start):
    seen: list[StepResult] = []
    events = simulated().run(Scripted(make=plan_of([product()] * PRODUCTS, seen), bounded=False))
    assert last_of(events).outcome is Outcome.COMPLETED
    assert [type(result) for result in seen] == [Done] * PRODUCTS


class Silent(SimulatedWorker):
    """Hangs: it arms, and never answers."""

    def step(self, until_ns: int) -> Sequence[tuple[int, Mapping[str, object]]]:
        return [(t_ns, message) for t_ns, message in super().step(until_ns) if message["kind"] != "result"]


def test_a_worker_that_hangs_is_ended_without_a_limit_too(simulated: Start):
    found = simulated()
    found.worker = Silent
    seen: list[StepResult] = []
    events = found.run(Scripted(make=plan_of([product(5.0, 10.0)], seen), bounded=False))
    assert [event.result for event in events if isinstance(event, StepFinished)] == ["lost"]
    assert getattr(seen[0], "hung", False)
    assert last_of(events).outcome is Outcome.COMPLETED


def test_the_time_left_is_never_less_than_that_of_the_step_in_hand(simulated: Start):
    events = simulated().run(Scripted(make=plan_of([product()] * 3, [], total_s=150.0), bounded=False))
    left = [event.remaining_s for event in events if isinstance(event, StepStarted)]
    assert left[0] == 150.0
    assert left[1:] == [100.0, 100.0]
