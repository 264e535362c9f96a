"""Fastest batch, knee, step cost."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputuner.analysis.throughput import (
    comparable_tops,
    comparison_batch,
    fastest,
    fastest_batch,
    fit_step_cost,
    knee,
    least_energy,
    preferred_precision,
)
from gputuner.model.points import Spread

RECORDED = json.loads((Path(__file__).parents[1] / "data/analysis/resnet50-h200.json").read_text())


def rates(precision: str) -> dict[int, float]:
    return {row[0]: row[3] for row in RECORDED[precision]}


@pytest.mark.parametrize(("precision", "batch"), [("fp32", 384), ("fp16", 384), ("bf16", 384)])
def test_fastest_on_the_recording(precision, batch):
    """Best of bf16 is 2526 at 512; 2500 at 384 is within 1.5 %, 2453 at 256 is not."""
    assert fastest_batch(rates(precision)) == batch


def test_the_largest_that_fits_is_not_the_fastest():
    """EDSR on a 24 GiB card falls off a cliff near its limit without running out of memory."""
    edsr = {121: 5816.0, 242: 6449.0, 484: 6824.0, 968: 7094.0, 1200: 7219.0, 1600: 7239.0, 1800: 3403.0, 1936: 3405.0}
    assert fastest_batch(edsr) == 1200


def test_fastest_range_opens_with_the_intervals():
    def of(median: float, half: float) -> Spread:
        return Spread(n=50, median=median, iqr=1.0, ci95_low=median - half, ci95_high=median + half)

    sharp = fastest({64: of(90, 0.1), 128: of(97, 0.1), 256: of(100, 0.1)})
    assert (sharp.low, sharp.batch, sharp.high) == (256, 256, 256)
    near = {64: of(90, 0.1), 128: of(98, 0.1), 256: of(100, 0.1)}
    assert fastest(near, between=0.0).low == 256
    assert fastest(near).low == 128, "98 against a threshold of 98.5: other trials could have it the other way round"
    blurred = fastest({64: of(90, 0.1), 128: of(98, 2.0), 256: of(100, 2.0)})
    assert (blurred.low, blurred.batch, blurred.high) == (128, 256, 256)


def test_fastest_needs_rates():
    with pytest.raises(ValueError, match="no rates"):
        fastest_batch({})


def test_knee_is_where_a_doubling_stops_paying():
    assert knee({16: 100.0, 32: 180.0, 64: 190.0, 128: 191.0}) == 64
    assert knee({16: 100.0, 32: 180.0}) is None


def test_knee_of_the_recording():
    """FP16: 128 to 192 still gains 4.5 % per doubling, 192 to 256 only 1.9 %."""
    assert knee(rates("fp16")) == 192


def test_knee_scales_gains_to_a_doubling():
    """3 % over two doublings is 1.5 % per doubling: a knee."""
    assert knee({32: 100.0, 128: 103.0}) == 32


@given(st.floats(1e-4, 1e-1), st.floats(1e-5, 1e-2))
def test_step_cost_of_an_exact_line(fixed, slope):
    told = fit_step_cost({b: b / (fixed + slope * b) for b in (8, 16, 64, 256)})
    assert told is not None
    assert told.fixed_s == pytest.approx(fixed, rel=1e-4, abs=1e-9)
    assert told.per_sample_s == pytest.approx(slope, rel=1e-4)
    assert told.residual < 1e-6


def test_harder_numerics_must_earn_their_place():
    assert preferred_precision({"tf32": 100.0, "bf16": 101.0, "fp16": 101.5}) == "tf32"
    assert preferred_precision({"tf32": 100.0, "bf16": 150.0, "fp16": 156.0}) == "bf16"
    assert preferred_precision({"tf32": 100.0, "bf16": 150.0, "fp16": 158.0}) == "fp16"
    assert preferred_precision({"fp16": 1.0}) == "fp16"
    assert preferred_precision({"fp32": 2257.0, "bf16": 2526.0, "fp16": 3125.0}) == "fp16"


def test_settings_are_compared_as_if_over_the_same_batches():
    """An H200: BF16 over the whole ladder, FP16 only at 256, where it is 30 % faster than BF16."""
    bf16 = {64: 3874.0, 128: 4333.0, 256: 4681.0, 512: 4914.0, 1024: 5025.0, 2048: 5058.0}
    tops = comparable_tops({"bf16": bf16, "fp16": {256: 4900.0}, "fp32": {8: 100.0}})
    assert tops["bf16"] == 5058.0
    assert tops["fp16"] == pytest.approx(4900.0 / 4681.0 * 5058.0)
    assert tops["fp32"] == 100.0, "without a common batch its own rate stands"
    assert comparable_tops({}) == {}


def test_formats_are_compared_where_the_card_is_filled_in_short_steps():
    assert comparison_batch({16: 818.0, 32: 1659.0, 64: 3874.0, 128: 4333.0, 256: 4681.0, 2048: 5058.0}) == 256
    assert comparison_batch({8: 5.0}) == 8
    with pytest.raises(ValueError, match="no rates"):
        comparison_batch({})


def test_least_energy_is_the_smallest_batch_within_what_counts_as_equal():
    found = least_energy({16: 0.50, 32: 0.405, 64: 0.400, 128: 0.41})
    assert (found.batch, found.rate) == (32, 0.405)
    # two trials differ by chance by up to 1.96 · √2 · 0.3 % = 0.8 %; 0.41 lies 2.5 % above the least
    assert (found.low, found.high) == (32, 64)
    with pytest.raises(ValueError, match="no energies"):
        least_energy({})
