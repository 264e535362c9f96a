"""What a mix is held against, and its energy."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputuner.analysis.contention import aggregate_gain
from gputuner.analysis.contention_baselines import alone_tuned, clock_factor, energy_ratio, p95_over_median
from gputuner.model.points import Conditions
from gputuner.model.steps import Trial


def test_of_equal_jobs_it_is_the_tuned_batchs_own_ratio():
    """Two launch-bound ResNet-50 at batch 16 gain 1.97 together, but one at batch 32 does 2.8 times the rate alone."""
    assert alone_tuned((1.015, 1.015), (2.8, 2.8)) == pytest.approx(2.8)


def test_of_a_mix_the_jobs_are_done_in_the_proportion_in_which_they_ran():
    """Both at half speed together; tuned, one could do twice: 1 s of each at once takes 0.25 s + 0.5 s in turn."""
    assert alone_tuned((2.0, 2.0), (2.0, 1.0)) == pytest.approx(1.0 / 0.75)


@given(st.lists(st.tuples(st.floats(1.0, 20.0), st.floats(1.0, 10.0)), min_size=1, max_size=6))
def test_it_lies_between_the_least_and_the_most_that_tuning_gives(jobs):
    slowdowns, tuned = [s for s, _ in jobs], [t for _, t in jobs]
    assert min(tuned) * (1 - 1e-9) <= alone_tuned(slowdowns, tuned) <= max(tuned) * (1 + 1e-9)


@given(st.lists(st.floats(1.0, 20.0), min_size=1, max_size=6))
def test_without_tuning_it_is_one_after_the_other(slowdowns):
    assert alone_tuned(slowdowns, [1.0] * len(slowdowns)) == pytest.approx(1.0)


def window(watts=None, seconds=6.0, **more) -> Conditions:
    energy = None if watts is None else watts * seconds
    return Conditions(duration_s=seconds, energy_j=energy, **more)


def test_energy_for_the_same_work():
    """Two jobs of 200 W alone, each at 1/1.5 together at 250 W: 250 / (200/1.5 + 200/1.5) = 0.9375."""
    assert energy_ratio((1.5, 1.5), (window(200.0), window(200.0)), window(250.0)) == pytest.approx(0.9375)
    gain = aggregate_gain((1.5, 1.5))
    assert energy_ratio((1.5, 1.5), (window(200.0), window(200.0)), window(200.0)) == pytest.approx(1.0 / gain)


def test_energy_of_a_short_window_comes_from_the_samples_power():
    short = window(200.0, seconds=2.0, power_w=180.0)
    assert energy_ratio((1.0,), (short,), short) == pytest.approx(1.0)
    assert energy_ratio((1.0,), (window(seconds=2.0),), short) is None


def test_unknown_power_gives_no_ratio():
    assert energy_ratio((1.5, 1.5), (window(200.0), None), window(250.0)) is None
    assert energy_ratio((1.5,), (window(200.0),), None) is None


def test_a_lower_clock_is_a_factor_above_one():
    assert clock_factor(window(sm_clock_mhz=1980.0), window(sm_clock_mhz=1800.0)) == pytest.approx(1.1)
    assert clock_factor(window(), window(sm_clock_mhz=1800.0)) is None


def test_slow_steps():
    steps = (0.1,) * 90 + (0.3,) * 10
    assert p95_over_median(Trial(iteration_s=steps, t0_ns=0, t1_ns=1)) == pytest.approx(3.0)
    assert p95_over_median(Trial(iteration_s=(), t0_ns=0, t1_ns=1)) is None
