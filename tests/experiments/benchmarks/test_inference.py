import pytest

from gputuner.experiments.bench import Bench
from gputuner.experiments.benchmarks.inference import CONTEXTS, FULL_CONTEXTS, largest
from gputuner.model.errors import GputunerError
from gputuner.model.points import Conditions
from gputuner.model.steps import Done, OutOfMemory, Part, Report, Trial, UserCodeFailed, Warn, Work

GIB = 1 << 30


@pytest.mark.parametrize(
    ("gib", "model", "contexts"),
    [
        (139, "7b", (512, 2048, 8192)),
        (24, "7b", (512, 2048, 8192)),
        (18, "7b", (512, 2048)),
        (11, "1b", (512, 2048, 8192)),
        (2, "125m", (512, 2048, 8192)),
    ],
)
def test_the_largest_decoder_that_fits(gib, model, contexts):
    spec = largest("fp16", CONTEXTS, 1, gib * GIB)
    assert spec is not None
    assert (spec.model, spec.contexts) == (model, contexts)
    assert spec.needed_bytes() <= 0.85 * gib * GIB


def test_no_decoder_fits_into_nothing():
    assert largest("fp16", CONTEXTS, 1, GIB // 8) is None
    assert largest("bf16", FULL_CONTEXTS, 1, None) is not None


def surveyed(work):
    parts, conditions = [], []
    for place, context in enumerate(int(c) for c in work.params["contexts"].split()):
        for stage, tokens, seconds in (("prefill", context, 0.1), ("decode", 1, 0.02)):
            params = {"stage": stage, "context": context, "batch": 1, "precision": work.params["precision"]}
            at = int(1e9 * (10 + place))
            notes = {"model_flop_per_token": 1e9}
            parts.append(
                Part(params=params, iteration_s=(seconds,) * 30, t0_ns=at, t1_ns=at + 1, work={"tokens": float(tokens)},
                     relative_error=0.003 if stage == "decode" else None, notes=notes)
            )  # fmt: skip
            conditions.append(Conditions(duration_s=1.0, samples=2, power_w=100.0 + len(conditions)))
    trial = Trial(iteration_s=(), t0_ns=0, t1_ns=int(20e9), parts=tuple(parts), memory={"allocated_peak_bytes": 14})
    return Done(trials=(trial,), part_conditions=tuple(conditions))


def play(lab, answer, full=False):
    plan = Bench(names=("decode",), full=full).plan(lab.context_of(lab.h200(), minutes=60.0))
    works, points, warned, result = [], [], [], None
    while True:
        try:
            step = next(plan) if result is None else plan.send(result)
        except (StopIteration, GputunerError):  # where nothing gave a figure, the run ends with an error
            return works, points, warned
        result = Done()
        match step:
            case Work():
                works.append(step)
                result = answer(step)
            case Report(points=told):
                points += told
            case Warn():
                warned.append(step)


def test_each_part_is_a_point_with_its_own_conditions(lab):
    works, points, warned = play(lab, surveyed)
    assert [w.params["contexts"] for w in works] == ["512 2048 8192"]
    assert [(p.metric, p.params["context"]) for p in points] == [
        (f"{stage}_rate", context) for context in CONTEXTS for stage in ("prefill", "decode")
    ]
    assert [p.conditions.power_w for p in points] == [100.0, 101.0, 102.0, 103.0, 104.0, 105.0]
    assert points[0].value == pytest.approx(5120.0)
    assert points[1].value == pytest.approx(50.0)
    for point in points:
        assert point.unit == "tokens/s"
        assert point.value * point.extra["seconds"] == pytest.approx(point.extra["tokens"])
        assert point.params["model"] == "7b"
        assert point.extra["allocated_peak_bytes"] == 14
    assert points[1].extra["relative_error"] == 0.003
    assert warned == []


def test_full_adds_batches_contexts_and_single_launches(lab):
    works, points, _ = play(lab, surveyed, full=True)
    assert [w.params["batch"] for w in works] == [1, 1, 8, 32, 1]
    assert works[1].params["contexts"].split()[-1] == "32768"
    assert [bool(w.params.get("eager")) for w in works] == [False] * 4 + [True]
    assert points[-1].params["eager"] is True


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (UserCodeFailed(message="differs", traceback="", reason="wrong_result"), "wrong_result"),
        (OutOfMemory(message="CUDA out of memory"), "out_of_memory"),
        (Done(trials=(Trial(iteration_s=(), t0_ns=0, t1_ns=1),)), "nothing_measured"),
    ],
)
def test_a_failure_is_no_number(lab, result, reason):
    _, points, warned = play(lab, lambda work: result)
    assert points == []
    assert [(w.code, w.params["reason"]) for w in warned] == [("benchmark_failed", reason)]
