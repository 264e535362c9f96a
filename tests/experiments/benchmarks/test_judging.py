"""What is said of a figure beside its value: peaks, roofline, published rows, cause, cold against steady."""

from dataclasses import replace

import pytest

from gputuner.catalog import load
from gputuner.experiments.benchmarks.judging import judged
from gputuner.experiments.benchmarks.recording import rate
from gputuner.experiments.course import Course
from gputuner.experiments.protocol import PlanContext
from gputuner.model.cards import CPU_CARD, CardInfo
from gputuner.model.fingerprint import Fingerprint, HostFingerprint
from gputuner.model.points import Conditions, Flag
from gputuner.model.quantities import Limiter
from gputuner.model.readings import Reading
from gputuner.model.steps import Part, Trial
from gputuner.workloads.bodies.training_shapes import LLM

FLOP = 2.0 * 8192**3


def course_of(card_id="rtx-4090-48g", **changes):
    facts = load().card(card_id)
    card = CardInfo(
        uuid="GPU-1",
        index=0,
        name=facts.nvml_name_patterns[0],
        sm_count=facts.sm_count,
        compute_capability=facts.compute_capability,
        readings={
            "sm_clock_max_mhz": Reading(value=3105.0, unit="MHz"),
            "memory_clock_max_mhz": Reading(value=10501.0, unit="MHz"),
            "pcie_generation_max": Reading(value=4),
            "pcie_width_max": Reading(value=16),
        },
    )
    context = PlanContext(
        card=card, torch=None, fingerprint=Fingerprint(host=HostFingerprint(readings={})), processes=None,
        budget_s=60.0, free_bytes=None, published=load().reference(card_id), results=load().published(card_id),
    )  # fmt: skip
    return Course(replace(context, **changes), 0.0)


def trial(rate_per_s, work=FLOP, name="flop", n=40, **notes):
    seconds = work / rate_per_s
    return Trial(
        iteration_s=tuple(seconds * (1.0 + 1e-4 * (i % 5)) for i in range(n)), t0_ns=0, t1_ns=10**10,
        work={name: work}, relative_error=0.001, notes=notes,
    )  # fmt: skip


def seen(clock=2520.0, **more):
    return Conditions(
        duration_s=10.0, samples=20, sm_clock_mhz=clock, memory_clock_mhz=10501.0, power_w=440.0, energy_j=4400.0,
        gpu_utilisation=1.0, **more,
    )  # fmt: skip


def matmul(course, tera, conditions=None, **params):
    told = {"precision": "bf16", "m": 8192, "n": 8192, "k": 8192, "phase": "sustained", **params}
    notes = {"clock_mhz": 2520.0} if told["phase"] == "burst" else {}
    point = rate(
        course, "gemm-bf16", "matmul_rate", "FLOP/s", "flop", trial(tera * 1e12, **notes), conditions or seen(), told
    )
    return judged(course, point)


def test_a_4090_at_2520_mhz_has_a_peak_of_165_tflops():
    point = matmul(course_of(), 160.0)
    assert point.extra["peak_at_clock"] == pytest.approx(165.2e12, rel=0.001)
    assert point.extra["fraction_of_peak_at_clock"] == pytest.approx(160 / 165.2, rel=0.001)
    assert point.extra["fraction_of_sheet"] == pytest.approx(160 / 165.2, rel=0.001)
    assert point.extra["accumulator"] == "fp32"
    assert point.extra["held_back"] == "nothing"
    assert point.extra["joules_per_unit"] == pytest.approx(440.0 / 160e12, rel=0.001)


def test_value_times_seconds_is_the_amount():
    point = matmul(course_of(), 160.0)
    assert point.value * point.extra["seconds"] == pytest.approx(FLOP)
    assert (point.extra["operations"], point.extra["correct"]) == (FLOP, True)


@pytest.mark.parametrize(
    ("precision", "peak"),
    [("fp16", 165.2), ("fp16-acc16", 330.3), ("fp8", 330.3), ("int8", 660.6), ("fp32", 82.6), ("fp64", 1.29)],
)
def test_each_format_has_its_own_peak(precision, peak):
    point = matmul(course_of(), 0.9 * peak, precision=precision)
    assert point.extra["fraction_of_peak_at_clock"] == pytest.approx(0.9, rel=0.005)
    assert point.extra["fraction_of_sheet"] == pytest.approx(0.9, rel=0.005)
    assert Flag.IMPLAUSIBLE not in point.flags


