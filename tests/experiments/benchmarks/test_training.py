"""The training benchmarks: batches that fit, halving, what is told, and where they are not available."""

import math
from dataclasses import fields, replace
from itertools import pairwise

import pytest

from gputuner.experiments.bench import Bench
from gputuner.experiments.benchmarks.benchmark import Machine
from gputuner.experiments.benchmarks.catalogue import BENCHMARKS
from gputuner.experiments.benchmarks.training import BENCHMARKS_TRAINING
from gputuner.experiments.benchmarks.training_measure import fitting
from gputuner.model.cards import CPU_CARD, CardInfo, CatalogMatch, Support
from gputuner.model.errors import GputunerError
from gputuner.model.points import Conditions
from gputuner.model.steps import Done, Lost, OutOfMemory, Report, Trial, UserCodeFailed, Warn, Work
from gputuner.workloads.specs import ResNet50Spec
from gputuner.workloads.specs_training import BertSpec, EdsrSpec, GptSpec, LlmSpec, LstmSpec, flop_of, memory_of

GIB = 1 << 30
SPECS = {cls.workload: cls for cls in (ResNet50Spec, BertSpec, EdsrSpec, GptSpec, LstmSpec, LlmSpec)}


def spec_of(work):
    """The training of a trial, without its switches."""
    cls = SPECS[work.workload]
    return cls(**{each.name: work.params[each.name] for each in fields(cls) if each.name in work.params})


AMPERE = {"bf16": Support.NATIVE, "tf32": Support.NATIVE, "fp16_tensor": Support.NATIVE, "sparsity_2_4": Support.NATIVE}


class Played:
    """Answers each trial at ``rate`` FLOP/s, or as ``script`` says; keeps what was told."""

    def __init__(self, plan, script=None, rate=50e12):
        self.works, self.points, self.warned, now = [], [], [], 10.0
        result = None
        while True:
            try:
                step = next(plan) if result is None else plan.send(result)
            except (StopIteration, GputunerError):  # where nothing gave a figure, the run ends with an error
                break
            result = Done()
            match step:
                case Report(points=points):
                    self.points += points
                case Warn():
                    self.warned.append(step)
                case Work():
                    self.works.append(step)
                    result = script(step) if script else None
                    result = result or self._trained(step, rate, now)
                    now += step.measure_s + 2.0

    def _trained(self, work, rate, now):
        spec = spec_of(work)
        seconds = spec.batch * flop_of(spec) / rate
        count = max(3, int(work.measure_s / seconds))
        tokens = {"tokens": float(spec.batch * work.params["sequence"])} if "sequence" in work.params else {}
        trial = Trial(
            iteration_s=(seconds,) * count,
            t0_ns=int(now * 1e9),
            t1_ns=int((now + seconds * count) * 1e9),
            work={"samples": float(spec.batch), **tokens},
            notes={"model_flop_per_sample": flop_of(spec), "loss_finite": True, "iterations_per_window": 1},
        )
        return Done(trials=(trial,), conditions=Conditions(duration_s=seconds * count, samples=5))


def card(gib=24, features=AMPERE):
    match = CatalogMatch(catalog_id="test", name="Test", features=features)
    return CardInfo(uuid="GPU-1", index=0, name="Test", memory_total_bytes=gib * GIB, catalog=match)


def context(lab, gib=24, features=AMPERE, **changes):
    found = lab.context_of(lab.h200())
    info = card(gib, features)
    return replace(found, card=info, free_bytes=gib * GIB, budget_s=1e5, published={"peak_bf16": 140e12}, **changes)


def play(lab, *names, script=None, full=False, **changes):
    return Played(Bench(names=names, full=full).plan(context(lab, **changes)), script)


def test_names_and_times_of_the_suite():
    names = [b.name for b in BENCHMARKS if b.group == "training"]
    assert names == ["resnet50", "bert-large", "edsr", "gpt", "lstm", "llm-7b"]
    assert sum(b.default_s for b in BENCHMARKS_TRAINING) <= 205
    assert all(b.full_s > b.default_s for b in BENCHMARKS_TRAINING)


