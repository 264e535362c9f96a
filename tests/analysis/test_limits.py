"""What held the clock back."""

from gputuner.analysis.limits import limit_flags, link_below_max, memory_heat_suspected, share, what_limits
from gputuner.model.points import Conditions, Flag
from gputuner.model.quantities import Limiter


def window(seconds: float = 10.0, **limited: float) -> Conditions:
    return Conditions(
        duration_s=seconds,
        samples=20,
        core_temperature_end_c=62.0,
        limited_s={Limiter(name): value for name, value in limited.items()},
    )


def test_the_longest_limit_is_named():
    held = what_limits([window(power=9.0), window(power=1.0)])
    assert (held.limiter, held.share) == (Limiter.POWER, 0.5)


def test_heat_is_named_before_power_since_it_can_be_mended():
    assert what_limits([window(power=9.0, thermal_software=0.5)]).limiter is Limiter.THERMAL_SOFTWARE
    assert what_limits([window(power=9.0, thermal_software=5.0, thermal_hardware=0.2)]).limiter is (
        Limiter.THERMAL_HARDWARE
    )


def test_none_and_unknown():
    assert what_limits([window(idle=5.0)]).limiter is Limiter.NONE
    assert what_limits([]).limiter is Limiter.UNKNOWN


def test_shares_and_flags():
    assert share(window(power=2.5), Limiter.POWER) == 0.25
    assert share(window(power=8.0, power_brake=8.0), Limiter.POWER, Limiter.POWER_BRAKE) == 1.0
    assert limit_flags(window(power=0.4)) == ()
    assert limit_flags(window(power=0.6)) == (Flag.THROTTLED_POWER,)
    assert limit_flags(window(thermal_software=0.2)) == (Flag.THROTTLED_THERMAL,)
    assert limit_flags(None) == ()


def test_memory_heat_is_suspected_only_with_a_cool_core():
    hot = window(thermal_software=3.0)
    assert memory_heat_suspected(hot, target_c=83.0, slowdown_c=93.0) == 0.3
    assert memory_heat_suspected(hot, target_c=65.0, slowdown_c=93.0) is None
    assert memory_heat_suspected(hot, target_c=None, slowdown_c=70.0) is None
    assert memory_heat_suspected(hot, target_c=None, slowdown_c=93.0) == 0.3
    assert memory_heat_suspected(hot, target_c=None, slowdown_c=None) is None
    assert memory_heat_suspected(window(power=3.0), target_c=83.0, slowdown_c=93.0) is None


def test_a_link_is_below_its_maximum_only_where_both_are_known():
    seen = Conditions(duration_s=5.0, pcie_generation=4, pcie_width=8)
    assert link_below_max(seen, generation_max=4, width_max=16) is True
    assert link_below_max(seen, generation_max=4, width_max=8) is False
    assert link_below_max(seen, generation_max=5, width_max=None) is True
    assert link_below_max(seen, generation_max=None, width_max=None) is None
    assert link_below_max(Conditions(duration_s=5.0), generation_max=4, width_max=16) is None
    assert link_below_max(None, generation_max=4, width_max=16) is None
