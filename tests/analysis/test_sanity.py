"""Rules among the figures of one card, on the disturbed rows that were published unmarked."""

import pytest

from gputuner.analysis.sanity import best_rates, broken_rules, tf32_below_fp32
from gputuner.model.points import Flag, Point


def matmul(precision, tera, flags=(), card="GPU-1"):
    return Point(
        id=precision, card=card, metric="matmul_rate", workload="matmul",
        params={"precision": precision, "phase": "sustained"}, value=tera * 1e12, unit="FLOP/s", flags=flags,
    )  # fmt: skip


def figure(metric, value, **params):
    return Point(id="x", card="GPU-1", metric=metric, workload="w", params=params, value=value, unit="s")


def codes(*points):
    return [broken.code for broken in broken_rules(points)]


def test_a_healthy_3080_breaks_no_rule():
    assert codes(matmul("fp32", 21.1), matmul("tf32", 32.0), matmul("fp16", 64.1), matmul("bf16", 64.7)) == []


def test_the_disturbed_3080_that_was_published():
    """TF32 12.6 below FP32 15.6, BF16 24.9 below half of FP16."""
    found = broken_rules((matmul("fp32", 15.6), matmul("tf32", 12.6), matmul("fp16", 62.0), matmul("bf16", 24.9)))
    assert [(b.code, b.params.get("mode")) for b in found] == [
        ("sanity_below", "tf32"),
        ("sanity_bf16_unlike_fp16", None),
    ]


def test_emulated_bf16_is_no_broken_rule():
    assert codes(matmul("fp16", 58.6), matmul("bf16", 7.3, flags=(Flag.EMULATED,))) == []


def test_a_processor_keeps_no_such_rules():
    assert codes(matmul("fp16", 0.1, card="cpu"), matmul("bf16", 0.9, card="cpu")) == []


def test_fp16_sums_may_not_cost():
    assert codes(matmul("fp16", 100.0), matmul("fp16-acc16", 90.0)) == ["sanity_below"]


def test_more_than_the_peak_is_told():
    assert codes(matmul("fp32", 20.0, flags=(Flag.IMPLAUSIBLE,))) == ["sanity_above_peak"]


def test_levels_of_the_memory_come_in_order():
    near = figure("access_latency", 20e-9, level="l1")
    assert codes(near, figure("access_latency", 300e-9, level="dram")) == []
    assert codes(near, figure("access_latency", 10e-9, level="dram")) == ["sanity_latency_order"]


def test_a_copy_is_no_faster_than_a_read():
    read = figure("stream_bandwidth", 900e9, operation="read", level="dram")
    assert codes(read, figure("stream_bandwidth", 1100e9, operation="copy", level="dram")) == ["sanity_copy_above_read"]
    assert codes(read, figure("stream_bandwidth", 5e12, operation="copy", level="l2")) == []


def test_cold_and_sustained_are_not_held_against_each_other():
    cold = Point(
        id="x", card="GPU-1", metric="matmul_rate", workload="matmul", params={"precision": "bf16", "phase": "burst"},
        value=800e12, unit="FLOP/s",
    )  # fmt: skip
    assert codes(cold, matmul("fp16", 660.0)) == []


def test_the_best_of_each_mode():
    assert best_rates([matmul("bf16", 1.0), matmul("bf16", 2.0)]) == {"bf16_acc32": pytest.approx(2e12)}


def test_tf32_against_fp32():
    assert tf32_below_fp32(12.6e12, 15.6e12)
    assert not tf32_below_fp32(32e12, 21e12)
    assert not tf32_below_fp32(32e12, None)