@pytest.mark.parametrize("spec", [BertSpec(batch=64), LlmSpec(batch=4), EdsrSpec(batch=256, variant="full")])
def test_the_first_batch_leaves_a_margin_and_is_not_halved_without_need(spec):
    free = int(memory_of(spec).fixed_bytes + 20 * memory_of(spec).sample_bytes)
    fits = fitting(spec, free)
    assert fits is not None
    line = memory_of(fits)
    assert line.fixed_bytes + fits.batch * line.sample_bytes <= 0.85 * free
    twice = min(2 * fits.batch, spec.batch)
    assert twice == fits.batch or line.fixed_bytes + twice * line.sample_bytes > 0.85 * free


def test_nothing_fits_and_everything_fits():
    assert fitting(BertSpec(batch=64), 4 * GIB) is None
    assert fitting(BertSpec(batch=64), None) == BertSpec(batch=64)
    assert fitting(BertSpec(batch=64), 400 * GIB) == BertSpec(batch=64)


def test_every_point_is_amount_over_time_and_correct(lab):
    told = play(lab, "training")
    assert {p.extra["benchmark"] for p in told.points} == {b.name for b in BENCHMARKS_TRAINING}
    for point in told.points:
        assert point.metric == "train_throughput"
        assert point.unit == "samples/s"
        assert point.extra["correct"] is True
        assert point.value * point.extra["seconds"] == pytest.approx(point.extra["samples"])
        assert point.value * point.extra["model_flop_per_sample"] == pytest.approx(50e12)
    assert told.warned == []


def test_tokens_are_told_beside_samples(lab):
    (point,) = play(lab, "gpt").points
    assert point.extra["tokens_per_s"] == pytest.approx(1024 * point.value)


def test_resnet50_cold_sustained_and_fed(lab):
    told = play(lab, "resnet50")
    assert [(w.idle_before_s > 0, w.warmup_s) for w in told.works] == [(True, 0.0), (False, 1.5), (False, None)]
    assert [p.params["phase"] for p in told.points] == ["burst", "sustained", "steady"]
    assert [p.params.get("loader") for p in told.points] == [None, None, "fed"]
    assert len({p.params["batch"] for p in told.points}) == 1
    assert told.points[2].extra["starvation_fraction"] == pytest.approx(0.0, abs=1e-9)
    assert not any(w.params.get("compile") for w in told.works)


def test_a_burst_ends_where_a_limit_takes_hold(lab):
    def drops(work):
        if work.warmup_s != 0.0:
            return None
        seconds = (0.10,) * 10 + (0.12,) * 20
        trial = Trial(iteration_s=seconds, t0_ns=0, t1_ns=int(4e9), work={"samples": 256.0}, notes={"clock_mhz": 1500})
        return Done(trials=(trial,), conditions=Conditions(duration_s=3.4, samples=7, power_w=300.0))

    burst = play(lab, "resnet50", script=drops).points[0]
    assert burst.value == pytest.approx(2560.0)
    assert burst.spread.n == 10
    assert burst.conditions.power_w is None
    assert "clock_mhz" not in burst.extra


def test_a_slow_loader_starves_the_card(lab):
    def slow(work):
        if work.params.get("loader") != "fed":
            return None
        batch = float(work.params["batch"])
        synthetic_s = batch * flop_of(ResNet50Spec(batch=1)) / 50e12
        trial = Trial(iteration_s=(1.25 * synthetic_s,) * 30, t0_ns=0, t1_ns=int(1e9), work={"samples": batch})
        return Done(trials=(trial,))

    point = play(lab, "resnet50", script=slow).points[-1]
    assert point.extra["starvation_fraction"] == pytest.approx(0.2)


