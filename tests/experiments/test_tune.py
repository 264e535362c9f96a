"""The tune plan: what it decides, on an H200's recorded lines and on two cores."""

from dataclasses import replace

import pytest

from gputuner.experiments.tune import Tune
from gputuner.model.errors import UsageError
from gputuner.model.points import Flag
from gputuner.model.steps import Cancelled, Lost, OutOfMemory, Stopped, Together, UserCodeFailed, Work


def run(lab, card, script=None, **context):
    minutes = context.get("minutes", 5.0)
    plan = Tune(minutes=minutes).plan(lab.context_of(card, **context))
    return lab.Performer(card, script).perform(plan)


def test_h200_within_five_minutes_with_all_parts(lab):
    told = run(lab, lab.h200())
    assert told.seconds <= 300
    for metric in ("matmul_rate", "copy_bandwidth", "train_throughput", "memory_per_sample", "batch_limit",
                   "batch_safe", "batch_fastest", "co_run_slowdown", "co_run_gain", "load_temperature"):  # fmt: skip
        assert told.of(metric), metric
    phases = {p.params["phase"] for p in told.of("matmul_rate", precision="bf16")}
    assert phases == {"burst", "sustained"}
    assert told.codes() == []


def test_bursts_are_cold_and_come_first(lab):
    told = run(lab, lab.h200())
    works = [s for s in told.steps if isinstance(s, Work)]
    bursts = told.works("matmul_burst")
    assert works[: len(bursts)] == bursts
    assert all(w.idle_before_s >= 10 and w.warmup_s == 0 and w.measure_s == 0.2 for w in bursts)


def test_limit_on_24_gib_is_predicted_and_bracketed(lab):
    card = lab.h200(24.0)
    told = run(lab, card)
    fixed, per_sample = card.memory["bf16"]
    truth = int((card.usable * card.capacity - fixed) / per_sample)
    (limit,) = told.of("batch_limit")
    assert limit.params["verified"] is True
    assert limit.extra["predicted"] == pytest.approx(truth, rel=0.02)
    assert limit.extra["runs"] <= truth < limit.extra["fails"]
    assert limit.value == limit.extra["runs"] >= 0.96 * truth
    (safe,) = told.of("batch_safe")
    assert safe.value <= 0.9 * limit.value
    assert safe.extra["rate"] > 0, "the recommended size has a measured rate"
    above = told.works("train_limit_above")
    assert len(above) == 1
    assert above[0].fresh


def test_memory_line_is_that_of_the_card(lab):
    card = lab.h200()
    (line,) = run(lab, card).of("memory_per_sample")
    assert line.value == pytest.approx(card.memory["bf16"][1], rel=0.01)
    assert line.extra["fixed_bytes"] == pytest.approx(card.memory["bf16"][0], rel=0.1)


def test_fastest_is_the_smallest_within_the_band(lab):
    card = lab.h200()
    told = run(lab, card)
    (found,) = told.of("batch_fastest")
    rates = {
        p.params["batch"]: p.value
        for p in told.of("train_throughput")
        if p.params["phase"] in ("probe", "memory", "safe")
        and p.params["precision"] == found.params["precision"]
        and p.params["channels_last"] == found.params["channels_last"]
    }
    assert found.value == min(b for b, r in rates.items() if r >= 0.985 * max(rates.values()))
    assert found.extra["low"] <= found.value <= found.extra["high"]


def test_a_cliff_near_the_limit_is_seen_and_never_recommended(lab):
    """As EDSR under a cap: beyond some size the rate halves without running out of memory."""
    card = lab.h200(24.0)
    for table in card.rates.values():
        table += [(520, table[-1][1]), (530, 0.47 * table[-1][1]), (600, 0.47 * table[-1][1])]
    told = run(lab, card)
    (near,) = told.of("train_throughput", phase="limit")
    (safe,) = told.of("batch_safe")
    (found,) = told.of("batch_fastest")
    assert near.value < 0.6 * found.extra["rate"]
    assert found.value <= safe.value
    assert safe.extra["rate"] > 0.9 * found.extra["rate"]


