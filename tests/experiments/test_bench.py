"""The plan of ``bench``: what runs, what is left out and why, budgets, progress, the null check, rules at the end."""

from dataclasses import replace
from functools import partial

import pytest

from gputuner.experiments.bench import Bench
from gputuner.experiments.benchmarks import catalogue
from gputuner.experiments.benchmarks.benchmark import Benchmark, Machine, Unavailable, gpu_only
from gputuner.experiments.benchmarks.recording import rate
from gputuner.model.cards import CardInfo
from gputuner.model.errors import UsageError
from gputuner.model.points import Conditions
from gputuner.model.steps import Cancelled, Done, Part, Report, Total, Trial, Warn, Work

FLOP = 1e12


def one(name, cost, course, effort, phase="steady", precision="bf16", survey=False):
    seconds = effort.seconds(cost)
    work = Work(label="bench_matmul", workload=name, params={"n": 8}, measure_s=seconds, budget_s=4 * seconds)
    result = yield from course.attempt(work, seconds)
    if not isinstance(result, Done):
        return
    measured = result.trials[0].parts[1] if survey else result.trials[0]
    params = {"precision": precision, "phase": phase, **(measured.params if survey else {})}
    yield from course.tell(rate(course, name, "matmul_rate", "FLOP/s", "flop", measured, result.conditions, params))


def entry(name, cost=10.0, unavailable=None, default=True, **how):
    plain = Benchmark(
        name=name, group=name.partition("-")[0], unit="FLOP/s", default_s=cost if default else 0.0, full_s=3 * cost,
        cpu_s=1.0, run=partial(one, name, cost, **how),
    )  # fmt: skip
    return replace(plain, unavailable=unavailable) if unavailable else plain


@pytest.fixture
def suite(monkeypatch):
    """Puts a suite in place of the real one."""

    def put(*entries):
        monkeypatch.setattr(catalogue, "BENCHMARKS", tuple(entries))

    put(entry("gemm-a"), entry("gemm-b"), entry("other"))
    return put


class Answers:
    """Performs a plan; rates by workload, in FLOP/s; each work takes as long as it asks."""

    def __init__(self, rates=None, drift=0.0, slowness=1.0):
        self.rates, self.drift, self.slowness = rates or {}, drift, slowness
        self.now_ns, self.works, self.points, self.warned, self.totals = 10**9, [], [], [], []
        self.stop_after = None

    def perform(self, plan):
        result = None
        while True:
            try:
                step = next(plan) if result is None else plan.send(result)
            except StopIteration:
                return self
            match step:
                case Report(points=points):
                    self.points += points
                case Warn():
                    self.warned.append(step)
                case Total():
                    self.totals.append(step)
                case _:
                    pass
            result = self.work(step) if isinstance(step, Work) else Done()

    def work(self, step):
        if self.stop_after is not None and len(self.works) >= self.stop_after:
            return Cancelled()
        self.works.append(step)
        start = self.now_ns
        self.now_ns += int(self.slowness * step.measure_s * 1e9)
        level = self.rates.get(step.workload, 100e12) * (1.0 + self.drift * (len(self.works) % 2))
        times = tuple(FLOP / level * (1.0 + 1e-5 * (i % 7)) for i in range(60))
        parts = tuple(
            Part(params={"m": m}, iteration_s=times, t0_ns=start, t1_ns=self.now_ns, work={"flop": FLOP})
            for m in (1, 2)
        )
        survey = step.workload.startswith("survey")
        trial = Trial(
            iteration_s=() if survey else times, t0_ns=start, t1_ns=self.now_ns, work={"flop": FLOP},
            parts=parts if survey else (),
        )  # fmt: skip
        conditions = Conditions(duration_s=step.measure_s, samples=9, gpu_utilisation=1.0)
        return Done(trials=(trial,), conditions=conditions)


def context_of(lab, minutes=60.0, cpu=False):
    return lab.context_of(lab.h200(), minutes=minutes, cpu=cpu)


def perform(lab, spec, answers=None, **how):
    return (answers or Answers()).perform(spec.plan(context_of(lab, spec.minutes or 60.0, **how)))


def test_all_of_the_default_suite_run_in_order(lab, suite):
    told = perform(lab, Bench())
    assert [work.workload for work in told.works] == ["gemm-a", "gemm-b", "other"]
    assert all(point.extra["held_back"] for point in told.points)


def test_names_and_groups_choose(lab, suite):
    assert [b.name for b in Bench(names=("gemm",)).benchmarks()] == ["gemm-a", "gemm-b"]
    assert [b.name for b in Bench(names=("OTHER", "gemm-a")).benchmarks()] == ["gemm-a", "other"]


