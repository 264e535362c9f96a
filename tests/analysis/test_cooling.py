"""From samples to a trace, how many minutes are missing, and two thermal tests compared."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputuner.analysis.cooling import limit_of, look, rise_times, told_rise, trace_of
from gputuner.analysis.cooling_compare import compared
from gputuner.analysis.thermal_end import missing_minutes
from gputuner.analysis.thermal_forecast import CLOSED_C, Band
from gputuner.analysis.thermal_trace import ThermalTrace
from gputuner.model.cards import Origin
from gputuner.model.points import Point
from gputuner.model.quantities import Quantity
from gputuner.model.samples import Sample

CORE, INSTANT, AVERAGE, FAN = (
    Quantity.CORE_TEMPERATURE_C,
    Quantity.POWER_INSTANT_W,
    Quantity.POWER_AVERAGE_W,
    Quantity.FAN_FRACTION,
)


def samples(count: int = 60, **more: float) -> list[Sample]:
    return [
        Sample(card="c", t_ns=i * 500_000_000, values={CORE: 40.0 + i, **{Quantity(k): v for k, v in more.items()}})
        for i in range(count)
    ]


def test_the_instant_power_counts_and_a_fan_read_seldom_holds():
    seen = samples(power_instant_w=300.0, power_average_w=200.0)
    seen[10] = replace(seen[10], values={**seen[10].values, FAN: 0.4})
    seen[40] = replace(seen[40], values={**seen[40].values, FAN: 0.6})
    trace = trace_of(seen, 5_000_000_000)
    assert trace is not None
    assert trace.fan_fraction is not None
    assert set(trace.power_w) == {300.0}
    assert (trace.fan_fraction[0], trace.fan_fraction[39], trace.fan_fraction[40]) == (0.4, 0.4, 0.6)
    assert trace.load_from_s == 5.0


def test_ticks_without_a_temperature_are_left_out_and_twice_the_same_time_counts_once():
    seen = samples(power_average_w=200.0)
    seen.insert(5, seen[4])
    seen[20] = replace(seen[20], values={AVERAGE: 200.0})
    trace = trace_of(seen, 0)
    assert trace is not None
    assert trace.t_s.size == 59
    assert trace.fan_fraction is None


def test_a_card_that_tells_no_power_gives_no_trace():
    assert trace_of(samples(), 0) is None
    assert trace_of(samples(count=5, power_average_w=100.0), 0) is None


def test_the_limit_is_what_the_margin_counts_down_to():
    """An H200 that reports a slowdown of 89 °C and keeps its core to 82."""
    margin = Quantity.SLOWDOWN_MARGIN_C
    seen = [
        replace(each, values={CORE: 60.0 + n % 3, margin: 22.0 - n % 3}) for n, each in enumerate(samples(count=60))
    ]
    assert limit_of(seen, 0) == 82.0
    assert limit_of(seen, 25_000_000_000) is None  # ten readings under load
    assert limit_of(samples(power_instant_w=300.0), 0) is None


@pytest.mark.parametrize(("low", "high", "told"), [(20.0, 190.0, True), (20.0, 210.0, False), (0.0, 45.0, True)])
def test_a_rise_time_over_more_than_tenfold_is_not_told(low: float, high: float, told: bool):
    assert told_rise(Band(low=low, median=30.0, high=high)) is told


@given(tau=st.floats(1.0, 8.0), first=st.floats(4.0, 20.0))
def test_the_missing_minutes_of_an_exponential_are_those_of_theory(tau: float, first: float):
    """w(m) = first · e^(−m/τ) is 1.5 at m = τ · ln(first / 1.5)."""
    looks = [(m, first * np.exp(-m / tau)) for m in (0.0, 1.0, 2.0, 3.0)]
    if looks[-1][1] <= CLOSED_C:
        return
    exact = tau * np.log(first / CLOSED_C) - 3.0
    missing = missing_minutes(looks)
    assert missing is not None
    assert exact - 1e-6 <= missing <= max(1.0, exact + 1.0 + 1e-6)


def test_a_band_that_does_not_close_tells_no_minutes():
    assert missing_minutes([(1.0, 4.0), (2.0, 4.0), (3.0, 4.5)]) is None
    assert missing_minutes([(1.0, 4.0)]) is None


def test_the_rise_times_are_those_of_the_lag():
    """One slow lag of 85 s with two thirds of the rise and a fast one: 90 % after 85 · ln(0.667/0.1) = 161 s."""
    t = np.arange(0.0, 960.0)
    after = np.maximum(0.0, t - 60.0)
    rise = 300.0 * (0.05 * -np.expm1(-after / 2.0) + 0.10 * -np.expm1(-after / 85.0))
    trace = ThermalTrace(t_s=t, temperature_c=22.0 + rise, power_w=np.where(t > 60.0, 300.0, 0.0), load_from_s=60.0)
    found = look(trace, room_c=22.0)
    assert found is not None
    times = rise_times(found.models, found.forecast)
    assert times["rise_90_s"].low <= 161.0 <= times["rise_90_s"].high + 5.0
    assert times["rise_90_s"].median == pytest.approx(161.0, rel=0.15)


def resistance(value: float, half: float, *, fan: float | None = 0.6, workload: str = "matmul") -> Point:
    extra: dict[str, object] = {"low90": value * (1 - half), "high90": value * (1 + half), "power_w": 300.0}
    if fan is not None:
        extra["fan_fraction"] = fan
    return Point(
        id="r",
        card="c",
        metric="thermal_resistance",
        workload=workload,
        params={},
        value=value,
        unit="K/W",
        origin=Origin.MEASURED,
        extra={**extra, "closed": True},  # type: ignore[dict-item]
    )


def test_a_new_cooler_that_paid():
    """0.16 → 0.12 K/W at 300 W: 12 K cooler, whatever the rooms were."""
    found = compared(resistance(0.16, 0.03), resistance(0.12, 0.03, fan=0.7))
    assert found.verdict == "better"
    assert found.degrees == pytest.approx(-12.0)
    assert found.degrees_low < -12.0 < found.degrees_high < 0.0
    assert found.fans_apart


def test_two_tests_of_the_same_cooler_show_no_difference():
    found = compared(resistance(0.150, 0.03), resistance(0.153, 0.03))
    assert found.verdict == "not_shown"
    assert found.degrees_low < 0.0 < found.degrees_high
    assert not found.fans_apart
    assert not compared(resistance(0.15, 0.03, fan=None), resistance(0.15, 0.03)).fans_apart
