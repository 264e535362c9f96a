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
