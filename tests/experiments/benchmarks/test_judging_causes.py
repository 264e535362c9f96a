"""Peaks and causes of figures whose place among the chip's limits is easily mistaken."""

from dataclasses import replace

import pytest

from gputuner.catalog import load
from gputuner.experiments.benchmarks.judging import judged
from gputuner.experiments.benchmarks.recording import rate
from gputuner.experiments.course import Course
from gputuner.experiments.protocol import PlanContext
from gputuner.model.cards import CardInfo
from gputuner.model.fingerprint import Fingerprint, HostFingerprint
from gputuner.model.points import Conditions, Flag
from gputuner.model.quantities import Limiter
from gputuner.model.readings import Reading
from gputuner.model.steps import Trial
from gputuner.workloads.bodies.attention import attention_bytes, attention_flop
from gputuner.workloads.bodies.conv import ConvShape
from gputuner.workloads.bodies.training_shapes import LLM, BertShape


def course_of(card_id="rtx-4090", memory_mhz=10501.0, *, listed=True):
    """A card of the catalogue, or one with its numbers that the catalogue does not know."""
    facts = load().card(card_id)
    card = CardInfo(
        uuid="GPU-1", index=0, name=facts.nvml_name_patterns[0], sm_count=facts.sm_count,
        compute_capability=facts.compute_capability,
        readings={
            "sm_clock_max_mhz": Reading(value=3105.0, unit="MHz"),
            "memory_clock_max_mhz": Reading(value=memory_mhz, unit="MHz"),
        },
    )  # fmt: skip
    context = PlanContext(
        card=card, torch=None, fingerprint=Fingerprint(host=HostFingerprint(readings={})), processes=None,
        budget_s=60.0, free_bytes=None, published=load().reference(card_id) if listed else {}, results=(),
    )  # fmt: skip
    return Course(context, 0.0)


def seen(clock=2520.0, memory=10501.0, seconds=10.0, busy=1.0, **limited):
    return Conditions(
        duration_s=seconds, samples=20, sm_clock_mhz=clock, memory_clock_mhz=memory, power_w=440.0,
        gpu_utilisation=busy, limited_s={Limiter(name): share * seconds for name, share in limited.items()},
    )  # fmt: skip


def told(course, metric, counted, work, per_s, params, conditions, **notes):
    """The judged figure of ``per_s`` units of ``counted`` per second."""
    seconds = work[counted] / per_s
    trial = Trial(
        iteration_s=tuple(seconds * (1.0 + 1e-4 * (i % 5)) for i in range(40)), t0_ns=0, t1_ns=10**10, work=work,
        relative_error=0.001, notes=notes,
    )  # fmt: skip
    return judged(course, rate(course, "x", metric, "1/s", counted, trial, conditions, params))


def matmul(course, tera, conditions, **params):
    params = {"precision": "bf16", "m": 8192, "n": 8192, "k": 8192, "phase": "sustained", **params}
    return told(course, "matmul_rate", "flop", {"flop": 2.0 * 8192**3}, tera * 1e12, params, conditions)


def copied(course, conditions, giga=830.0):
    params = {"operation": "copy", "level": "dram", "bytes": 1 << 30}
    return told(course, "stream_bandwidth", "bytes", {"bytes": 2.0 * 2**30}, giga * 1e9, params, conditions)


def test_sparse_training_is_held_against_what_its_sparse_products_allow():
    """Of BERT-large at 384 tokens 62.7 % run on sparse pipes: 1.457 times the dense peak of 165 TFLOP/s, not twice."""
    shape, params = BertShape(), {"precision": "bf16", "batch": 64, "sequence": 384, "sparse": True}
    work, flop = {"samples": 64.0}, shape.flop(384)
    share = shape.sparse_share(384)
    point = told(
        course_of(), "train_throughput", "samples", work, 130.0, params, seen(),
        model_flop_per_sample=flop, sparse_flop_share=share,
    )  # fmt: skip
    assert point.extra["peak_at_clock"] == pytest.approx(1.457 * 165.2e12, rel=0.002)
    assert point.extra["fraction_of_peak_at_clock"] == pytest.approx(130.0 * flop / (1.457 * 165.2e12), rel=0.002)
    assert point.extra["fraction_of_sheet"] == pytest.approx(130.0 * flop / (1.457 * 165.2e12), rel=0.002)
    untold = told(course_of(), "train_throughput", "samples", work, 130.0, params, seen(), model_flop_per_sample=flop)
    assert untold.extra["peak_at_clock"] == pytest.approx(165.2e12, rel=0.002)


def test_beyond_the_peak_at_its_clock_nothing_is_said_but_that_it_is_wrong():
    point = matmul(course_of(), 1.08 * 165.2, seen())
    assert Flag.IMPLAUSIBLE in point.flags
    assert "held_back" not in point.extra
    assert Flag.IMPLAUSIBLE not in matmul(course_of(), 1.03 * 165.2, seen()).flags


def test_the_gap_before_a_cold_burst_is_not_the_host():
    """NVML's use of the card trails, and the window before was 10 s of idling."""
    idle = seen(busy=0.03, seconds=0.2)
    point = told(
        course_of(), "matmul_rate", "flop", {"flop": 2.0 * 8192**3}, 130e12,
        {"precision": "bf16", "m": 8192, "n": 8192, "k": 8192, "phase": "burst"}, idle, clock_mhz=2520.0,
    )  # fmt: skip
    assert point.extra["held_back"] == "software"
    assert matmul(course_of(), 130.0, seen(busy=0.3)).extra["held_back"] == "host"


