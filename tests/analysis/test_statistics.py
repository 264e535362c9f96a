"""Intervals against known processes; flags against known series."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputuner.analysis.statistics import (
    autocorrelation,
    block_length,
    drift,
    iqr,
    lag_one,
    median_interval,
    paired_ratio,
    ratio_of_spreads,
    spread,
    spread_flags,
    widening,
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


def coverage(phi: float, n: int, runs: int, seed: int) -> tuple[float, float]:
    """Share of runs whose interval holds the true median, and share of runs that gave one."""
    rng = np.random.default_rng(seed)
    hits = told = 0
    for run in range(runs):
        interval, _ = median_interval(10.0 + ar1(n, phi, rng), seed=run, resamples=400)
        if interval.low is not None and interval.high is not None:
            told += 1
            hits += interval.low <= 10.0 <= interval.high
    return hits / told, told / runs


@pytest.mark.parametrize("n", [25, 80])
def test_interval_covers_the_median_of_independent_repeats_95_times_of_100(n):
    """Of 500 runs 475 ± 5 (one standard deviation, binomial) should; 3 of these either way."""
    found, told = coverage(0.0, n, 500, seed=1)
    assert told == 1.0
    assert abs(found - 0.95) <= 3 * np.sqrt(0.95 * 0.05 / 500)


@pytest.mark.parametrize(
    ("phi", "n", "runs", "least_told"),
    [(0.4, 25, 400, 0.95), (0.6, 25, 400, 0.8), (0.6, 100, 400, 0.99), (0.6, 400, 200, 0.99), (0.9, 600, 200, 0.95)],
)
def test_interval_covers_the_median_of_an_autocorrelated_series(phi, n, runs, least_told):
    """At least 90 of 100 (two standard deviations of the count allowed); plain blocks gave 79, 63 and 77 of 100."""
    found, told = coverage(phi, n, runs, seed=2)
    assert found >= 0.90 - 2 * np.sqrt(0.9 * 0.1 / runs)
    assert told >= least_told


def test_a_short_series_that_only_wanders_gives_no_interval():
    """AR(1) with phi 0.98 over 40 values is worth less than one independent value."""
    _, told = coverage(0.98, 40, 200, seed=3)
    assert told < 0.35


def test_lag_one_is_free_of_the_bias_of_short_series():
    rng = np.random.default_rng(8)
    plain = np.mean([autocorrelation(ar1(25, 0.4, rng), 1)[1] for _ in range(2000)])
    mended = np.mean([lag_one(ar1(25, 0.4, rng)) for _ in range(2000)])
    assert plain < 0.33
    assert mended == pytest.approx(0.4, abs=0.03)
    assert lag_one([0.103] * 40) < 0.03, "rounding of the mean is no dependence"
    assert lag_one([1.0]) == lag_one([1.0, 2.0] * 20) == 0.0


def test_widening_is_the_part_of_the_dependence_that_blocks_do_not_show():
    assert widening(100, 1, 0.0) == 1.0
    single = widening(10_000, 1, 0.6)
    assert single == pytest.approx(2.0, rel=0.01), "sqrt(1.6 / 0.4) where nothing of it is shown"
    assert 1.0 < widening(10_000, 40, 0.6) < 1.05


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
    apart = ratio_of_spreads(one, two, (0.003, 0.004))
    both = np.sqrt((1 / 110) ** 2 + (1 / 100) ** 2 + 1.96**2 * 0.005**2)
    assert apart.high == pytest.approx(1.1 * np.exp(both), rel=1e-3)
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


def test_the_interval_of_positive_repeats_is_positive_however_noisy():
    """Rates on a busy processor: a strong dependence widens the interval far beyond the median itself."""
    rng = np.random.default_rng(5)
    told = 0
    for _ in range(40):
        level, series = 0.0, []
        for _ in range(30):
            level = 0.6 * level + rng.normal(0.0, 1.2)
            series.append(float(np.exp(level)))
        interval, _ = median_interval(series)
        if interval.low is not None and interval.high is not None:
            told += 1
            assert 0.0 < interval.low <= interval.value <= interval.high
    assert told > 20


def test_the_interval_of_rates_is_that_of_the_times_turned_over():
    times = [float(t) for t in np.exp(np.random.default_rng(2).normal(0.0, 0.8, 201))]
    of_times, _ = median_interval(times)
    of_rates, _ = median_interval([1.0 / t for t in times])
    assert of_times.low is not None
    assert of_times.high is not None
    assert of_rates.low == pytest.approx(1.0 / of_times.high, rel=0.02)
    assert of_rates.high == pytest.approx(1.0 / of_times.low, rel=0.02)


def test_values_on_both_sides_of_zero_keep_an_even_interval():
    interval, _ = median_interval([float(v) for v in np.random.default_rng(3).normal(0.0, 1.0, 100)])
    assert interval.low is not None
    assert interval.high is not None
    assert interval.low < 0.0 < interval.high
