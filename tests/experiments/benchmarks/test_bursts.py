"""What held a setting back that was measured in bursts: its own limits, against the time under load."""

import pytest

from gputuner.analysis.limits import limit_flags
from gputuner.experiments.benchmarks.bursts import burst_conditions, burst_flags
from gputuner.model.points import Conditions, Flag
from gputuner.model.quantities import Limiter
from gputuner.model.steps import Part


def part(lowered=0.0, **notes):
    told = {"loaded_share": 0.25, "clock_mhz": 1980.0, "clock_lowered_share": lowered, **notes}
    return Part(params={"phase": "bursts"}, iteration_s=(0.001,) * 24, t0_ns=0, t1_ns=800_000_000, notes=told)


def seen(seconds, *, sampled=False, **limited):
    limits = {Limiter(name): on_s for name, on_s in limited.items()}
    return Conditions(
        duration_s=seconds, samples=2, power_w=280.0, energy_j=224.0, sm_clock_mhz=1980.0, memory_clock_mhz=3201.0,
        gpu_utilisation=0.25, limited_s=limits, limited_from_samples=sampled,
    )  # fmt: skip


def told(measured, own, whole):
    conditions, _ = burst_conditions(measured, own, whole)
    return conditions, (*limit_flags(conditions), *burst_flags(measured, conditions))


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


def test_a_sampled_power_limit_is_not_put_down_to_bursts_at_the_full_clock():
    conditions, flags = told(part(lowered=0.0), seen(0.8, sampled=True, power=0.4, power_brake=0.1), seen(13.0))
    assert conditions.limited_s == {Limiter.POWER: 0.0, Limiter.POWER_BRAKE: 0.0}
    assert flags == ()


def test_heat_outlasts_a_pause_and_lowers_the_resting_clock_too():
    _, flags = told(part(lowered=0.0), seen(0.8, sampled=True, thermal_software=0.4), seen(13.0))
    assert flags == (Flag.THROTTLED_THERMAL,)


def test_a_power_limit_that_no_clock_contradicts_stands():
    unmeasured = Part(params={"phase": "bursts"}, iteration_s=(0.001,), t0_ns=0, t1_ns=1, notes={"loaded_share": 0.25})
    _, flags = told(unmeasured, seen(0.8, sampled=True, power=0.4), seen(13.0))
    assert flags == (Flag.THROTTLED_POWER,)


@pytest.mark.parametrize(("lowered", "flags"), [(0.09, ()), (0.1, (Flag.CLOCK_LOWERED,)), (1.0, (Flag.CLOCK_LOWERED,))])
def test_a_lower_clock_without_any_limit_says_that_the_cause_was_not_seen(lowered, flags):
    conditions, found = told(part(lowered=lowered), seen(0.8, power=0.0), seen(13.0, power=0.0))
    assert (conditions.limited_s, found) == ({Limiter.POWER: 0.0}, flags)


def test_a_lower_clock_of_which_nothing_else_is_known_is_told_too():
    assert burst_flags(part(lowered=0.5), None) == (Flag.CLOCK_LOWERED,)


def test_means_over_pauses_are_not_told_as_those_of_the_bursts():
    conditions, extra = burst_conditions(part(), seen(0.8), None)
    assert (conditions.power_w, conditions.energy_j, conditions.sm_clock_mhz, conditions.gpu_utilisation) == (None,) * 4
    assert conditions.memory_clock_mhz == 3201.0  # pauses do not change it
    assert (conditions.samples, extra) == (2, {"mean_power_w": 280.0})


def test_without_telemetry_there_are_no_conditions():
    assert burst_conditions(part(), None, None) == (None, {})
