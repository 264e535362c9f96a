"""What held a setting back that was measured in bursts: its own limits, against the time under load."""

import pytest

from gputuner.analysis.limits import limit_flags
from gputuner.experiments.benchmarks.bursts import burst_conditions
from gputuner.model.points import Conditions, Flag
from gputuner.model.quantities import Limiter
from gputuner.model.steps import Part


def part(lowered=0.0, **notes):
    told = {"loaded_share": 0.25, "clock_mhz": 1980.0, "clock_lowered_share": lowered, **notes}
    return Part(params={"phase": "bursts"}, iteration_s=(0.001,) * 24, t0_ns=0, t1_ns=800_000_000, notes=told)


def seen(seconds, **limited):
    limits = {Limiter(name): on_s for name, on_s in limited.items()}
    return Conditions(
        duration_s=seconds, samples=2, power_w=280.0, energy_j=224.0, sm_clock_mhz=1980.0, memory_clock_mhz=3201.0,
        gpu_utilisation=0.25, limited_s=limits,
    )  # fmt: skip


def told(measured, own, whole):
    conditions, _ = burst_conditions(measured, own, whole)
    return conditions, limit_flags(conditions)


def test_limits_count_against_the_time_under_load():
    # 20 ms of 800: 2.5 % of the span, but a tenth of the 200 ms under load
    conditions, flags = told(part(), seen(0.8, power=0.02), seen(13.0))
    assert conditions.duration_s == pytest.approx(0.2)
    assert flags == (Flag.THROTTLED_POWER,)


def test_a_limit_cannot_hold_for_longer_than_the_load():
    conditions, _ = told(part(), seen(0.8, power=0.8), seen(13.0))
    assert conditions.limited_s[Limiter.POWER] == pytest.approx(conditions.duration_s)


def test_a_limit_in_the_time_of_other_settings_is_not_put_down_to_this_one():
    conditions, flags = told(part(lowered=0.0), seen(0.8, power=0.0), seen(13.0, power=2.0))
    assert conditions.limited_s == {Limiter.POWER: 0.0}
    assert flags == ()


def test_a_limit_that_every_reading_missed_shows_in_the_clock_of_the_bursts():
    conditions, flags = told(part(lowered=0.5), seen(0.8, power=0.0), seen(13.0, power=0.9, user_cap=0.1))
    assert conditions.limited_s[Limiter.POWER] == pytest.approx(0.5 * conditions.duration_s)
    assert flags == (Flag.THROTTLED_POWER,)


def test_heat_is_named_where_heat_was_on():
    _, flags = told(part(lowered=0.2), seen(0.8), seen(13.0, thermal_software=3.0, power=0.5))
    assert flags == (Flag.THROTTLED_THERMAL,)


def test_a_lower_clock_without_any_limit_is_named_after_none():
    # many cards boost higher at a light load, which is no limit
    conditions, flags = told(part(lowered=1.0), seen(0.8, power=0.0), seen(13.0, power=0.0))
    assert (conditions.limited_s, flags) == ({Limiter.POWER: 0.0}, ())


def test_means_over_pauses_are_not_told_as_those_of_the_bursts():
    conditions, extra = burst_conditions(part(), seen(0.8), None)
    assert (conditions.power_w, conditions.energy_j, conditions.sm_clock_mhz, conditions.gpu_utilisation) == (None,) * 4
    assert conditions.memory_clock_mhz == 3201.0  # pauses do not change it
    assert (conditions.samples, extra) == (2, {"mean_power_w": 280.0})


def test_without_telemetry_there_are_no_conditions():
    assert burst_conditions(part(), None, None) == (None, {})
