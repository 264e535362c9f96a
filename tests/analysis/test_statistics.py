"""Intervals against known processes; flags against known series."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputuner.analysis.statistics import (
    block_length,
    drift,
    iqr,
    median_interval,
    paired_ratio,
    ratio_of_spreads,
    spread,
    spread_flags,
)
from gputuner.model.points import Flag, Spread


def ar1(n: int, phi: float, rng: np.random.Generator) -> np.ndarray:
    """x_t = phi x_{t-1} + e_t, started from its stationary law; median 0."""
    noise = rng.standard_normal(n)
    x = np.empty(n)
    x[0] = noise[0] / np.sqrt(1 - phi**2)
    for t in range(1, n):
        x[t] = phi * x[t - 1] + noise[t]
    return x


def coverage(phi: float, n: int, runs: int, seed: int) -> float:
    rng = np.random.default_rng(seed)
    hits = told = 0
    for run in range(runs):
        interval, _ = median_interval(10.0 + ar1(n, phi, rng), seed=run, resamples=400)
        if interval.low is not None and interval.high is not None:
            told += 1
            hits += interval.low <= 10.0 <= interval.high
    assert told > 0.9 * runs
    return hits / told


def test_interval_covers_the_median_of_independent_repeats():
    assert 0.90 <= coverage(0.0, 80, 200, seed=1) <= 0.99


def test_interval_covers_the_median_of_an_autocorrelated_series():
    """AR(1) with phi 0.6 and n 400: resampling single values would cover about two thirds of the time."""
    assert coverage(0.6, 400, 150, seed=2) >= 0.86


def test_block_length_follows_the_memory_of_the_series():
    rng = np.random.default_rng(3)
    lengths = [np.median([block_length(ar1(1000, phi, rng)) for _ in range(20)]) for phi in (0.0, 0.5, 0.9)]
    assert lengths[0] <= 2
    assert lengths[0] < lengths[1] < lengths[2]


def test_block_length_is_politis_and_whites_for_a_known_ar1():
    """For AR(1), G = 2·phi/(1−phi)²·s and D in closed form give b = (2·phi/(1−phi²))^(2/3)·(3/2·n)^(1/3)."""
    rng = np.random.default_rng(4)
    n, phi = 4000, 0.5
    theory = (2 * phi / (1 - phi**2)) ** (2 / 3) * (1.5 * n) ** (1 / 3)
    assert np.median([block_length(ar1(n, phi, rng)) for _ in range(20)]) == pytest.approx(theory, rel=0.25)


@pytest.mark.parametrize("values", [[1.0] * 19, list(np.linspace(1, 2, 60))])
def test_fewer_than_twenty_blocks_give_no_interval(values):
    told = spread(values)
    assert told.ci95_low is None
    assert told.ci95_high is None
    assert Flag.FEW_SAMPLES in spread_flags(values, told)


def test_quartiles_are_the_textbooks():
    assert iqr([1, 2, 3, 4, 5]) == 2.0
    told = spread([3.0, 1.0, 2.0])
    assert (told.n, told.median, told.iqr) == (3, 2.0, 1.0)


def test_no_repeats_is_an_error():
    with pytest.raises(ValueError, match="no repeats"):
        spread([])


def test_drift_and_spread_flags():
    rising = [100.0 + i * 0.1 for i in range(30)]
    assert drift(rising) == pytest.approx(102.45 / 100.45 - 1.0)
    assert Flag.DRIFT in spread_flags(rising, spread(rising))
    wide = [100.0, 104.0] * 30
    assert Flag.SPREAD in spread_flags(wide, spread(wide))
    calm = list(100.0 + 0.1 * np.random.default_rng(5).standard_normal(60))
    assert spread_flags(calm, spread(calm)) == ()


def test_paired_ratio_cancels_what_both_windows_share():
    rng = np.random.default_rng(6)
    common = 1.0 + 0.2 * rng.standard_normal(60)
    told = paired_ratio(1.1 * common * (1 + 0.002 * rng.standard_normal(60)), common)
    assert told.low is not None
    assert told.high is not None
    assert told.low < 1.1 < told.high
    assert told.high - told.low < 0.005


def test_null_comparison_finds_a_difference_about_one_time_in_twenty():
    rng = np.random.default_rng(7)
    false = told = 0
    for run in range(200):
        ratio = paired_ratio(1 + 0.01 * rng.standard_normal(60), 1 + 0.01 * rng.standard_normal(60), run, resamples=300)
        if ratio.low is not None and ratio.high is not None:
            told += 1
            false += not ratio.low <= 1.0 <= ratio.high
    assert told > 150
    assert false / told <= 0.11


def test_paired_ratio_needs_pairs():
    with pytest.raises(ValueError, match="equal numbers"):
        paired_ratio([1.0, 2.0], [1.0])


def test_ratio_of_spreads_combines_both_intervals():
    one = Spread(n=50, median=110.0, iqr=1.0, ci95_low=109.0, ci95_high=111.0)
    two = Spread(n=50, median=100.0, iqr=1.0, ci95_low=99.0, ci95_high=101.0)
    told = ratio_of_spreads(one, two)
    assert told.value == pytest.approx(1.1)
    assert told.low == pytest.approx(1.1 * (1 - np.hypot(1 / 110, 1 / 100)), rel=1e-3)
    none = ratio_of_spreads(one, Spread(n=5, median=100.0, iqr=1.0))
    assert none.low is None


@given(
    st.lists(st.floats(0.5, 2.0), min_size=20, max_size=60),
    st.floats(1e-9, 1e9),
)
def test_interval_holds_the_median_and_scales_with_the_unit(values, factor):
    plain = spread(values)
    scaled = spread([v * factor for v in values])
    assert scaled.median == pytest.approx(plain.median * factor)
    if plain.ci95_low is not None and plain.ci95_high is not None:
        assert plain.ci95_low <= plain.median <= plain.ci95_high