def test_an_unknown_name_is_refused_with_its_neighbours(suite):
    with pytest.raises(UsageError) as caught:
        Bench(names=("gemm-c",))
    assert caught.value.code == "unknown_benchmark"
    assert "gemm-a" in str(caught.value.params["nearest"])


def test_all_unknown_names_are_told_and_only_what_resembles_them():
    with pytest.raises(UsageError) as caught:
        Bench(names=("nope", "memroy", "gemm"))
    assert caught.value.params["benchmark"] == "nope, memroy"
    assert "memory" in str(caught.value.params["nearest"]).split(", ")
    assert "pcie" not in str(caught.value.params["nearest"])


def test_links_are_all_copies_and_the_all_reduce():
    assert [b.name for b in Bench(names=("links",)).benchmarks()] == ["pcie", "p2p", "allreduce"]


@pytest.mark.parametrize("minutes", [0.0, -1.0, 1e6, float("nan")])
def test_impossible_budgets_are_refused(suite, minutes):
    with pytest.raises(UsageError):
        Bench(minutes=minutes)


def test_what_only_full_has_is_left_out_unless_named(suite):
    suite(entry("gemm-a"), entry("rare", default=False))
    assert [b.name for b in Bench().benchmarks()] == ["gemm-a"]
    assert [b.name for b in Bench(full=True).benchmarks()] == ["gemm-a", "rare"]
    assert [b.name for b in Bench(names=("rare",)).benchmarks()] == ["rare"]


def test_what_cannot_run_is_told_with_the_reason(lab, suite):
    suite(entry("gemm-a"), entry("gemm-b", unavailable=gpu_only))
    told = perform(lab, Bench(), cpu=True)
    assert [work.workload for work in told.works] == ["gemm-a"]
    assert [(w.code, w.params) for w in told.warned] == [
        ("benchmark_unavailable", {"benchmark": "gemm-b", "reason": "gpu_only"})
    ]


def test_the_estimate_counts_only_what_can_run(suite):
    suite(entry("gemm-a"), entry("gemm-b", unavailable=lambda _: Unavailable(code="gpu_only")))
    machine = Machine(card=CardInfo(uuid="GPU-1", index=0, name="card"))
    spec = Bench()
    assert spec.expected_s() - spec.estimate_s(machine) == pytest.approx(10.0)


def test_without_a_budget_a_wrong_guess_cuts_nothing_short(lab, suite):
    """The suite takes far longer than expected; every trial keeps its own time."""
    suite(*(entry(f"gemm-{i}", cost=200.0) for i in range(3)))
    told = Answers().perform(Bench().plan(context_of(lab, minutes=1.0)))
    assert [work.measure_s for work in told.works] == [200.0] * 3
    assert all(work.budget_s == 800.0 for work in told.works)
    assert not [w for w in told.warned if w.code == "benchmark_skipped"]


def test_a_budget_shortens_each_and_is_kept(lab, suite):
    suite(*(entry(f"gemm-{i}", cost=60.0) for i in range(6)))
    told = perform(lab, Bench(minutes=2.0))
    assert len(told.works) == 6
    assert max(work.measure_s for work in told.works) < 22.0
    assert sum(work.measure_s for work in told.works) < 120.0


def test_a_tiny_budget_drops_the_last_and_says_so(lab, suite):
    suite(*(entry(f"gemm-{i}", cost=400.0) for i in range(6)))
    told = perform(lab, Bench(minutes=2.0))
    dropped = [w for w in told.warned if w.code == "benchmark_skipped"]
    assert dropped
    assert len(told.works) + len(dropped) == 6
    assert all(w.params["needed_s"] > w.params["left_s"] for w in dropped)


def test_progress_tells_what_is_left_before_each(lab, suite):
    told = perform(lab, Bench())
    assert [total.expected_s for total in told.totals] == [30.0, 20.0, 10.0]
    assert [total.steps for total in told.totals] == [9, 2, 1]


def test_what_is_shortened_alike_leaves_the_last_in(lab, suite):
    """Worked through in order the first would have had the whole budget."""
    suite(*(entry(f"gemm-{i}", cost=100.0) for i in range(3)), *(entry(f"m{i}", cost=100.0) for i in range(5)))
    told = perform(lab, Bench(minutes=2.0))
    assert {f"m{i}" for i in range(5)} <= {work.workload for work in told.works}
    assert [w.params["benchmark"] for w in told.warned if w.code == "benchmark_skipped"] == ["gemm-2"]


