"""One cause for each situation, and the dearer of two."""

import pytest

from gputuner.analysis.held_back import Cause, Seen, held_back
from gputuner.model.points import Conditions
from gputuner.model.quantities import Limiter


def conditions(busy=1.0, seconds=10.0, **limited):
    return Conditions(
        duration_s=seconds, samples=20, sm_clock_mhz=1485.0, gpu_utilisation=busy,
        limited_s={Limiter(name): seconds for name, seconds in limited.items()},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("seen", "cause"),
    [
        (Seen(conditions=conditions(), of_peak=0.93, clock_share=1.0), Cause.NOTHING),
        (Seen(conditions=conditions(), of_peak=0.55, clock_share=1.0), Cause.SOFTWARE),
        (Seen(conditions=conditions(power=9.0), of_peak=0.93, clock_share=0.75), Cause.POWER_CAP),
        (Seen(conditions=conditions(power=9.0), of_peak=0.93, clock_share=0.99), Cause.NOTHING),
        (Seen(conditions=conditions(thermal_software=2.0), of_peak=0.93, clock_share=0.8), Cause.THERMAL),
        (Seen(conditions=conditions(user_cap=10.0), of_peak=0.95, clock_share=0.6), Cause.USER_CAP),
        (Seen(conditions=conditions(busy=0.4), of_peak=0.3, clock_share=1.0), Cause.HOST),
        (
            Seen(conditions=conditions(), of_peak=0.2, clock_share=1.0, memory_bound=True, of_slope=0.85),
            Cause.MEMORY_BANDWIDTH,
        ),
        (Seen(conditions=conditions(), of_peak=0.2, memory_bound=True, of_slope=0.2), Cause.SOFTWARE),
        (Seen(conditions=conditions(), of_peak=0.6, memory_bound=True, of_slope=1.4), Cause.SOFTWARE),
        (Seen(conditions=conditions(), of_peak=0.5, traffic_unknown=True), Cause.SOFTWARE_OR_MEMORY),
        (Seen(conditions=conditions(), of_peak=0.87), Cause.SOFTWARE),
        (Seen(conditions=conditions(), of_peak=0.87, dram=True), Cause.NOTHING),
        (Seen(conditions=conditions(), of_peak=0.84, dram=True), Cause.SOFTWARE),
        (Seen(conditions=conditions(busy=0.02), of_peak=0.8, clock_share=1.0, cold=True), Cause.SOFTWARE),
        (Seen(conditions=conditions(busy=0.02, seconds=1.5), of_peak=0.8, clock_share=1.0), Cause.SOFTWARE),
        (Seen(conditions=conditions(busy=0.02, seconds=2.5), of_peak=0.8, clock_share=1.0), Cause.HOST),
        (Seen(conditions=conditions(), clock_share=1.0), Cause.NO_LIMIT_SEEN),
        (Seen(conditions=None, of_peak=0.8), Cause.UNKNOWN),
        (Seen(conditions=None, of_peak=0.95), Cause.NOTHING),
        (Seen(conditions=Conditions(duration_s=0.1)), Cause.UNKNOWN),
        (Seen(conditions=conditions(), shared=True, of_peak=0.5), Cause.SHARED),
        (Seen(conditions=conditions(), emulated=True), Cause.EMULATED),
        (Seen(conditions=conditions(), starved=0.3), Cause.LOADER),
        (Seen(conditions=conditions(), over_link=True, link_below_max=True, of_link=0.9), Cause.LINK),
        (Seen(conditions=conditions(), over_link=True, of_link=0.86), Cause.NOTHING),
        (Seen(conditions=conditions(), over_link=True, of_link=0.4), Cause.HOST),
    ],
)
def test_the_cause(seen, cause):
    assert held_back(seen).cause is cause