def test_sparse_products_may_reach_twice_the_dense_peak():
    point = matmul(course_of(), 300.0, precision="fp16", setup_counted=False)
    assert point.extra["peak_at_clock"] == pytest.approx(330.3e12, rel=0.001)
    assert point.extra["fraction_of_sheet"] == pytest.approx(300 / 330.4, rel=0.001)


def test_fast_accumulation_is_judged_by_the_sums_that_its_rate_shows():
    slow = matmul(course_of(), 310.0, precision="fp8", fast_accumulate=True)
    fast = matmul(course_of(), 600.0, precision="fp8", fast_accumulate=True)
    assert (slow.extra["accumulator"], fast.extra["accumulator"]) == ("fp32", "fp16")
    assert fast.extra["peak_at_clock"] == pytest.approx(660.6e12, rel=0.001)
    assert fast.extra["fraction_of_sheet"] == pytest.approx(600 / 660.6, rel=0.001)


def test_more_than_the_chip_can_is_implausible():
    assert Flag.IMPLAUSIBLE in matmul(course_of(), 230.0).flags


def test_the_power_limit_is_named_with_what_it_cost():
    limited = seen(clock=1890.0, limited_s={Limiter.POWER: 9.0})
    point = matmul(course_of(), 118.0, limited)
    assert point.extra["held_back"] == "power_cap"
    assert point.extra["held_back_share"] == pytest.approx(0.9)
    assert point.extra["held_back_lost"] == pytest.approx(0.25)


def test_standing_among_the_published_of_the_same_mod():
    point = matmul(course_of(), 165.0)
    assert (point.extra["published_n"], point.extra["published_worse"]) == (3, 2)
    assert "published_percentile" not in point.extra  # all of one table
    assert point.extra["published_low"] < 165e12 < point.extra["published_high"]
    assert "zzc0721" in point.extra["published_source"]


@pytest.mark.parametrize("phase", ["burst", "bursts"])
def test_before_the_power_cap_there_is_no_rank_among_figures_of_warm_cards(phase):
    """A 4090 that does 170 TFLOP/s before the cap beats nobody by that: the others measured once warm."""
    extra = matmul(course_of(), 165.0, phase=phase).extra
    assert (extra["published_n"], extra["published_unlike"]) == (3, "before_power_cap")
    assert not {"published_worse", "published_percentile"} & set(extra)
    assert "published_unlike" not in matmul(course_of(), 165.0, phase="steady").extra


def test_sustained_is_told_beside_cold():
    course = course_of()
    course.points.append(matmul(course, 165.0, phase="burst"))
    point = matmul(course, 132.0)
    assert point.extra["fraction_of_burst"] == pytest.approx(0.8, rel=0.001)


def test_tf32_below_fp32_is_flagged_on_the_later_of_the_two():
    course = course_of()
    course.points.append(matmul(course, 30.0, precision="tf32"))
    assert Flag.TF32_BELOW_FP32 in matmul(course, 55.0, precision="fp32").flags
    assert Flag.TF32_BELOW_FP32 not in matmul(course_of(), 55.0, precision="fp32").flags


def test_dram_is_judged_at_the_memory_clock():
    course = course_of()
    params = {"operation": "copy", "level": "dram", "bytes": 1 << 30}
    point = judged(
        course,
        rate(course, "memory-copy", "stream_bandwidth", "B/s", "bytes", trial(917e9, 2e9, "bytes"), seen(), params),
    )
    assert point.extra["fraction_of_peak_at_clock"] == pytest.approx(917 / 1008, rel=0.001)
    assert point.extra["held_back"] == "nothing"
    assert point.value * point.extra["seconds"] == pytest.approx(point.extra["bytes"])


def test_a_cache_has_no_peak_and_no_judgement():
    course = course_of()
    params = {"operation": "copy", "level": "l2", "bytes": 1 << 20}
    point = judged(
        course,
        rate(course, "memory-copy", "stream_bandwidth", "B/s", "bytes", trial(3e12, 2e6, "bytes"), seen(), params),
    )
    assert "held_back" not in point.extra
    assert "fraction_of_peak_at_clock" not in point.extra


def test_few_operations_per_byte_are_bound_by_memory():
    """A product with k = 32 has 31 operations per byte: 1008 GB/s allow 31 TFLOP/s of 165."""
    work = 2.0 * 8192 * 8192 * 32
    course = course_of()
    params = {"precision": "bf16", "m": 8192, "n": 8192, "k": 32, "phase": "steady"}
    point = judged(
        course, rate(course, "gemm-bf16", "matmul_rate", "FLOP/s", "flop", trial(27e12, work), seen(), params)
    )
    assert point.extra["intensity"] == pytest.approx(31.5, abs=0.3)
    assert point.extra["attainable"] == pytest.approx(31.75e12, rel=0.01)
    assert point.extra["held_back"] == "memory_bandwidth"


