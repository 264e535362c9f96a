"""How a run of benchmarks ends where some or all give no figure, and that a dead worker is tried once more."""

from functools import partial

import pytest

from gputuner.experiments.bench import Bench
from gputuner.experiments.benchmarks import catalogue
from gputuner.experiments.benchmarks.benchmark import Benchmark, Unavailable
from gputuner.experiments.benchmarks.failed import failed
from gputuner.experiments.benchmarks.outcome import Failure, failure_of, gravest
from gputuner.experiments.benchmarks.recording import rate
from gputuner.model.errors import ExitCode, GputunerError
from gputuner.model.steps import Cancelled, Done, Lost, OutOfMemory, Trial, UserCodeFailed, Warn, Work

TIMES = tuple(0.01 * (1.0 + 1e-4 * (i % 7)) for i in range(60))
DEAD = Lost(message="exit code -9")
HUNG = Lost(message="no answer within the trial's time", hung=True)
FULL = OutOfMemory(message="CUDA out of memory")
WRONG = UserCodeFailed(message="off by 3", traceback="", reason="wrong_result")
BROKEN = UserCodeFailed(message="DataLoader worker exited", traceback="")
CANNOT = UserCodeFailed(message="no such kernel", traceback="", reason="unsupported")


def one(name, course, effort):
    work = Work(label="bench_matmul", workload=name, params={"n": 8}, measure_s=1.0, budget_s=4.0)
    result = yield from course.attempt(work, 1.0)
    if not isinstance(result, Done):
        yield from failed(course, name, result)
        return
    params = {"precision": "bf16", "phase": "steady"}
    yield from course.tell(rate(course, name, "matmul_rate", "FLOP/s", "flop", result.trials[0], None, params))


@pytest.fixture
def suite(monkeypatch):
    def put(*names, **how):
        entries = [
            Benchmark(
                name=name, group=name, unit="FLOP/s", default_s=10.0, full_s=10.0, cpu_s=1.0, run=partial(one, name),
                **how,
            )
            for name in names
        ]  # fmt: skip
        monkeypatch.setattr(catalogue, "BENCHMARKS", tuple(entries))

    return put


def perform(plan, answers):
    """Runs a plan; ``answers``: workload → outcomes in turn, the last of them for ever. Works and warnings told."""
    works, warned, result = [], [], None
    while True:
        try:
            step = next(plan) if result is None else plan.send(result)
        except StopIteration:
            return works, warned
        result = Done()
        if isinstance(step, Warn):
            warned.append((step.code, step.params.get("benchmark")))
        if isinstance(step, Work):
            works.append(step)
            told = answers.get(step.workload, [])
            trial = Trial(iteration_s=TIMES, t0_ns=10**9, t1_ns=2 * 10**9, work={"flop": 1e12})
            result = (told.pop(0) if len(told) > 1 else told[0]) if told else Done(trials=(trial,))


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (FULL, ExitCode.DOES_NOT_FIT),
        (DEAD, ExitCode.DEVICE),
        (HUNG, ExitCode.DEVICE),
        (BROKEN, ExitCode.DEVICE),
        (WRONG, ExitCode.CHECK_FAILED),
        (CANNOT, ExitCode.NO_CARD),
    ],
)
def test_where_none_gives_a_figure_the_run_fails_with_the_code_that_fits(lab, suite, outcome, code):
    suite("a")
    with pytest.raises(GputunerError) as caught:
        perform(Bench().plan(lab.context_of(lab.h200(), minutes=60.0)), {"a": [outcome]})
    assert caught.value.exit_code is code
    assert (caught.value.code, caught.value.params["benchmark"]) == ("benchmarks_failed", "a")


def test_one_figure_is_enough_and_the_others_are_told(lab, suite):
    suite("a", "b")
    _works, warned = perform(Bench().plan(lab.context_of(lab.h200(), minutes=60.0)), {"a": [FULL]})
    assert ("benchmark_failed", "a") in warned


def test_the_gravest_failure_speaks_for_all():
    said = [Failure(benchmark=name, reason=name) for name in ("unsupported", "out_of_memory", "lost", "wrong_result")]
    assert gravest(said).reason == "lost"
    assert gravest(said[:2]).reason == "out_of_memory"
    assert gravest([]) is None


@pytest.mark.parametrize(
    ("code", "reason", "grave"),
    [
        ("benchmark_failed", "out_of_memory", True),
        ("benchmark_gap", "wrong_result", True),
        ("benchmark_failed", "lost", True),
        ("benchmark_gap", "out_of_time", False),
        ("benchmark_unavailable", "gpu_only", False),
    ],
)
def test_only_what_went_wrong_is_grave(code, reason, grave):
    failure = failure_of(code, {"benchmark": "a", "reason": reason})
    assert failure is not None
    assert failure.grave is grave


def test_what_is_left_out_for_lack_of_time_is_not_grave():
    assert failure_of("benchmark_skipped", {"benchmark": "a", "needed_s": 9.0, "left_s": 1.0}).grave is False
    assert failure_of("worker_lost", {"label": "bench_matmul"}) is None


def test_a_dead_worker_is_tried_once_more_in_a_fresh_process(lab, suite):
    suite("a")
    fine = Done(trials=(Trial(iteration_s=TIMES, t0_ns=10**9, t1_ns=2 * 10**9, work={"flop": 1e12}),))
    works, warned = perform(Bench().plan(lab.context_of(lab.h200(), minutes=60.0)), {"a": [DEAD, fine]})
    assert [work.fresh for work in works] == [False, True]
    assert [code for code, _benchmark in warned] == ["worker_lost"]


def test_one_that_hangs_is_not_tried_again(lab, suite):
    suite("a", "b")
    works, _warned = perform(Bench().plan(lab.context_of(lab.h200(), minutes=60.0)), {"a": [HUNG]})
    assert [work.workload for work in works] == ["a", "b"]


def test_workers_that_die_one_after_the_other_end_the_run_as_failed(lab, suite):
    suite("a", "b", "c", "d", "e")
    dead = {name: [DEAD] for name in "bcde"}
    with pytest.raises(GputunerError) as caught:
        perform(Bench().plan(lab.context_of(lab.h200(), minutes=60.0)), dead)
    assert (caught.value.code, caught.value.exit_code) == ("benchmarks_lost", ExitCode.DEVICE)


def test_a_run_that_is_ended_from_outside_raises_nothing(lab, suite):
    suite("a")
    works, _warned = perform(Bench().plan(lab.context_of(lab.h200(), minutes=60.0)), {"a": [Cancelled()]})
    assert len(works) == 1


def test_nothing_that_can_run_here_is_no_card(lab, suite):
    suite("a", unavailable=lambda _: Unavailable(code="one_card"))
    with pytest.raises(GputunerError) as caught:
        perform(Bench().plan(lab.context_of(lab.h200(), minutes=60.0)), {})
    assert caught.value.exit_code is ExitCode.NO_CARD
