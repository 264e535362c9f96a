"""Hours at a temperature, thermal cycles and time in limits, from steps of ten seconds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputuner.analysis.rainflow import cycles
from gputuner.analysis.wear_hours import by_degree, classed, course, histogram, limited_seconds, thermal_cycles
from gputuner.analysis.wear_trace import Heat, WearTrace, observed_seconds, told_once
from gputuner.model.quantities import Limiter, Quantity


def trace(low, high=None, t_s=None, seconds=None, limited=None, counters=None):
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
        limited=limited or {},
        counters=counters or {},
    )


def counted(*traces):
    return thermal_cycles([course(one, one.heat["core"]) for one in traces])


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
    assert max(c.swing for c in counted(trace(low, high))) == 50


@pytest.mark.parametrize("amplitude", [10, 20])
@pytest.mark.parametrize("period_s", [20, 25, 30, 40, 50, 60, 120])
def test_a_wave_has_as_many_cycles_as_periods_and_no_smaller_ones(period_s, amplitude):
    t_s = np.arange(0, 3600, 0.5)
    read = np.rint(70 + amplitude * np.sin(2 * np.pi * t_s / period_s + 0.3)).reshape(-1, 20)
    found = counted(trace(read.min(axis=1), read.max(axis=1)))
    full = 3600 / period_s - 0.5  # between the first peak and the last one; the rest are two open ends
    assert sum(c.count for c in found if c.swing == 2 * amplitude) == full
    assert sum(c.count for c in found) <= full + 1.0


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(30, 90), min_size=4, max_size=60))
def test_steps_never_tell_more_than_the_readings_in_them(readings):
    read = np.array(readings[: len(readings) // 4 * 4], dtype=float).reshape(-1, 4)
    low, high = read.min(axis=1), read.max(axis=1)
    way = course(trace(low, high), trace(low, high).heat["core"])[1]
    assert np.abs(np.diff(way)).sum() <= np.abs(np.diff(read.ravel())).sum()
    assert sorted(way) == sorted([*low, *high])
    largest = max((c.swing for c in cycles(read.ravel())), default=0.0)
    assert max((c.swing for c in cycles(way)), default=0.0) == largest


def test_a_pause_counts_by_its_two_ends():
    warm, cold = [30, 80, 80], [30, 30, 80]
    parted = trace([*warm, *cold], t_s=[0, 10, 20, 5000, 5010, 5020])
    assert sum(c.count for c in counted(parted)) == sum(c.count for c in counted(trace([*warm, *cold]))) == 1.5


def test_sessions_that_end_hot_and_begin_cold_tell_that_the_card_cooled_between():
    warming = np.minimum(75, 30 + 3.0 * np.arange(60))
    sessions = [trace(warming, t_s=86400.0 * n + 10.0 * np.arange(60)) for n in range(30)]
    found = counted(*reversed(sessions))
    assert sum(c.count for c in found) == 29.5  # 30 ways up, 29 ways down
    assert {c.swing for c in found} == {45.0}


def test_one_that_stays_hot_over_night_has_no_cycle_in_it():
    first, second = trace([30, 75, 75]), trace([75, 75, 30], t_s=[86400, 86410, 86420])
    assert sum(c.count for c in counted(first, second)) == 1.0


def test_classes_hold_every_cycle_once():
    one = trace([30, 80, 60, 72, 30, 37, 30])
    found = counted(one)
    classes = classed(found)
    assert sum(c.count for c in classes) == sum(c.count for c in found)
    assert [c.count for c in classes if c.low_k == 10] == [1.0]
    assert [(c.largest_k, c.count) for c in classes if c.low_k == 40] == [(50, 1.0)]


def test_time_in_limits_is_what_the_counters_grew_by():
    told = np.array([5e9, 6e9, np.nan, 9e9, 1e9, 2e9])  # the driver was loaded again before the fifth
    one = trace(np.full(6, 60.0), counters={Quantity.LIMITED_THERMAL_SOFTWARE_NS: told})
    assert limited_seconds(one) == {Limiter.THERMAL_SOFTWARE: pytest.approx(5.0)}


@pytest.mark.parametrize("again_ns", [3600e9, 0.0])
def test_a_counter_that_grew_in_a_pause_tells_nothing_of_what_was_observed(again_ns):
    t_s = 10.0 * np.arange(360) + np.where(np.arange(360) < 180, 0.0, 3600.0)
    told = 10e9 * np.arange(360) + np.where(np.arange(360) < 180, 0.0, again_ns)
    one = trace(np.full(360, 80.0), t_s=t_s, counters={Quantity.LIMITED_THERMAL_SOFTWARE_NS: told})
    assert one.seconds.sum() == 3600
    # all the time in the limit; of each part the time before its first reading is not known
    assert limited_seconds(one)[Limiter.THERMAL_SOFTWARE] == pytest.approx(2 * 1790)


def test_no_limit_holds_for_longer_than_was_observed():
    told = np.array([0.0, 10e9, 34e9])  # 14 s of silence within the second step, which is no pause
    one = trace([80, 80, 80], seconds=[10, 10, 10], counters={Quantity.LIMITED_THERMAL_SOFTWARE_NS: told})
    assert limited_seconds(one) == {Limiter.THERMAL_SOFTWARE: 30.0}


def test_without_counters_the_sampled_reasons_tell_it():
    power = np.array([0, 1, 1, 0, 0.4, np.nan])
    assert limited_seconds(trace(np.full(6, 60.0), limited={Limiter.POWER: power})) == {Limiter.POWER: 24.0}


def test_each_limit_without_a_counter_of_its_own_is_told_by_the_sampled_reasons():
    n = 360
    one = trace(
        np.full(n, 80.0),
        counters={Quantity.LIMITED_POWER_NS: np.zeros(n), Quantity.LIMITED_THERMAL_SOFTWARE_NS: np.full(n, np.nan)},
        limited={Limiter.THERMAL_SOFTWARE: np.ones(n)},
    )
    assert limited_seconds(one) == {Limiter.POWER: 0.0, Limiter.THERMAL_SOFTWARE: 3600.0}


def test_the_last_step_before_a_pause_counts_its_share():
    rows = np.array([20, 20, 5, 20, 10], dtype=float)
    t_s = np.array([0, 10, 20, 500, 510], dtype=float)
    assert observed_seconds(t_s, rows, 10.0).tolist() == [10, 10, 2.5, 10, 5]


def test_slow_sampling_is_no_pause():
    t_s = np.array([0, 30, 60, 90], dtype=float)
    assert observed_seconds(t_s, np.ones(4), 10.0).sum() == 120
