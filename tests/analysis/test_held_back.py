"""One cause for each situation, and the dearer of two."""

import pytest

from gputuner.analysis.held_back import Cause, Seen, held_back
from gputuner.model.points import Conditions
from gputuner.model.quantities import Limiter


def conditions(busy=1.0, **limited):
    return Conditions(
        duration_s=10.0, samples=20, sm_clock_mhz=1485.0, gpu_utilisation=busy,
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


def test_what_a_limit_cost_is_told():
    told = held_back(Seen(conditions=conditions(power=9.0), of_peak=0.95, clock_share=0.75))
    assert (told.share, told.lost) == (pytest.approx(0.9), pytest.approx(0.25))
