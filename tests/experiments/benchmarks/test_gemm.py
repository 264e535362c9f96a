"""The matrix benchmarks: what is asked of the card, what is told, and where they are not available."""

from dataclasses import replace

import pytest

from gputuner.experiments.bench import Bench
from gputuner.experiments.benchmarks.benchmark import Effort, Machine
from gputuner.experiments.benchmarks.gemm import BENCHMARKS_GEMM, cut
from gputuner.experiments.course import Course
from gputuner.model.cards import CPU_CARD, CardInfo, CatalogMatch, Support
from gputuner.model.points import Conditions, Flag
from gputuner.model.steps import Done, OutOfMemory, Part, Report, Trial, UserCodeFailed, Warn, Work
from gputuner.workloads.specs_matmul import ProductSpec

BY_NAME = {benchmark.name: benchmark for benchmark in BENCHMARKS_GEMM}
RATE = 100e12
BEST = {"m": 5120, "n": 9472, "k": 13312, "transposed": True}


def _card(capability="9.0", **features):
    native = {"bf16": Support.NATIVE, "tf32": Support.NATIVE, "fp16_tensor": Support.NATIVE, **features}
    match = CatalogMatch(catalog_id="x", name="x", features=native) if features is not None else None
    return CardInfo(uuid="GPU-1", index=0, name="x", compute_capability=capability, catalog=match)


def _part(params, rate=RATE, **notes):
    flop = 2.0 * params["m"] * params["n"] * params["k"]
    return Part(
        params=dict(params), iteration_s=(flop / rate,) * 30, t0_ns=0, t1_ns=10**9, work={"flop": flop}, notes=notes
    )


def _answer(work):
    if work.workload == "matmul_search":
        slower = {**BEST, "m": 4096, "n": 4096}
        return Done(
            trials=(Trial(iteration_s=(), t0_ns=0, t1_ns=10**9, parts=(_part(BEST), _part(slower, 0.9 * RATE))),),
            conditions=Conditions(duration_s=1.0, samples=4),
            part_conditions=(Conditions(duration_s=1.0, samples=4),) * 2,
        )
    if work.workload == "matmul_bursts":
        part = replace(_part(work.params), params={"phase": "bursts"}, relative_error=1e-3)
        return Done(
            trials=(Trial(iteration_s=(), t0_ns=0, t1_ns=10**9, parts=(part,)),),
            conditions=Conditions(duration_s=2.5, samples=4),
            part_conditions=(Conditions(duration_s=2.0, samples=4),),
        )
    flop = 2.0 * work.params["m"] * work.params["n"] * work.params["k"]
    trial = Trial(iteration_s=(flop / RATE,) * 40, t0_ns=0, t1_ns=10**9, work={"flop": flop}, relative_error=1e-3)
    return Done(trials=(trial,), conditions=Conditions(duration_s=1.0, samples=4))


def _played(context, name, answer=_answer, effort=None):
    course = Course(context, 0.0)
    plan = BY_NAME[name].run(course, effort or Effort())
    works, warned = [], []
    result = None
    while True:
        try:
            step = next(plan) if result is None else plan.send(result)
        except StopIteration:
            return works, course.points, warned
        result = Done()
        if isinstance(step, Work):
            works.append(step)
            result = answer(step)
        elif isinstance(step, Warn):
            warned.append(step)
        else:
            assert isinstance(step, Report)


@pytest.fixture
def plan_context(lab):
    def make(card, free_bytes=100 << 30):
        return replace(lab.context_of(lab.h200()), card=card, budget_s=1e6, free_bytes=free_bytes)

    return make


@pytest.fixture
def context(plan_context):
    return plan_context(_card())


def test_the_winner_of_the_search_is_measured_in_bursts_cold_and_sustained(context):
    works, points, _ = _played(context, "gemm-bf16")
    assert [w.workload for w in works] == ["matmul_search", "matmul_bursts", "matmul", "matmul"]
    assert {k: works[3].params[k] for k in BEST} == BEST
    assert works[2].idle_before_s >= 10.0
    assert works[2].warmup_s == 0.0
    assert _seconds(works[2]) <= 0.002
    assert _seconds(works[1]) <= 0.0115
    assert works[3].measure_s >= 30.0
    assert [p.params["phase"] for p in points] == ["search", "bursts", "burst", "sustained"]


def _seconds(work):
    return 2.0 * work.params["m"] * work.params["n"] * work.params["k"] / RATE


def test_the_main_format_is_searched_under_load_and_the_others_before_the_cap(context):
    assert "bursts" not in _played(context, "gemm-bf16")[0][0].params
    assert _played(context, "gemm-fp16")[0][0].params["bursts"] is True


def test_a_small_budget_has_no_room_for_a_cold_start_and_a_sustained_load(context):
    _, points, _ = _played(context, "gemm-bf16", effort=Effort(share=0.3))
    assert [p.params["phase"] for p in points] == ["search", "bursts"]