def test_a_convolution_with_few_operations_per_byte_is_bound_by_memory():
    """1 × 1 with 64 → 256 filters: 2·64·256 / (2·(64 + 256)) = 51 operations per byte; a 4090's ridge is at 164."""
    shape = ConvShape.parse("1x1-64-256-56")
    work = {"flop": shape.flop(256, "forward"), "bytes": shape.least_bytes(256, "forward", 2)}
    params = {"precision": "bf16", "shape": shape.name, "direction": "forward"}
    point = told(course_of(), "conv_rate", "flop", work, 44e12, params, seen())
    assert point.extra["intensity"] == pytest.approx(51.2, rel=0.001)
    assert point.extra["attainable"] == pytest.approx(51.2 * 1008e9, rel=0.002)
    assert point.extra["held_back"] == "memory_bandwidth"
    assert (point.extra["operations"], point.extra["bytes"]) == (work["flop"], work["bytes"])
    wide = ConvShape.parse("3x3-256-256-14")
    work = {"flop": wide.flop(256, "forward"), "bytes": wide.least_bytes(256, "forward", 2)}
    assert told(course_of(), "conv_rate", "flop", work, 44e12, params, seen()).extra["held_back"] == "software"


def test_attention_has_a_place_on_the_roofline():
    """Causal, half precision: 2·s²·d operations over 4·s·d numbers of 2 bytes are s / 4 operations per byte."""
    work = {
        "flop": attention_flop(16, 16, 1024, 128, causal=True, direction="forward"),
        "bytes": attention_bytes(16, 16, 1024, 128, element=2, direction="forward"),
    }
    params = {"precision": "bf16", "backend": "flash", "direction": "forward", "sequence": 1024}
    point = told(course_of(), "attention_rate", "flop", work, 100e12, params, seen())
    assert point.extra["intensity"] == pytest.approx(256.0)
    assert point.extra["held_back"] == "software"


def test_decoding_at_batch_1_is_bound_by_memory():
    """13.2 GB of weights at 1008 GB/s: 75 tokens/s at most; 68 are 90 % of the slope and 0.6 % of the peak."""
    shape = LLM["7b"]
    work = {"tokens": 1.0, "flop": shape.decode_flop(512), "bytes": shape.decode_bytes(512, 1, 2)}
    params = {"precision": "fp16", "batch": 1, "context": 512}
    point = told(course_of(), "decode_rate", "tokens", work, 66.0, params, seen(2300.0, power=0.9))
    assert point.extra["intensity"] == pytest.approx(1.0, abs=0.02)
    assert point.extra["fraction_of_attainable"] == pytest.approx(66.0 * work["bytes"] / 1008e9, rel=0.001)
    assert point.extra["held_back"] == "memory_bandwidth"
    assert (point.extra["tokens"], point.extra["bytes"]) == (1.0, work["bytes"])


def test_a_training_whose_traffic_is_unknown_may_be_bound_by_memory():
    params = {"precision": "bf16", "batch": 256}
    point = told(
        course_of(), "train_throughput", "samples", {"samples": 256.0}, 2000.0, params, seen(),
        model_flop_per_sample=24.3e9,
    )  # fmt: skip
    assert point.extra["held_back"] == "software_or_memory"


def test_heat_of_a_moment_is_told_beside_the_power_limit():
    point = matmul(course_of(), 0.93 * 132.0, seen(2016.0, power=0.95, thermal_software=0.015))
    assert (point.extra["held_back"], point.extra["held_back_beside"]) == ("power_cap", "thermal")
    assert point.extra["held_back_lost"] == pytest.approx(0.2)
    assert point.extra["held_back_beside_share"] == pytest.approx(0.015)


def test_a_bandwidth_in_p2_is_not_the_power_limits():
    """An RTX 3090 computes at 9501 of 9751 MHz: 912 GB/s at the pins, of which 800 are near what DRAM gives."""
    course = course_of("rtx-3090", 9751.0)
    point = copied(course, seen(1695.0, 9501.0, power=0.9), 800.0)
    assert point.extra["fraction_of_peak_at_clock"] == pytest.approx(800 / 912.1, rel=0.001)
    assert point.extra["held_back"] == "nothing"
    assert copied(course, seen(1695.0, 9501.0, power=0.9), 700.0).extra["held_back"] == "software"


def test_an_unlisted_card_is_held_against_the_highest_clock_of_its_run():
    """A laptop's driver allows 3105 MHz that no load reaches: nothing is said to be lost of it."""
    course = course_of(listed=False)
    capped = seen(1890.0, power=0.9)
    alone = matmul(course, 118.0, capped)
    assert (alone.extra["held_back"], "held_back_lost" in alone.extra) == ("power_cap", False)
    slow = matmul(course, 70.0, capped)
    assert (slow.extra["held_back"], slow.extra["held_back_beside"]) == ("software", "power_cap")
    assert slow.extra["held_back_most"] is False
    course.points.append(replace(alone, conditions=seen(2520.0), id="faster"))
    later = matmul(course, 118.0, capped)
    assert (later.extra["held_back"], later.extra["held_back_lost"]) == ("power_cap", pytest.approx(0.25))


def test_a_burst_gives_its_clock_in_band():
    course = course_of(listed=False)
    params = {"precision": "bf16", "m": 8192, "n": 8192, "k": 8192, "phase": "burst"}
    burst = told(course, "matmul_rate", "flop", {"flop": 2.0 * 8192**3}, 150e12, params, seen(210.0), clock_mhz=2520.0)
    course.points.append(burst)
    assert matmul(course, 118.0, seen(1890.0, power=0.9)).extra["held_back_lost"] == pytest.approx(0.25)