def test_the_dearer_of_two_is_named():
    """A clock 25 % down costs more than 7 % of software, but less than 50 % of it."""
    limited = conditions(power=9.0)
    assert held_back(Seen(conditions=limited, of_peak=0.93, clock_share=0.75)).cause is Cause.POWER_CAP
    assert held_back(Seen(conditions=limited, of_peak=0.5, clock_share=0.75)).cause is Cause.SOFTWARE


def test_a_limit_that_was_barely_on_is_not_what_the_clock_lost_to():
    """Heat 1.5 % of the time, power 95 %, the clock 20 % down: the loss is the power limit's."""
    told = held_back(Seen(conditions=conditions(power=9.5, thermal_software=0.15), of_peak=0.93, clock_share=0.8))
    assert (told.cause, told.share, told.lost) == (Cause.POWER_CAP, pytest.approx(0.95), pytest.approx(0.2))
    assert (told.beside, told.beside_share) == (Cause.THERMAL, pytest.approx(0.015))
    equal = held_back(Seen(conditions=conditions(power=6.0, thermal_software=6.0), of_peak=0.93, clock_share=0.8))
    assert (equal.cause, equal.beside, equal.lost) == (Cause.THERMAL, Cause.POWER_CAP, pytest.approx(0.2))


def test_a_median_clock_is_not_put_down_to_a_limit_of_a_third_of_the_time():
    seldom = conditions(power=3.0)
    near = held_back(Seen(conditions=seldom, of_peak=0.93, clock_share=0.8))
    assert (near.cause, near.share, near.lost) == (Cause.POWER_CAP, pytest.approx(0.3), None)
    assert held_back(Seen(conditions=seldom, of_peak=0.85, clock_share=0.8)).cause is Cause.SOFTWARE
    two = held_back(Seen(conditions=conditions(power=3.0, thermal_software=4.0), of_peak=0.85, clock_share=0.8))
    assert (two.cause, two.lost) == (Cause.THERMAL, None), "both together explain it, none of them alone"


@pytest.mark.parametrize(
    ("clock_share", "cause"), [(9501 / 9751, Cause.SOFTWARE), (4513 / 5005, Cause.SOFTWARE), (0.5, Cause.POWER_CAP)]
)
def test_the_memory_clock_of_p2_is_no_power_limit(clock_share, cause):
    """An RTX 3090 and a GTX 1080 compute in P2; half of the memory clock is another matter."""
    capped = conditions(power=9.0)
    assert held_back(Seen(conditions=capped, of_peak=0.8, clock_share=clock_share, dram=True)).cause is cause
    assert held_back(Seen(conditions=capped, of_peak=0.9, clock_share=9501 / 9751, dram=True)).cause is Cause.NOTHING
    assert held_back(Seen(conditions=capped, of_peak=0.8, dram=True)).cause is Cause.SOFTWARE


def test_a_lower_clock_costs_memory_bound_work_nothing():
    """On the slope at the lowered clock: the memory is what binds, though the clock lost more than the rest."""
    told = held_back(
        Seen(conditions=conditions(power=9.0), of_peak=0.7, clock_share=0.6, memory_bound=True, of_slope=0.95)
    )
    assert told.cause is Cause.MEMORY_BANDWIDTH


def test_what_cannot_be_compared_is_not_called_most():
    limited = conditions(power=9.0)
    no_peak = held_back(Seen(conditions=limited, clock_share=0.75))
    assert (no_peak.cause, no_peak.lost, no_peak.most) == (Cause.POWER_CAP, pytest.approx(0.25), False)
    no_clock = held_back(Seen(conditions=limited, of_peak=0.5))
    assert (no_clock.cause, no_clock.beside, no_clock.most) == (Cause.SOFTWARE, Cause.POWER_CAP, False)
    assert held_back(Seen(conditions=limited, of_peak=0.5, clock_share=0.75)).most


def test_what_a_limit_cost_is_told():
    told = held_back(Seen(conditions=conditions(power=9.0), of_peak=0.95, clock_share=0.75))
    assert (told.share, told.lost) == (pytest.approx(0.9), pytest.approx(0.25))
