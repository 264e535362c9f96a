from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputuner.analysis.heat import HeatState, Lag, lag_step, steady_temperature, step_rise, total_resistance

LAGS = (Lag(resistance_k_per_w=0.02, tau_s=0.05), Lag(resistance_k_per_w=0.08, tau_s=60.0))


def test_steady_state_is_power_times_total_resistance():
    assert total_resistance(LAGS) == pytest.approx(0.10)
    assert steady_temperature(LAGS, 400, 25) == pytest.approx(65)


def test_step_response_is_the_sum_of_exponentials():
    expected = 300 * (0.02 * (1 - exp(-1 / 0.05)) + 0.08 * (1 - exp(-1 / 60)))
    assert step_rise(LAGS, 300, 1.0) == pytest.approx(expected)


@given(
    st.floats(min_value=1, max_value=700),
    st.lists(st.floats(min_value=1e-4, max_value=30), min_size=1, max_size=20),
)
def test_the_state_is_exact_whatever_the_steps(power_w, steps):
    state = HeatState(LAGS)
    for dt in steps:
        state.advance(power_w, dt)
    assert state.rise_k == pytest.approx(step_rise(LAGS, power_w, sum(steps)), rel=1e-9)


def test_a_slower_fan_scales_the_rise():
    state = HeatState(LAGS)
    state.settle(200, scale=2.0)
    assert state.rise_k == pytest.approx(2 * 200 * 0.10)
    state.advance(0, 1e6)
    assert state.rise_k == pytest.approx(0, abs=1e-9)


def test_a_lag_moves_by_its_time_constant():
    assert lag_step(0.0, 10.0, 5.0, 5.0) == pytest.approx(10 * (1 - exp(-1)))
    assert lag_step(3.0, 3.0, 5.0, 1.0) == 3.0