def test_fastest_is_never_above_safe(lab):
    """Even where the rate keeps rising up to the limit."""
    card = lab.h200(11.0)
    card.rates = {name: [(1, 10.0), (1024, 10000.0)] for name in card.rates}
    told = run(lab, card)
    assert told.of("batch_fastest")[0].value <= told.of("batch_safe")[0].value


def test_an_error_above_a_size_that_is_not_about_memory_is_a_size_limit(lab):
    """Activations of more than 2^31 elements: 2674 samples of 64 x 112 x 112; memory would hold 3300."""

    def script(step):
        if isinstance(step, Work) and int(step.params.get("batch", 0)) > 2674:
            return UserCodeFailed(message="CUDNN_STATUS_NOT_SUPPORTED", traceback="")
        return None

    told = run(lab, lab.h200(), script)
    (limit,) = told.of("batch_limit")
    assert limit.extra["size_limit"] is True
    assert limit.extra["runs"] <= 2674 < limit.extra["fails"]
    assert limit.value == limit.extra["runs"] > 1500
    assert "size_limit" in told.codes()


def test_a_size_limit_is_closed_in_on(lab):
    """Half-way steps go on until what ran and what failed lie within 6 %."""

    def script(step):
        if isinstance(step, Work) and int(step.params.get("batch", 0)) > 2674:
            return UserCodeFailed(message="CUDNN_STATUS_NOT_SUPPORTED", traceback="")
        return None

    (limit,) = run(lab, lab.h200(), script, minutes=10.0).of("batch_limit")
    assert limit.params["verified"] is True
    assert limit.extra["fails"] - limit.extra["runs"] <= 0.06 * limit.extra["fails"]


def test_out_of_memory_at_the_safe_batch_steps_down_and_undoes_the_limit(lab):
    tried = []

    def script(step):
        if isinstance(step, Work) and step.label == "train_safe":
            tried.append(step.params["batch"])
            return OutOfMemory(message="CUDA out of memory") if len(tried) == 1 else None
        return None

    told = run(lab, lab.h200(24.0), script)
    (limit,), (safe,) = told.of("batch_limit"), told.of("batch_safe")
    assert safe.value == tried[1] <= 0.9 * tried[0]
    assert safe.params["verified"] is True
    assert limit.params["verified"] is False
    assert limit.value < limit.extra["fails"] == tried[0]
    assert told.of("batch_fastest")[0].value < tried[0]


@pytest.mark.parametrize("outcome", [OutOfMemory(message="CUDA out of memory"), Lost(message="crash")])
def test_a_safe_batch_that_never_ran_is_not_verified(lab, outcome):
    def script(step):
        return outcome if isinstance(step, Work) and step.label == "train_safe" else None

    told = run(lab, lab.h200(24.0), script)
    (safe,) = told.of("batch_safe")
    batches = [w.params["batch"] for w in told.works("train_safe")]
    assert safe.value <= min(batches)
    assert safe.params["verified"] is False or safe.value in {
        p.params["batch"] for p in told.of("train_throughput", phase="probe")
    }
    assert safe.params["verified"] is ("rate" in safe.extra)


def test_nothing_that_failed_above_is_no_limit(lab):
    def script(step):
        above = isinstance(step, Work) and step.label == "train_limit_above"
        return Lost(message="crash") if above else None

    (limit,) = run(lab, lab.h200(24.0), script).of("batch_limit")
    assert limit.params["verified"] is False
    assert "fails" not in limit.extra