def test_the_time_left_of_a_null_check_counts_its_repeats_from_the_start(lab, suite):
    suite(entry("gemm-a", cost=30.0), entry("gemm-b", cost=12.0))
    told = perform(lab, Bench(null=True))
    left = [total.expected_s for total in told.totals]
    assert left[0] == pytest.approx(42.0 + 2 * 4 * 12.0)
    assert left[1] == pytest.approx(12.0 + 4 * 12.0 + 4 * 30.0 + 2 * 4.0)
    assert left[2] == pytest.approx(4 * (30.0 + 12.0) + 4 * 4.0)
    assert left[1:] == sorted(left[1:], reverse=True)
    assert left[-1] == pytest.approx(12.0 + 4.0)
    assert [total.steps for total in told.totals[2:]] == [8, 7, 6, 5, 4, 3, 2, 1]
    assert [total.known for total in told.totals] == [False] * 2 + [True] * 8


def test_a_slow_card_makes_the_time_left_longer(lab, suite):
    """Ten minutes were expected of the first and twenty passed: of the rest nearly twice as long is told."""
    suite(*(entry(f"gemm-{i}", cost=600.0) for i in range(3)))
    slow = Answers(slowness=2.0)
    told = perform(lab, Bench(), slow)
    assert told.totals[0].expected_s == 1800.0
    assert told.totals[1].expected_s == pytest.approx(1200.0 * (1200 + 60) / (600 + 60))
    assert told.totals[2].expected_s == pytest.approx(600.0 * (2400 + 60) / (1200 + 60))


def test_one_that_fails_at_once_does_not_make_it_shorter(lab, suite):
    suite(*(entry(f"gemm-{i}", cost=600.0) for i in range(2)))
    told = perform(lab, Bench(), Answers(slowness=0.01))
    assert [total.expected_s for total in told.totals] == [1200.0, 600.0]


@pytest.mark.parametrize(
    ("spec", "limited"),
    [({}, True), ({"full": True}, False), ({"full": True, "null": True}, False), ({"full": True, "minutes": 5}, True)],
)
def test_only_a_full_suite_without_a_budget_has_no_limit(suite, spec, limited):
    assert Bench(**spec).limited() is limited


def test_a_cancel_ends_without_further_words(lab, suite):
    answers = Answers()
    answers.stop_after = 1
    told = perform(lab, Bench(), answers)
    assert len(told.works) == 1
    assert told.warned == []


def test_rules_that_the_figures_break_are_told_at_the_end(lab, suite):
    suite(entry("gemm-tf32", precision="tf32"), entry("gemm-fp32", precision="fp32"))
    told = perform(lab, Bench(), Answers({"gemm-tf32": 30e12, "gemm-fp32": 50e12}))
    assert [w.code for w in told.warned] == ["sanity_below"]
    assert "tf32_below_fp32" in [flag.value for flag in told.points[-1].flags]


def test_the_null_check_repeats_each_headline_in_turn(lab, suite):
    suite(entry("gemm-a"), entry("gemm-b"))
    told = perform(lab, Bench(null=True))
    assert [work.workload for work in told.works] == ["gemm-a", "gemm-b"] + ["gemm-a", "gemm-b"] * 4
    assert [p.params["null"] for p in told.points if "null" in p.params] == [1, 1, 2, 2, 3, 3, 4, 4]
    checks = {p.extra["benchmark"]: p for p in told.points if p.metric == "null_difference"}
    assert set(checks) == {"gemm-a", "gemm-b", "all"}
    assert checks["all"].extra["pairs"] == 12
    assert checks["all"].extra["false_difference_rate"] == 0.0
    assert checks["all"].value == pytest.approx(0.0, abs=1e-9)


def test_a_machine_that_wavers_shows_false_differences(lab, suite):
    """Every second work is 0.5 % faster: of six pairs four differ, beyond their intervals, below the guard's 2 %."""
    suite(entry("gemm-a"))
    told = perform(lab, Bench(null=True), Answers(drift=0.005))
    check = next(p for p in told.points if p.extra.get("benchmark") == "all")
    assert check.extra["false_difference_rate"] == pytest.approx(4 / 6)
    assert check.extra["guard_rate"] == 0.0
    assert check.extra["largest"] == pytest.approx(0.005, rel=0.02)


def test_of_a_survey_the_same_setting_is_repeated(lab, suite):
    suite(entry("survey-a", survey=True))
    told = perform(lab, Bench(null=True))
    repeats = [p for p in told.points if "null" in p.params]
    assert [p.params["m"] for p in repeats] == [2, 2, 2, 2]
    assert next(p for p in told.points if p.metric == "null_difference").extra["pairs"] == 6


def test_every_second_round_has_fresh_processes(lab, suite):
    suite(entry("gemm-a"), entry("gemm-b"))
    told = perform(lab, Bench(null=True))
    assert [work.fresh for work in told.works[2:]] == [False, False, True, True] * 2


def test_nothing_measured_twice_is_told(lab, suite):
    suite(entry("gemm-a", phase="search"))
    told = perform(lab, Bench(null=True))
    assert [w.code for w in told.warned] == ["null_nothing"]
