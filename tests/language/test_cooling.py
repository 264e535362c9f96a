"""What is told of a thermal test: bounds of times, watts that no card takes, residuals."""

from gputuner.language.cooling import table
from gputuner.language.sentences import point_value
from gputuner.model.cards import Origin
from gputuner.model.points import Point
from gputuner.model.readings import Scalar


def told(metric: str, number: float, unit: str, low: float, high: float, **extra: Scalar) -> Point:
    return Point(
        id=metric, card="c", metric=metric, workload="matmul", params={"phase": "verdict", "load_min": 5.0},
        value=number, unit=unit, origin=Origin.MEASURED, extra={"low90": low, "high90": high, **extra},
    )  # fmt: skip


def test_a_rise_below_the_steps_of_the_fit_is_at_most_these():
    rise = told("rise_time", 5.0, "s", 5.0, 10.0, at_most=True)
    assert point_value(rise) == "≤ 5 s"
    assert table([rise]).rows[0][1:] == ("≤ 5 s", "≤ 5 s to 10 s")
    short = told("rise_time", 5.0, "s", 5.0, 5.0, at_most=True, high_at_most=True)
    assert table([short]).rows[0][1:] == ("≤ 5 s", "≤ 5 s")


def test_watts_that_the_card_never_takes_are_not_reached():
    sure = told("cooler_good_for", 1059.0, "W", 900.0, 1200.0, most_w=700.0)
    assert table([sure]).rows[0][1:] == (
        "not reached: the card takes 700 W at most",
        "900 W to 1200 W by calculation",
    )
    likely = told("cooler_good_for", 720.0, "W", 650.0, 800.0, most_w=700.0)
    assert table([likely]).rows[0][1].startswith("probably not reached")
    within = told("cooler_good_for", 500.0, "W", 450.0, 550.0, most_w=700.0)
    assert table([within]).rows[0][1:] == ("500 W", "450 W to 550 W")


def test_residuals_beyond_the_noise_are_shown():
    closed = told("thermal_resistance", 0.12, "K/W", 0.118, 0.122, misfit=1.0, closed=True)
    assert len(table([closed]).rows) == 1
    misfit = told("thermal_resistance", 0.12, "K/W", 0.1, 0.14, misfit=1.6, misfits=True, closed=False)
    (resistance, residuals) = table([misfit]).rows
    assert resistance[0].endswith("[open: not yet sure to 5 %]")
    assert residuals[1] == "1.6 × the noise of the readings"
