"""One limiter out of a mask of reasons."""

import pytest

from gputuner.model.quantities import LimitBit, Limiter, limiter_of


@pytest.mark.parametrize(
    ("bits", "limiter"),
    [
        (LimitBit.HW_SLOWDOWN, Limiter.HARDWARE),
        (LimitBit.HW_SLOWDOWN | LimitBit.SW_POWER_CAP, Limiter.HARDWARE),
        (LimitBit.HW_SLOWDOWN | LimitBit.HW_THERMAL, Limiter.THERMAL_HARDWARE),
        (LimitBit.HW_SLOWDOWN | LimitBit.HW_POWER_BRAKE, Limiter.POWER_BRAKE),
        (LimitBit.HW_THERMAL, Limiter.THERMAL_HARDWARE),
        (LimitBit.SW_THERMAL | LimitBit.SW_POWER_CAP, Limiter.THERMAL_SOFTWARE),
        (LimitBit.IDLE, Limiter.IDLE),
        (0, Limiter.NONE),
        (0x400, Limiter.UNKNOWN),
        (None, Limiter.UNKNOWN),
    ],
)
def test_only_the_bit_of_heat_is_heat(bits: int | None, limiter: Limiter):
    """nvml.h: 0x8 may mean heat, a power brake, fast power capping, or a change of the P-state; 0x40 means heat."""
    assert limiter_of(bits) is limiter
