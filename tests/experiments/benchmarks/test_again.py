"""What a null check repeats, and that a repeat is built as its headline was."""

import pytest

from gputuner.experiments.bench import Bench
from gputuner.experiments.benchmarks import catalogue
from gputuner.experiments.benchmarks.benchmark import Benchmark
from gputuner.experiments.benchmarks.launch import launch
from gputuner.experiments.benchmarks.recording import rate
from gputuner.experiments.benchmarks.surveyed import surveyed
from gputuner.model.points import Conditions
from gputuner.model.steps import Done, Part, Report, Trial, Work

WORK = Work(label="bench_x", workload="w", params={}, measure_s=1.0, budget_s=9.0)
SECONDS = {"enqueue": 3.4e-4, "graph": 1.3e-4}
"""Of a row of 100 launches."""


def part(params, seconds, work):
    return Part(params=params, iteration_s=(seconds,) * 40, t0_ns=0, t1_ns=10**9, work=work)


def answers(parts):
    def perform(plan):
        points, works, result = [], [], None
        while True:
            try:
                step = next(plan) if result is None else plan.send(result)
            except StopIteration:
                return points, works
            result = Done()
            if isinstance(step, Report):
                points += step.points
            if isinstance(step, Work):
                works.append(step)
                trial = Trial(iteration_s=(), t0_ns=0, t1_ns=10**9, work={}, parts=parts)
                seen = Conditions(duration_s=1.0, samples=5)
                result = Done(trials=(trial,), conditions=seen, part_conditions=(seen,) * len(parts))

    return perform


def repeats_of(lab, monkeypatch, run, parts):
    entry = Benchmark(name="launch", group="launch", unit="s", default_s=9.0, full_s=9.0, cpu_s=1.0, run=run)
    monkeypatch.setattr(catalogue, "BENCHMARKS", (entry,))
    points, _works = answers(parts)(Bench(null=True).plan(lab.context_of(lab.h200(), minutes=60.0)))
    return points, [p for p in points if "null" in p.params]


def test_the_repeat_of_a_time_is_a_time(lab, monkeypatch):
    """Seconds per launch, as the headline; work over time would be 769 231 launches/s."""
    parts = tuple(part({"mode": mode}, seconds, {"calls": 100.0}) for mode, seconds in SECONDS.items())
    points, again = repeats_of(lab, monkeypatch, launch, parts)
    headline = next(p for p in points if p.metric == "graph_launch_time")
    assert headline.value == pytest.approx(1.3e-6)
    assert [(p.metric, p.unit, p.params["mode"]) for p in again] == [("graph_launch_time", "s", "graph")] * 4
    assert [p.value for p in again] == [pytest.approx(1.3e-6)] * 4
    assert all(p.value * p.extra["calls"] == pytest.approx(p.extra["seconds"]) for p in again)
    assert next(p for p in points if p.metric == "null_difference").extra["pairs"] == 6


def told_of(name, index):
    """A benchmark whose last figure is of the setting at ``index``, told without what sets it apart."""

    def run(course, _effort):
        found = yield from surveyed(course, "launch", WORK)
        chosen, seen = found[index]
        yield from course.tell(rate(course, "launch", name, "tokens/s", "tokens", chosen, seen, {"batch": 1}))

    return run


@pytest.mark.parametrize(("index", "value"), [(0, 4000.0), (1, 50.0)])
def test_of_settings_with_like_parameters_the_one_that_gave_the_figure(lab, monkeypatch, index, value):
    parts = (
        part({"stage": "prefill", "batch": 1}, 0.5, {"tokens": 2000.0}),
        part({"stage": "decode", "batch": 1}, 0.02, {"tokens": 1.0}),
    )
    _points, again = repeats_of(lab, monkeypatch, told_of("decode_rate", index), parts)
    assert [p.value for p in again] == [pytest.approx(value)] * 4


def test_what_was_made_otherwise_is_not_repeated(lab, monkeypatch):
    def run(course, _effort):
        yield from surveyed(course, "launch", WORK)
        extra = {"benchmark": "launch", "calls": 100.0, "seconds": 1.0}
        yield from course.tell(course.make.figure("gain", "launch", 2.0, "", {}, extra=extra))

    _points, again = repeats_of(lab, monkeypatch, run, (part({}, 1.0, {"calls": 100.0}),))
    assert again == []
