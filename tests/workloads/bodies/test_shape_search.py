"""The search for the fastest shape, against the rates of all shapes as an H200 gave them (smoothed over k)."""

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputuner.workloads.bodies.shape_search import ShapeSearch, radical_inverse

RATES = np.load(Path(__file__).parents[2] / "data" / "workloads" / "h200_gemm_rates.npz")
TRIES = 1000
"""What fits into 15 s on that card: a product takes 3 ms on average, and each is run once before it is timed."""


def _true_rate(precision, shape):
    by_sides, by_length = RATES[f"{precision}_mn"], RATES[f"{precision}_k"]
    step = 16384 // by_sides.shape[0]
    m, n, k = (min(by_sides.shape[0] - 1, round(side / step) - 1) for side in shape[:3])
    return float(by_sides[max(m, 0), max(n, 0)]) * float(by_length[max(k, 0)])


def _best_rate(precision):
    return float(RATES[f"{precision}_mn"].astype(float).max() * RATES[f"{precision}_k"].astype(float).max())


def _searched(precision, seed, noise=0.015, drift=0.05):
    """The shape found with single timings that scatter and sag by ``drift`` while the card heats up."""
    rng = random.Random(seed)
    spent = 0

    def rate_of(shape):
        nonlocal spent
        spent += 1
        return _true_rate(precision, shape) * rng.lognormvariate(0.0, noise) * (1.0 - drift * spent / TRIES)

    search = ShapeSearch(
        rate_of,
        lambda: 1.0 - spent / TRIES,
        largest_flop=2.0 * 16384**3,
        step=16384 // len(RATES[f"{precision}_mn"]),
        seed=seed,
    )
    return search.run(), spent


@pytest.mark.parametrize(("precision", "share"), [("bf16", 0.99), ("tf32", 0.99), ("fp8", 0.99), ("fp16", 0.985)])
def test_what_is_found_reaches_the_best_of_all_shapes(precision, share):
    """In FP16 the table holds medians of 12 timings that scatter by 1.7 %: the largest of its 1024 medians lies about
    1 % above what that shape truly reaches, so that the bar is lower there.
    """
    reached = []
    for seed in range(12):
        ranking, spent = _searched(precision, seed)
        reached.append(_true_rate(precision, ranking[0].shape) / _best_rate(precision))
        assert spent <= TRIES + 16
    assert min(reached) >= 0.98
    assert np.median(reached) >= share


def test_leaders_are_measured_often_and_the_winner_most():
    ranking, _ = _searched("bf16", 1)
    assert len(ranking[0].rates) >= 10
    assert len(ranking) >= 150


def test_no_shape_exceeds_the_work_that_one_timing_may_take():
    seen = []
    spent = 0

    def rate_of(shape):
        nonlocal spent
        spent += 1
        seen.append(shape)
        return 1e12

    ShapeSearch(rate_of, lambda: 1.0 - spent / 100, largest_flop=2.0 * 4096**3, seed=3).run()
    # sides are rounded to whole steps after scaling
    assert max(2.0 * m * n * k for m, n, k, _ in seen) <= 2.0 * 4096**3 * 1.25
    assert all(side % 256 == 0 and 256 <= side <= 16384 for shape in seen for side in shape[:3])


def test_without_time_two_shapes_are_still_measured():
    ranking = ShapeSearch(lambda _: 1.0, lambda: 0.0, largest_flop=1e12).run()
    assert len(ranking) == 2


@given(st.integers(0, 10_000), st.sampled_from([2, 3, 5]))
def test_radical_inverse_lies_in_the_unit_interval(number, base):
    assert 0.0 <= radical_inverse(number, base) < 1.0


def test_radical_inverse_of_base_2_mirrors_the_digits():
    assert [radical_inverse(i, 2) for i in range(5)] == [0.0, 0.5, 0.25, 0.75, 0.125]