def test_a_product_that_fits_a_burst_is_measured_at_its_own_shape(context):
    fast = ProductSpec(precision="bf16", m=14848, n=14848, k=16384)
    assert cut(fast, 800e12, 0.011) == fast
    slow = cut(fast, 100e12, 0.011)
    assert (slow.m, slow.n, slow.k) == (8192, 8192, 8192)  # 11.0 ms


def test_a_product_too_long_for_a_burst_is_told_as_steady(context):
    def answer(work):
        done = _answer(work)
        if work.workload != "matmul_bursts":
            return done
        part = replace(done.trials[0].parts[0], params={})
        return replace(done, trials=(replace(done.trials[0], parts=(part,)),))

    _, points, _ = _played(context, "gemm-fp64", answer)
    assert [p.params["phase"] for p in points] == ["search", "steady"]


@pytest.mark.parametrize("name", ["gemm-bf16", "gemm-fp8", "gemm-sparse", "gemm-fp32"])
def test_value_times_seconds_is_the_operations_counted(context, name):
    _, points, _ = _played(context, name)
    for point in points:
        m, n, k = (point.params[side] for side in "mnk")
        assert point.extra["operations"] == 2.0 * m * n * k
        assert point.value * point.extra["seconds"] == pytest.approx(point.extra["operations"])
        assert point.extra["correct"] is True


def test_fp8_is_measured_with_both_accumulations(context):
    works, points, _ = _played(context, "gemm-fp8")
    assert [w.params.get("fast_accumulate", False) for w in works] == [False, False, True, True]
    assert [p.params.get("fast_accumulate", False) for p in points] == [False, False, True, True]


def test_sparse_is_measured_with_and_without_compression_and_counted_as_dense(context):
    works, points, _ = _played(context, "gemm-sparse")
    assert [(w.params["precision"], w.params["setup_counted"]) for w in works] == [
        ("fp16", False), ("fp16", True), ("int8", False), ("int8", True),
    ]  # fmt: skip
    assert all(p.extra["operations"] == 2.0 * 8192**3 for p in points)


def test_a_wrong_result_is_told_and_no_figure(context):
    wrong = UserCodeFailed(message="the product differs from float64", traceback="", reason="wrong_result")
    _, points, warned = _played(context, "gemm-tf32", lambda _: wrong)
    assert points == []
    assert [(w.code, w.params["reason"]) for w in warned] == [("benchmark_failed", "wrong_result")]


def test_a_search_that_does_not_fit_is_told(context):
    _, points, warned = _played(context, "gemm-fp16", lambda _: OutOfMemory(message="CUDA out of memory"))
    assert points == []
    assert warned[0].params["reason"] == "out_of_memory"


def test_the_search_leaves_half_of_the_memory_free(plan_context):
    works, _, _ = _played(plan_context(_card(), free_bytes=2 << 30), "gemm-fp32")
    top = works[0].params["top"]
    assert 3 * 4 * top * top <= 1 << 30
    assert 3 * 4 * (2 * top) ** 2 > 1 << 30


def test_bf16_on_turing_is_marked_and_short(plan_context):
    turing = _card("7.5", bf16=Support.EMULATED, tf32=Support.ABSENT)

    def emulated(work):
        answer = _answer(work)
        part = _part(BEST, emulated=True)
        trial = answer.trials[0]
        return replace(answer, trials=(replace(trial, notes={"emulated": True}, parts=(part,) if trial.parts else ()),))

    works, points, _ = _played(plan_context(turing), "gemm-bf16", emulated)
    assert works[0].measure_s <= 3.0
    assert [w.workload for w in works] == ["matmul_search", "matmul_bursts"]  # FP16 is its main format
    assert all(Flag.EMULATED in p.flags for p in points)


@pytest.mark.parametrize(
    ("name", "capability", "code"),
    [
        ("gemm-fp8", "8.6", "chip_lacks"),
        ("gemm-fp8", "8.9", None),
        ("gemm-tf32", "7.5", "chip_lacks"),
        ("gemm-int8", "7.0", "chip_lacks"),
        ("gemm-int8", "7.5", None),
        ("gemm-sparse", "7.5", "chip_lacks"),
        ("gemm-fp16-acc16", "6.1", "chip_lacks"),
        ("gemm-fp64", "5.2", None),
    ],
)
def test_what_the_chip_lacks_is_not_available(name, capability, code):
    found = BY_NAME[name].unavailable(Machine(card=_card(capability)))
    assert (found.code if found else None) == code


def test_a_processor_runs_what_it_can():
    machine = Machine(card=CardInfo(uuid=CPU_CARD, index=0, name="cpu"))
    ready = {name for name, b in BY_NAME.items() if b.unavailable(machine) is None}
    assert ready == {"gemm-fp64", "gemm-fp32", "gemm-bf16", "gemm-int8"}


def test_names_are_those_of_the_suite():
    wanted = {"fp64", "fp32", "tf32", "fp16", "fp16-acc16", "bf16", "fp8", "int8", "sparse"}
    assert {name.removeprefix("gemm-") for name in BY_NAME} == wanted
    assert {b.group for b in BENCHMARKS_GEMM} == {"gemm"}
    assert {b.name for b in Bench(names=("gemm",)).benchmarks()} == set(BY_NAME)
