"""From rates to a choice: the gain's interval, what is kept, and what a search may skip."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputuner.analysis.switches import (
    SWITCH_NAMES,
    Setting,
    base_of,
    best_of,
    by_setting,
    decide,
    gain,
    shortlist,
)
from gputuner.model.points import Flag, Point, Spread
from gputuner.workloads.bodies.switches import NAMES


def rate_of(value, precision="fp32", last=False, flags=(), iqr=0.0, **switches):
    return Point(
        id=f"p{value}", card="GPU-1", metric="train_throughput", workload="resnet50", value=value, unit="samples/s",
        params={"batch": 32, "precision": precision, "channels_last": last, "phase": "switch", **switches},
        spread=Spread(n=30, median=value, iqr=iqr), flags=flags,
    )  # fmt: skip


def test_names_are_those_of_the_trials():
    assert SWITCH_NAMES == NAMES


def test_a_single_pair_has_no_interval_and_only_a_large_gain_is_believed():
    found = gain([rate_of(110.0)], [rate_of(100.0)])
    assert (found.value, found.low, found.high) == (pytest.approx(0.10), None, None)
    assert not found.sure
    assert gain([rate_of(150.0)], [rate_of(100.0), rate_of(100.0)]).sure


def test_the_interval_is_that_of_whole_trials():
    """By hand: s of (ln 104 - ln 100)² / 2 twice, two degrees of freedom, 4.303 · s · √(1/2 + 1/2)."""
    found = gain([rate_of(130.0), rate_of(135.2)], [rate_of(100.0), rate_of(104.0)])
    assert found.value == pytest.approx(0.3)
    assert math.log((1 + found.high) / 1.3) == pytest.approx(4.3027 * math.log(1.04) / math.sqrt(2), rel=1e-3)


def test_of_many_comparisons_few_are_kept_by_chance():
    """Switches that do nothing, with trials 1 and 2 % apart: at most 1 run in 20 keeps one, whatever is measured again.

    As the search does: one trial each, and what promises 1 % a second.
    """
    for scatter in (0.01, 0.02):
        random, wrong = np.random.default_rng(1), 0
        for _ in range(300):
            points = [rate_of(100 * math.exp(scatter * random.standard_normal())) for _ in range(2)]
            for name in ("flash", "efficient", "cudnn", "math", "a", "b", "c", "d"):
                first, again = (100 * math.exp(scatter * random.standard_normal()) for _ in range(2))
                points.append(rate_of(first, sdpa=name))
                points += [rate_of(again, sdpa=name)] if first > points[0].value else []
            wrong += bool(decide(points).kept)
        assert wrong <= 0.06 * 300


def test_measuring_in_turn_narrows_the_interval():
    single = gain([rate_of(101.5)], [rate_of(100.0)])
    twice = gain([rate_of(101.5), rate_of(101.5)], [rate_of(100.0), rate_of(100.0)])
    assert not single.sure
    assert twice.sure


def test_trials_that_differ_widen_it():
    calm = gain([rate_of(103.0), rate_of(103.0)], [rate_of(100.0), rate_of(100.0)])
    restless = gain([rate_of(108.0), rate_of(98.0)], [rate_of(104.0), rate_of(96.0)])
    assert restless.high - restless.low > 5 * (calm.high - calm.low)
    assert not restless.sure


@given(st.floats(1.0, 1e5), st.floats(1.0, 1e5), st.integers(2, 4), st.integers(2, 4), st.integers(1, 20))
def test_the_interval_holds_the_ratio_and_turns_over_with_it(one, other, n, m, among):
    found = gain([rate_of(one)] * n, [rate_of(other)] * m, among)
    turned = gain([rate_of(other)] * m, [rate_of(one)] * n, among)
    assert found.low <= found.value <= found.high
    assert (1 + found.value) * (1 + turned.value) == pytest.approx(1.0)
    assert (1 + found.low) * (1 + turned.high) == pytest.approx(1.0)
    assert found.low >= gain([rate_of(one)] * n, [rate_of(other)] * m, among + 1).low


def test_the_best_two_formats_go_on_and_what_is_close_to_the_best():
    assert shortlist({"fp32": 100.0, "tf32": 300.0, "bf16": 500.0, "fp16": 620.0}) == ("fp16", "bf16")
    assert shortlist({"fp32": 95.0, "tf32": 99.0, "bf16": 97.0, "fp16": 100.0}) == ("fp16", "tf32", "bf16", "fp32")
    assert shortlist({"fp32": 5.0}) == ("fp32",)


def test_the_best_half_and_the_best_full_format_go_on_where_launching_may_be_the_limit():
    """Eager, casts cost the host time: BF16 at 71 % of FP32 may be the fastest once it is compiled."""
    assert shortlist({"fp32": 333.0, "tf32": 333.0, "bf16": 238.0, "fp16": 208.0}) == ("fp32", "tf32", "bf16")
    assert shortlist({"fp32": 100.0, "tf32": 330.0, "bf16": 500.0, "fp16": 620.0}) == ("fp16", "bf16", "tf32")


def test_equal_rates_go_to_what_changes_least():
    plain, compiled = Setting(precision="bf16"), Setting(precision="bf16", switches=(("compile", True),))
    assert best_of({plain: 99.5, compiled: 100.0}) == plain
    assert best_of({plain: 98.0, compiled: 100.0}) == compiled
    assert best_of({Setting(precision="fp16"): 100.0, plain: 99.2}) == plain


def test_the_base_is_the_row_closest_to_torchs_defaults():
    """Products of matrices are FP32 by default, convolutions TF32."""
    points = [rate_of(100.0), rate_of(300.0, "fp16"), rate_of(200.0, "tf32")]
    assert base_of(by_setting(points)) == Setting(precision="fp32")
    convolutions = [replace(point, extra={"convolutional": True}) for point in points]
    assert base_of(by_setting(convolutions)) == Setting(precision="tf32")
    assert base_of(by_setting(convolutions[:2])) == Setting(precision="fp32")
    assert base_of(by_setting([points[1]])) is None


def test_products_in_fp16_are_never_chosen_by_their_speed():
    fast = [rate_of(150.0, "fp16")] * 2 + [rate_of(190.0, "fp16", fp16_accumulate=True)] * 2
    decided = decide(base(*fast))
    assert decided.chosen == decided.fastest == Setting(precision="fp16")
    assert not decided.kept


def test_the_gain_is_made_of_the_last_trials_in_turn():
    """The card was cold when the base was measured first: only what lies together counts."""
    cold, warm, fast = rate_of(130.0), rate_of(100.0), rate_of(110.0, "tf32")
    last = [replace(each, extra={"confirms": True}) for each in (fast, warm, warm, fast)]
    told = decide([cold, rate_of(140.0, "tf32"), *last])
    assert told.gain.value == pytest.approx(0.10)


def base(*more):
    return [rate_of(100.0), rate_of(100.0), *more]


def test_a_switch_counts_only_when_measured_again():
    once = base(rate_of(110.0, optimizer_kind="fused"))
    assert decide(once).chosen == Setting(precision="fp32")
    twice = decide([*once, rate_of(110.0, optimizer_kind="fused")])
    assert twice.chosen.switches == (("optimizer_kind", "fused"),)
    assert twice.gain.value == pytest.approx(0.10)


def test_gains_combine_only_when_measured_together():
    kept = [rate_of(110.0, optimizer_kind="fused")] * 2 + [rate_of(108.0, cuda_graph=True)] * 2
    apart = decide(base(*kept))
    assert apart.chosen.switches == (("optimizer_kind", "fused"),)
    both = [rate_of(117.0, optimizer_kind="fused", cuda_graph=True)] * 2
    assert dict(decide(base(*kept, *both)).chosen.switches) == {"optimizer_kind": "fused", "cuda_graph": True}
    worse = [rate_of(105.0, optimizer_kind="fused", cuda_graph=True)] * 2
    assert decide(base(*kept, *worse)).chosen == apart.chosen


def test_a_switch_that_was_kept_without_the_compiler_counts_with_it_only_when_measured_so():
    eager = [rate_of(110.0, optimizer_kind="fused")] * 2
    compiled = [rate_of(130.0, compile=True)] * 2
    assert decide(base(*eager, *compiled)).chosen.switches == (("compile", True),)
    whole = [rate_of(135.0, compile=True, optimizer_kind="fused")] * 2
    assert len(decide(base(*eager, *compiled, *whole)).chosen.switches) == 2


def test_rates_that_cannot_be_used_count_nothing():
    wild = [rate_of(900.0, "fp16", flags=(Flag.IMPLAUSIBLE,)), rate_of(800.0, "bf16", flags=(Flag.TOO_SLOW,))]
    assert decide(base(*wild)).chosen == Setting(precision="fp32")
    assert decide([]) is None