def test_out_of_memory_halves_the_batch_and_tries_again(lab):
    def scarce(work):
        return OutOfMemory(message="CUDA out of memory") if work.params["batch"] > 8 else None

    told = play(lab, "gpt", script=scarce)
    batches = [w.params["batch"] for w in told.works]
    assert batches[-1] == 8
    assert all(later == earlier // 2 for earlier, later in pairwise(batches))
    assert [w.fresh for w in told.works] == [False] + [True] * (len(batches) - 1)
    assert [p.params["batch"] for p in told.points] == [8]
    assert told.warned == []


def test_out_of_memory_at_one_sample_fails_the_benchmark(lab):
    told = play(lab, "gpt", script=lambda work: OutOfMemory(message="CUDA out of memory"))
    assert told.works[-1].params["batch"] == 1
    assert told.points == []
    assert [(w.code, w.params["reason"]) for w in told.warned] == [("benchmark_failed", "out_of_memory")]


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (UserCodeFailed(message="no", traceback="", reason="unsupported"), "unsupported"),
        (UserCodeFailed(message="no", traceback="", reason="wrong_result"), "wrong_result"),
        (Done(trials=(Trial(iteration_s=(), t0_ns=0, t1_ns=1),)), "nothing_measured"),
    ],
)
def test_a_failure_is_told_and_the_next_benchmark_runs(lab, result, reason):
    told = play(lab, "gpt", "lstm", script=lambda work: result if work.workload == "gpt" else None)
    assert [w.params["reason"] for w in told.warned if w.code == "benchmark_failed"] == [reason]
    assert [p.workload for p in told.points] == ["lstm"]


def test_a_lost_worker_is_told(lab):
    told = play(lab, "lstm", script=lambda work: Lost(message="gone"))
    assert [w.params["reason"] for w in told.warned if w.code == "benchmark_failed"] == ["lost"]


def test_turing_trains_in_fp16_and_never_in_emulated_bf16(lab):
    turing = {"bf16": Support.EMULATED, "tf32": Support.ABSENT, "fp16_tensor": Support.NATIVE}
    told = play(lab, "training", features=turing, full=True)
    assert {w.params["precision"] for w in told.works} == {"fp16", "fp32"}
    assert not any(w.params.get("sparse") for w in told.works)


def test_skipped_steps_are_no_work(lab):
    def skips(work):
        notes = {"skipped_steps": 10, "iterations_per_window": 1}
        trial = Trial(iteration_s=(0.1,) * 40, t0_ns=0, t1_ns=int(4e9), work={"samples": 64.0}, notes=notes)
        return Done(trials=(trial,))

    (point,) = play(lab, "lstm", script=skips).points
    assert point.value == pytest.approx(640.0 * 0.75)
    assert point.extra["samples"] == pytest.approx(48.0)


def test_a_loss_that_is_no_number_gives_no_figure(lab):
    def diverges(work):
        trial = Trial(iteration_s=(0.1,) * 40, t0_ns=0, t1_ns=1, work={"samples": 8.0}, notes={"loss_finite": False})
        return Done(trials=(trial,))

    played = play(lab, "lstm", script=diverges)
    assert not played.points
    assert [w.code for w in played.warned][:1] == ["loss_not_finite"]
    assert [w.params["reason"] for w in played.warned[1:]] == ["wrong_result"]


@pytest.mark.parametrize("failure", [
    UserCodeFailed(message="the step cannot be captured in a CUDA graph", traceback="", reason="unsupported"),
    Lost(message="gone"),
])  # fmt: skip
def test_sparse_weights_are_replayed_as_a_graph_and_launched_where_that_cannot_be(lab, failure):
    def sparse(told):
        return [w.params.get("cuda_graph", False) for w in told.works if w.params.get("sparse")]

    told = play(lab, "bert-large")
    assert sparse(told) == [True]
    assert told.points[-1].params["cuda_graph"] is True
    refused = play(lab, "bert-large", script=lambda w: failure if w.params.get("cuda_graph") else None)
    assert sparse(refused)[-1] is False
    assert refused.points[-1].params["sparse"] is True
    assert refused.points[-1].params["batch"] == told.points[-1].params["batch"]
    assert "benchmark_failed" not in [w.code for w in refused.warned]


