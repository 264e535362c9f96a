"""Steadiness and the sustained part."""

import numpy as np
import pytest

from gputuner.analysis.steady import rate_is_steady, slope_per_s, sustained_part, temperature_is_steady


def test_rate_is_steady():
    assert rate_is_steady([100.0, 100.5, 99.8, 100.1, 100.2, 99.9])
    assert not rate_is_steady([90.0, 92.0, 95.0, 96.0, 98.0, 99.0])
    assert not rate_is_steady([100.0] * 5)


def test_slope_of_a_line():
    t = np.arange(20.0)
    assert slope_per_s(t, 3.0 + 0.25 * t) == pytest.approx(0.25)
    assert slope_per_s([1.0], [5.0]) == 0.0


def test_temperature_is_steady_from_half_a_degree_in_five_seconds():
    t = np.arange(6.0)
    assert temperature_is_steady(t, 60 + 0.09 * t)
    assert not temperature_is_steady(t, 60 + 0.11 * t)


def test_sustained_is_the_last_half_minute():
    entries = (1.0,) * 60
    assert sustained_part(entries, 60.0) == (1.0,) * 30
    assert sustained_part(entries, 20.0) == entries
    slowing = (0.1,) * 100 + (0.2,) * 100
    assert sustained_part(slowing, 60.0)[0] == 0.2
    assert len(sustained_part(slowing, 60.0)) == 75
