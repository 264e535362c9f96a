import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputuner.analysis.burst import free_stretch

H200_8192 = [729, *[815] * 21, *[744] * 14, *[706] * 60]
"""An H200, one product each (1.35 ms): free, a first step down, then the power cap."""


def test_the_recorded_burst_ends_where_the_power_cap_takes_hold():
    k = free_stretch(H200_8192)
    assert 20 <= k <= 40
    assert np.median(H200_8192[:k]) == 815


def test_a_level_load_is_free_to_its_end():
    rng = np.random.default_rng(3)
    assert free_stretch(list(170 + rng.normal(0, 0.5, 100))) == 100


@pytest.mark.parametrize("noise", [0.0, 2.0, 8.0])
def test_a_steady_decline_has_no_point_where_it_changes(noise: float):
    decline = np.linspace(813, 700, 150) + np.random.default_rng(4).normal(0, 1, 150) * noise
    assert free_stretch(list(decline)) == 150


@given(st.integers(8, 200), st.floats(0.05, 0.6), st.floats(1e-3, 1e9))
def test_no_line_is_cut_whatever_its_slope_and_unit(n: int, drop: float, unit: float):
    assert free_stretch(list(unit * np.linspace(1.0, 1.0 - drop, n))) == n


def test_a_step_with_a_slope_on_it_is_still_cut():
    rates = np.concatenate([np.linspace(815, 808, 30), np.linspace(706, 698, 60)])
    assert abs(free_stretch(list(rates)) - 30) <= 1


def test_a_rise_is_no_limit():
    assert free_stretch([500] * 20 + [800] * 80) == 100


@pytest.mark.parametrize("n", range(8))
def test_few_windows_are_not_split(n: int):
    assert free_stretch([800.0, 100.0, 90.0, 80.0, 70.0, 60.0, 50.0][:n]) == n


@given(st.integers(4, 40), st.integers(4, 80), st.floats(0.05, 0.5), st.integers(0, 1000))
def test_a_clear_step_is_found_within_one_window(before: int, after: int, drop: float, seed: int):
    rng = np.random.default_rng(seed)
    level = 100.0 * np.concatenate([np.ones(before), np.full(after, 1.0 - drop)])
    noisy = level * (1.0 + rng.normal(0, 0.002, level.size))
    assert abs(free_stretch(list(noisy)) - before) <= 1


@pytest.mark.parametrize(
    "after", [[600] * 20 + [760] * 80, ([640] * 12 + [780] * 12) * 4, list(np.linspace(650, 790, 100))]
)
def test_what_the_level_does_after_the_drop_does_not_hide_it(after: list[float]):
    assert abs(free_stretch([800.0] * 30 + after) - 30) <= 1


@given(st.integers(8, 200), st.floats(0.001, 0.05), st.integers(0, 1000))
def test_noise_alone_is_seldom_cut(n: int, noise: float, seed: int):
    rates = 100.0 * (1.0 + np.random.default_rng(seed).normal(0, noise, n))
    kept = free_stretch(list(rates))
    assert kept == n or np.median(rates[:kept]) == pytest.approx(np.median(rates), rel=4 * noise)