def test_sparse_weights_are_told_with_their_gain(lab):
    points = play(lab, "bert-large").points
    assert [(p.params["sequence"], p.params.get("sparse", False)) for p in points] == [
        (384, False),
        (128, False),
        (512, False),
        (384, True),
    ]
    assert points[-1].extra["sparse_gain"] == pytest.approx(1.0)
    assert points[-1].params["batch"] == points[0].params["batch"]


def test_full_sweeps_formats_layouts_batches_and_the_compiler(lab):
    told = play(lab, "resnet50", full=True)
    swept = [p.params for p in told.points if p.params["phase"] == "sweep"]
    assert {(p["precision"], p["channels_last"]) for p in swept} == {
        (precision, last) for precision in ("fp32", "tf32", "fp16", "bf16") for last in (True, False)
    }
    assert len({p["batch"] for p in swept}) >= 3
    assert sum(bool(p.get("compile")) for p in swept) == 1
    assert len({tuple(sorted(p.items())) for p in swept}) == len(swept)


@pytest.mark.parametrize(("gib", "quantised"), [(80, False), (24, False), (12, True)])
def test_7b_in_half_precision_where_it_fits_else_in_four_bits(lab, gib, quantised):
    (point,) = play(lab, "llm-7b", gib=gib).points
    assert point.params["quantised"] is quantised
    assert point.params["sequence"] == 2048


def verdicts(machine):
    return {b.name: why.code if (why := b.unavailable(machine)) else None for b in BENCHMARKS_TRAINING}


def test_a_processor_runs_what_ends_in_time():
    machine = Machine(card=CardInfo(uuid=CPU_CARD, index=0, name="CPU", memory_total_bytes=16 * GIB))
    assert verdicts(machine) == {
        "resnet50": None,
        "bert-large": "too_slow_on_cpu",
        "edsr": None,
        "gpt": None,
        "lstm": None,
        "llm-7b": "too_slow_on_cpu",
    }


def test_small_cards_say_what_they_lack():
    llm = BENCHMARKS_TRAINING[-1]
    assert llm.unavailable(Machine(card=card(24))) is None
    assert llm.unavailable(Machine(card=card(11))) is None  # in four bits, if bitsandbytes is there
    assert llm.unavailable(Machine(card=card(11), packages=frozenset({"bitsandbytes"}))) is None
    why = llm.unavailable(Machine(card=card(11), packages=frozenset()))
    assert why is not None
    assert why.code == "memory_too_small"
    assert 14e9 < why.params["needs_bytes"] < 18e9
    assert why.params["has_bytes"] == 11 * GIB
    why = llm.unavailable(Machine(card=card(4)))
    assert why is not None
    assert 5e9 < why.params["needs_bytes"] < 8e9
    assert verdicts(Machine(card=card(4)))["bert-large"] == "memory_too_small"


def test_on_a_processor_sizes_are_small(lab):
    found = replace(lab.context_of(lab.two_cores(), cpu=True), budget_s=1e5)
    told = Played(Bench(names=("training",), cpu=True).plan(found), rate=5e10)
    assert {w.params["precision"] for w in told.works} == {"fp32"}
    assert {p.workload for p in told.points} == {"resnet50", "edsr", "gpt", "lstm"}
    seconds = [w.params["batch"] * flop_of(spec_of(w)) / 5e10 for w in told.works]
    assert max(seconds) < 3.0
    assert all(math.isfinite(p.value) for p in told.points)
    reasons = {w.params["benchmark"]: w.params["reason"] for w in told.warned if w.code == "benchmark_unavailable"}
    assert reasons == {"bert-large": "too_slow_on_cpu", "llm-7b": "too_slow_on_cpu"}


def test_the_lstm_never_runs_in_bf16(lab):
    told = play(lab, "lstm", full=True)
    assert {w.params["precision"] for w in told.works} == {"fp32", "tf32", "fp16"}
    assert told.works[0].params["precision"] == "fp16"


def test_pascal_does_not_train_in_its_slow_fp16(lab):
    pascal = {"bf16": Support.ABSENT, "tf32": Support.ABSENT, "fp16_tensor": Support.ABSENT}
    told = play(lab, "training", features=pascal)
    assert {w.params["precision"] for w in told.works} == {"fp32"}