def decoded(tokens_s, context=512):
    """A 7 B decoder in BF16 on an H200 writes a token: the weights and the cache of keys and values are read once."""
    shape, course = LLM["7b"], course_of("h200-sxm")
    clocks = {"memory_clock_max_mhz": 3201.0, "sm_clock_max_mhz": 1980.0}
    readings = {**course.context.card.readings, **{n: Reading(value=v, unit="MHz") for n, v in clocks.items()}}
    course.context = replace(
        course.context, card=replace(course.context.card, readings=readings), worker={"cache_bytes": 60 << 20}
    )
    seconds = 1.0 / tokens_s
    part = Part(
        params={}, iteration_s=tuple(seconds * (1 + 1e-4 * (i % 5)) for i in range(40)), t0_ns=0, t1_ns=10**10,
        work={"tokens": 1.0, "flop": shape.decode_flop(context), "bytes": shape.decode_bytes(context, 1, 2)},
        relative_error=0.001,
    )  # fmt: skip
    conditions = replace(seen(clock=1980.0), memory_clock_mhz=3201.0)
    params = {"model": "7b", "context": context, "precision": "bf16", "batch": 1}
    point = rate(course, "decode", "decode_rate", "tokens/s", "tokens", part, conditions, params)
    return judged(course, point), shape.decode_bytes(context, 1, 2)


@pytest.mark.parametrize(
    ("tokens_s", "cause"), [(165.0, "software"), (300.0, "memory_bandwidth"), (340.0, "memory_bandwidth")]
)
def test_writing_tokens_is_judged_by_the_bytes_of_a_token(tokens_s, cause):
    """6144 bit × 2 × 3201 MHz / 8 = 4.917 TB/s over 13.5 GB a token: 364 tokens/s are the most, not 70 000."""
    point, moved = decoded(tokens_s)
    share = tokens_s * moved / (6144 / 8 * 2 * 3.201e9)
    assert share == pytest.approx(tokens_s / 364, rel=0.03)
    assert point.extra["bound_by"] == "memory"
    assert point.extra["fraction_of_peak_at_clock"] == pytest.approx(share, rel=1e-3)
    assert point.extra["fraction_of_attainable"] == pytest.approx(share, rel=1e-3)
    assert point.extra["fraction_of_sheet"] == pytest.approx(tokens_s * moved / 4.8e12, rel=0.03)
    assert point.extra["compute_peak_at_clock"] > 100 * point.extra["peak_at_clock"]
    assert point.extra["held_back"] == cause
    assert Flag.IMPLAUSIBLE not in point.flags


def test_more_tokens_than_the_memory_sends_bytes_for_are_implausible():
    assert Flag.IMPLAUSIBLE in decoded(400.0)[0].flags
    assert Flag.IMPLAUSIBLE in decoded(900.0)[0].flags


def test_a_narrow_link_is_named():
    course = course_of()
    params = {"direction": "host_to_device", "pinned": True, "bytes": 1 << 28}
    conditions = seen(pcie_generation=4.0, pcie_width=4.0)
    point = judged(
        course,
        rate(course, "pcie", "transfer_bandwidth", "B/s", "bytes", trial(6.5e9, 2.0**28, "bytes"), conditions, params),
    )
    assert point.extra["fraction_of_link"] == pytest.approx(6.5 / 7.877, rel=0.001)
    assert point.extra["held_back"] == "link"
    assert Flag.LINK_BELOW_MAX in point.flags


def test_a_training_is_judged_by_its_models_operations():
    course = course_of()
    params = {"batch": 256, "precision": "bf16", "phase": "steady"}
    work = trial(2000.0, 256.0, "samples", model_flop_per_sample=24.3e9)
    point = judged(course, rate(course, "resnet50", "train_throughput", "samples/s", "samples", work, seen(), params))
    assert point.extra["fraction_of_peak_at_clock"] == pytest.approx(2000 * 24.3e9 / 165.2e12, rel=0.001)
    assert point.extra["held_back"] == "software_or_memory"
    starved = judged(course, replace(point, extra={**point.extra, "starvation_fraction": 0.4}))
    assert starved.extra["held_back"] == "loader"


