"""Hours at a temperature, thermal cycles and time in limits, from steps of ten seconds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputuner.analysis.wear_hours import by_degree, classed, histogram, limited_seconds, thermal_cycles
from gputuner.analysis.wear_trace import Heat, WearTrace, observed_seconds, told_once
from gputuner.model.quantities import LimitBit, Limiter, Quantity


def trace(low, high=None, t_s=None, seconds=None, bits=None, counters=None):
    low = np.asarray(low, dtype=float)
    high = low if high is None else np.asarray(high, dtype=float)
    n = low.size
    nan = np.full(n, np.nan)
    return WearTrace(
        t_s=np.arange(n) * 10.0 if t_s is None else np.asarray(t_s, dtype=float),
        seconds=np.full(n, 10.0) if seconds is None else np.asarray(seconds, dtype=float),
        heat={"core": Heat(low=low, mean=0.5 * (low + high), high=high)},
        power_w=nan,
        fan=nan,
        busy=nan,
        traffic=nan,
        limit_bits=np.full(n, -1) if bits is None else np.asarray(bits),
        counters=counters or {},
    )


def seconds_above(one, limit_c):
    found = histogram(by_degree(one, one.heat["core"]))
    return 0.0 if found is None else found.above(limit_c)


def test_steps_that_stand_count_whole():
    one = trace([69, 70, 71, 80])
    assert [seconds_above(one, c) for c in (69, 70, 71, 72, 81)] == [40, 30, 20, 10, 0]


def test_a_step_across_the_limit_counts_its_share():
    assert seconds_above(trace([68], [71]), 70) == pytest.approx(5.0)


def test_what_another_session_told_counts_once():
    one = trace([75, 75, 75, 75])
    again = told_once(one, [(0.0, 20.0)])
    assert seconds_above(again, 70) == 20
    assert again.seconds.sum() == 20


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(20, 95), st.integers(0, 15)), min_size=1, max_size=40))
def test_no_second_is_lost_or_made(steps):
    low = [a for a, _ in steps]
    high = [a + b for a, b in steps]
    found = histogram(by_degree(trace(low, high), trace(low, high).heat["core"]))
    assert found.total_s == pytest.approx(10.0 * len(steps))
    assert found.above(min(low)) == pytest.approx(found.total_s)
    assert found.above(max(high) + 1) == 0
    at_least = sum(10.0 for a in low if a >= 60)
    at_most = sum(10.0 for b in high if b >= 60)
    assert at_least - 1e-6 <= found.above(60) <= at_most + 1e-6


def test_a_sensor_that_tells_nonsense_is_left_out():
    assert histogram(by_degree(trace([70, 4e6, -3e5]), trace([70, 4e6, -3e5]).heat["core"])).total_s == 10


def test_peaks_within_a_step_make_the_cycle():
    low, high = [30, 31, 78, 79, 31, 30], [31, 79, 80, 80, 79, 31]
    found = thermal_cycles(trace(low, high), trace(low, high).heat["core"])
    assert max(c.swing for c in found) == 50


def test_a_pause_is_no_cycle():
    warm, cold = [30, 80, 80], [30, 30, 80]
    whole = trace([*warm, *cold])
    parted = trace([*warm, *cold], t_s=[0, 10, 20, 5000, 5010, 5020])
    assert sum(c.count for c in thermal_cycles(whole, whole.heat["core"])) == 1.5
    assert sum(c.count for c in thermal_cycles(parted, parted.heat["core"])) == 1.0


def test_classes_hold_every_cycle_once():
    one = trace([30, 80, 60, 72, 30, 37, 30])
    found = thermal_cycles(one, one.heat["core"])
    classes = classed(found)
    assert sum(c.count for c in classes) == sum(c.count for c in found)
    assert [c.count for c in classes if c.low_k == 10] == [1.0]
    assert [(c.largest_k, c.count) for c in classes if c.low_k == 40] == [(50, 1.0)]


def test_time_in_limits_is_what_the_counters_grew_by():
    told = np.array([5e9, 6e9, np.nan, 9e9, 1e9, 2e9])  # the driver was loaded again before the fifth
    one = trace(np.full(6, 60.0), counters={Quantity.LIMITED_THERMAL_SOFTWARE_NS: told})
    assert limited_seconds(one) == {Limiter.THERMAL_SOFTWARE: pytest.approx(5.0)}


def test_without_counters_the_sampled_reasons_tell_it():
    bits = [0, LimitBit.SW_POWER_CAP, LimitBit.SW_POWER_CAP, LimitBit.HW_THERMAL, LimitBit.IDLE, -1]
    assert limited_seconds(trace(np.full(6, 60.0), bits=bits)) == {
        Limiter.POWER: 20.0,
        Limiter.THERMAL_HARDWARE: 10.0,
    }


def test_the_last_step_before_a_pause_counts_its_share():
    rows = np.array([20, 20, 5, 20, 10], dtype=float)
    t_s = np.array([0, 10, 20, 500, 510], dtype=float)
    assert observed_seconds(t_s, rows, 10.0).tolist() == [10, 10, 2.5, 10, 5]


def test_slow_sampling_is_no_pause():
    t_s = np.array([0, 30, 60, 90], dtype=float)
    assert observed_seconds(t_s, np.ones(4), 10.0).sum() == 120