def test_a_prediction_that_is_too_low_is_followed_upwards(lab):
    """The card holds a tenth more than it says (a cap that is not strict)."""
    card = lab.h200(24.0)
    card.usable = 1.1
    context = lab.context_of(card, minutes=10.0)
    context = replace(context, card=replace(context.card, memory_total_bytes=80 << 30))
    (limit,) = lab.Performer(card).perform(Tune(minutes=10.0).plan(context)).of("batch_limit")
    fixed, per_sample = card.memory["bf16"]
    truth = int((card.usable * card.capacity - fixed) / per_sample)
    assert limit.params["verified"] is True
    assert limit.extra["predicted"] < limit.value <= truth < limit.extra["fails"]


def test_a_limit_that_cannot_be_told_stays_below_what_failed(lab):
    seen = []

    def script(step):
        if isinstance(step, Work) and step.label == "train_limit_below":
            seen.append(step)
            return OutOfMemory(message="CUDA out of memory") if len(seen) == 1 else Lost(message="crash")
        return None

    told = run(lab, lab.h200(24.0), script)
    (limit,) = told.of("batch_limit")
    assert limit.params["verified"] is False
    assert limit.value < seen[0].params["batch"]


def test_after_an_out_of_memory_the_next_work_is_fresh(lab):
    told = run(lab, lab.h200(24.0))
    works = [s for s in told.steps if isinstance(s, Work)]
    position = works.index(told.works("train_limit_above")[0])
    assert works[position + 1].fresh


def test_two_jobs_alone_before_and_after(lab):
    told = run(lab, lab.h200())
    labels = [s.label for s in told.steps if isinstance(s, Work | Together)]
    at = labels.index("train_together")
    assert labels[at - 1] == labels[at + 1] == "train_alone"
    gain = told.of("co_run_gain")[0]
    assert gain.value == pytest.approx(2 / 1.9, rel=0.02)
    assert gain.extra["valid"] is True
    assert gain.extra["alone_tuned"] == pytest.approx(1.0, abs=0.1)


def test_two_at_the_usual_batch_only_where_the_full_load_still_fits(lab):
    told = run(lab, lab.h200(24.0))
    batches = [p.params["batch"] for p in told.of("co_run_gain")]
    assert batches == [128, 32]
    assert told.works("sustained")[0].measure_s == 60.0
    assert told.seconds <= 300


def test_two_cores_within_five_minutes(lab):
    told = run(lab, lab.two_cores(), cpu=True)
    assert told.seconds <= 300
    assert {p.params["batch"] for p in told.of("train_throughput", phase="probe")} <= {4, 8, 16, 32}
    assert told.of("batch_limit")[0].params["verified"] is True
    assert told.of("co_run_gain")


@pytest.mark.parametrize("minutes", [1.0, 2.0, 3.0, 5.0])
def test_any_budget_from_a_minute_gives_points_and_advice(lab, minutes):
    for card, cpu in ((lab.two_cores(), True), (lab.h200(), False)):
        told = run(lab, card, cpu=cpu, minutes=minutes)
        assert told.seconds <= 60 * minutes
        assert len(told.points) >= 6
        assert told.advised is not None
        assert len(told.advised.advice) >= 2


def test_every_point_has_a_unique_id_and_rates_have_a_spread(lab):
    told = run(lab, lab.h200())
    assert len({p.id for p in told.points}) == len(told.points)
    for point in told.points:
        if point.metric in ("matmul_rate", "copy_bandwidth", "train_throughput"):
            assert point.spread is not None
            assert point.conditions is not None


def test_nothing_fits(lab):
    def script(step):
        return OutOfMemory(message="CUDA out of memory", free_bytes=100) if step_is_training(step) else None

    told = run(lab, lab.h200(), script)
    assert told.codes() == ["does_not_fit"]
    batches = [w.params["batch"] for w in told.works("train_probe")]
    assert batches == sorted(batches, reverse=True)
    assert batches[-1] == 1
    assert told.advised is not None
    assert not [a for a in told.advised.advice if a.id.startswith("batch.")]
    assert told.of("matmul_rate", phase="sustained"), "what was measured before is kept"