def test_a_setting_shorter_than_a_poll_takes_the_surveys_conditions():
    course = course_of()
    course.conditions = seen()
    part = Part(params={"bytes": 8}, iteration_s=(1e-6,) * 30, t0_ns=0, t1_ns=10**8, work={"bytes": 1e6})
    point = rate(course, "memory-copy", "stream_bandwidth", "B/s", "bytes", part, Conditions(duration_s=0.1), {})
    assert point.extra["conditions_of"] == "survey"
    assert Flag.NO_TELEMETRY not in point.flags
    assert "joules_per_unit" not in point.extra


def test_a_card_that_nobody_knows_gets_no_invented_peaks():
    course = course_of(published={}, results=())
    unknown = replace(course.context.card, compute_capability="99.0")
    course.context = replace(course.context, card=unknown)
    point = matmul(course, 160.0)
    assert not {"fraction_of_peak_at_clock", "fraction_of_sheet", "published_n"} & set(point.extra)


def test_a_processor_is_not_judged():
    course = course_of(published={}, results=())
    course.context = replace(course.context, card=CardInfo(uuid=CPU_CARD, index=0, name="CPU"))
    point = matmul(course, 0.1, precision="fp32")
    assert "held_back" not in point.extra
    assert point.extra["correct"] is True


def test_a_card_that_clocks_far_above_its_sheet_has_no_cap():
    """An RTX 2080 Ti may clock 36 % above the boost clock of its sheet."""
    course = course_of("rtx-2080-ti")
    readings = {**course.context.card.readings, "sm_clock_max_mhz": Reading(value=2100.0, unit="MHz")}
    course.context = replace(course.context, card=replace(course.context.card, readings=readings))
    point = matmul(course, 58.0, seen(clock=1890.0), precision="fp16")
    assert point.extra["fraction_of_peak_at_clock"] == pytest.approx(58.0 / (68 * 512 * 1.89e-3), rel=0.001)


def test_an_export_part_with_a_cap_gets_no_peak_at_clock():
    """An H20 has Hopper's SMs and a sheet of 148 TFLOP/s."""
    point = matmul(course_of("h20"), 140.0)
    assert "fraction_of_peak_at_clock" not in point.extra
    assert point.extra["fraction_of_sheet"] == pytest.approx(140 / 148, rel=0.001)


def test_of_a_surveys_limits_only_those_that_were_on_for_most_of_it_stand_for_each_setting():
    part = Part(params={"bytes": 8}, iteration_s=(1e-6,) * 30, t0_ns=0, t1_ns=10**8, work={"bytes": 1e6})
    flags = {}
    for share in (0.1, 0.9):
        course = course_of()
        course.conditions = replace(seen(), duration_s=4.0, samples=8, limited_s={Limiter.POWER: 4.0 * share})
        own = Conditions(duration_s=0.1)
        point = rate(course, "memory-copy", "stream_bandwidth", "B/s", "bytes", part, own, {})
        flags[share] = Flag.THROTTLED_POWER in point.flags
        assert point.conditions.duration_s == 0.1
    assert flags == {0.1: False, 0.9: True}


def test_the_limits_of_a_setting_are_those_of_the_readings_around_it_not_of_the_survey():
    part = Part(params={"bytes": 8}, iteration_s=(1e-6,) * 30, t0_ns=0, t1_ns=10**8, work={"bytes": 1e6})
    course = course_of()
    course.conditions = replace(seen(), duration_s=4.0, samples=8, limited_s={Limiter.POWER: 3.6})
    free = Conditions(duration_s=0.1, limited_s={Limiter.POWER: 0.0}, limited_from_samples=True)
    point = rate(course, "memory-copy", "stream_bandwidth", "B/s", "bytes", part, free, {})
    assert Flag.THROTTLED_POWER not in point.flags
    assert point.conditions.limited_s == {Limiter.POWER: 0.0}
    half = replace(free, limited_s={Limiter.POWER: 0.05})  # one of the two: that of another setting, or its own
    part_of_it = replace(course.conditions, limited_s={Limiter.POWER: 1.0})
    seen_before = course.conditions
    course.conditions = part_of_it
    assert rate(course, "m", "stream_bandwidth", "B/s", "bytes", part, half, {}).conditions.limited_s == {}
    course.conditions = seen_before
    held = replace(free, limited_s={Limiter.POWER: 0.1})
    course.conditions = replace(course.conditions, limited_s={Limiter.POWER: 0.0})
    point = rate(course, "memory-copy", "stream_bandwidth", "B/s", "bytes", part, held, {})
    assert Flag.THROTTLED_POWER in point.flags