def step_is_training(step):
    works = step.works if isinstance(step, Together) else (step,)
    return any(w.workload == "resnet50" for w in works)


def test_a_bug_in_the_training_is_tried_once(lab):
    def script(step):
        return UserCodeFailed(message="shape mismatch", traceback="…") if step_is_training(step) else None

    told = run(lab, lab.h200(), script)
    assert len(told.works("train_probe")) == 1
    assert told.codes() == ["workload_failed"]
    assert told.warned[0].params["message"] == "shape mismatch"


def test_an_unsupported_precision_is_skipped(lab):
    def script(step):
        works = step.works if isinstance(step, Together) else (step,)
        if any(w.params.get("precision") == "bf16" for w in works):
            return UserCodeFailed(message="no bf16", traceback="", reason="unsupported")
        return None

    told = run(lab, lab.h200(), script)
    assert not told.of("train_throughput", precision="bf16")
    assert told.of("train_throughput", precision="fp16")
    assert set(told.codes()) == {"precision_skipped"}


def test_a_hole_in_the_batches_does_not_end_the_ladder(lab):
    def script(step):
        small = isinstance(step, Work) and step.params.get("batch") == 128 and step.label == "train_probe"
        return OutOfMemory(message="CUDA out of memory") if small else None

    told = run(lab, lab.h200(), script)
    assert "batch_hole" in told.codes()
    assert told.of("train_throughput", batch=256)


def test_a_lost_worker_costs_one_step_and_the_next_is_fresh(lab):
    lost = []

    def script(step):
        if isinstance(step, Work) and step.label == "train_probe" and not lost and step.params["batch"] == 64:
            lost.append(step)
            return Lost(message="worker crashed")
        return None

    told = run(lab, lab.h200(), script)
    works = [s for s in told.steps if isinstance(s, Work)]
    assert works[works.index(lost[0]) + 1].fresh
    assert told.advised is not None
    assert len(told.advised.advice) >= 2


def test_lost_for_good_ends_with_advice_on_what_there_is(lab):
    def script(step):
        return Lost(message="card gone") if step_is_training(step) else None

    told = run(lab, lab.h200(), script)
    assert told.advised is not None
    assert told.of("copy_bandwidth")


@pytest.mark.parametrize("outcome", [Stopped(trigger="slowdown_margin", value=2.0, limit=3.0), Cancelled()])
@pytest.mark.parametrize("at", [1, 5, 9, 14, 20, 24])
def test_the_plan_ends_whenever_the_run_does(lab, outcome, at):
    seen = []

    def script(step):
        seen.append(step)
        return outcome if len(seen) == at else None

    run(lab, lab.h200(), script)
    assert len(seen) <= at, "no work after the end"


def test_a_card_without_bf16_trains_in_fp16_and_flags_the_emulated_matmul(lab):
    from dataclasses import replace

    card = lab.h200(11.0)
    base = lab.context_of(card)
    context = replace(base, card=replace(base.card, compute_capability="7.5", name="NVIDIA GeForce RTX 2080 Ti"))
    told = lab.Performer(card).perform(Tune().plan(context))
    assert {p.params["precision"] for p in told.of("train_throughput")} == {"fp16", "fp32"}
    assert not told.of("matmul_rate", precision="tf32")
    assert all(Flag.EMULATED in p.flags for p in told.of("matmul_rate", precision="bf16"))


def test_fp16_on_a_cpu_is_flagged_and_tells_the_size_measured(lab):
    told = run(lab, lab.two_cores(), cpu=True)
    (point,) = told.of("matmul_rate", precision="fp16")
    assert {Flag.EMULATED, Flag.TOO_SLOW} <= set(point.flags)
    assert point.params["n"] == 64
    assert point.value == pytest.approx(2 * 64**3 / 0.01)


def test_the_limit_on_a_cpu_is_checked_with_two_steps(lab):
    told = run(lab, lab.two_cores(), cpu=True)
    (below,) = told.of("train_throughput", phase="limit")
    assert below.spread.n == 1
    assert told.of("batch_limit")[0].extra["fails"] > below.params["batch"]


def test_on_a_processor_memory_is_asked_of_probes_and_rates_are_not(lab):
    card = lab.two_cores()
    told = run(lab, card, cpu=True)
    works = [w for s in told.steps for w in (s.works if isinstance(s, Together) else (s,)) if isinstance(w, Work)]
    probes = {w.label for w in works if w.memory_probe}
    assert probes <= {"train_memory", "train_limit_below", "train_limit_above", "train_safe"}
    assert {"train_memory", "train_limit_below", "train_limit_above"} <= probes
    assert not [w for w in works if w.memory_probe and w.label in ("train_probe", "train_together", "sustained")]
    (line,) = told.of("memory_per_sample")
    fixed, per_sample = card.memory[line.params["precision"]]
    assert line.value == pytest.approx(per_sample, rel=0.01), "peaks of rate trials are 15 % too high"
    assert line.extra["fixed_bytes"] == pytest.approx(fixed, rel=0.01)
    assert not told.of("train_throughput", phase="safe"), "a slowed rate is never recommended"
    (fastest,) = told.of("batch_fastest")
    assert fastest.extra["rate"] == pytest.approx(card.rate({**line.params, "batch": int(fastest.value)}), rel=0.02)


@pytest.mark.parametrize("minutes", [0.2, 0.3, 0.5, 0.8])
@pytest.mark.parametrize("slower", [1.0, 3.0, 10.0])
def test_a_short_run_on_a_processor_ends_in_time_after_torch_has_loaded(lab, minutes, slower):
    card = lab.two_cores()
    rates = {name: [(batch, rate / slower) for batch, rate in table] for name, table in card.rates.items()}
    performer = lab.Performer(replace(card, rates=rates, matmul={name: f / slower for name, f in card.matmul.items()}))
    loaded_s = performer.now_s
    told = performer.perform(Tune(minutes=minutes).plan(lab.context_of(card, cpu=True, minutes=minutes)))
    assert told.seconds - loaded_s <= 60.0 * minutes
    assert told.codes()[0] == "budget_from_here"
    assert told.of("train_throughput"), "something of a training is always told"
    assert told.advised


def test_from_a_minute_on_loading_torch_is_part_of_the_budget(lab):
    told = run(lab, lab.two_cores(), cpu=True, minutes=1.0)
    assert told.seconds <= 60.0
    assert "budget_from_here" not in told.codes()


def test_no_trial_of_a_short_run_is_given_more_time_than_is_left(lab):
    card = lab.two_cores()
    performer = lab.Performer(card)
    begun, given = performer.now_s, []

    def script(step):
        if isinstance(step, Work):
            given.append((performer.now_s - begun, step.budget_s))
        return None

    performer.script = script
    performer.perform(Tune(minutes=0.5).plan(lab.context_of(card, cpu=True, minutes=0.5)))
    assert len(given) >= 4
    assert all(budget_s <= max(1.0, 30.0 - at_s) for at_s, budget_s in given)


@pytest.mark.parametrize("minutes", [0.0, 0.1, 121.0, -1.0])
def test_minutes_out_of_range(minutes):
    with pytest.raises(UsageError):
        Tune(minutes=minutes)


def test_no_size_above_what_ran_is_called_safe_once_one_failed(lab):
    """Everything above the ladder fails although the line says it fits: the safe batch is one that ran."""

    def script(step):
        works = step.works if isinstance(step, Together) else (step,)
        large = any(w.workload == "resnet50" and w.params["batch"] > 512 for w in works)
        return OutOfMemory(message="CUDA out of memory") if large else None

    told = run(lab, lab.h200(), script)
    (safe,), (limit,) = told.of("batch_safe"), told.of("batch_limit")
    assert limit.value <= 512
    assert safe.value <= limit.value
