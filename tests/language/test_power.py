"""Tables of a power sweep: what is told as within 0.3 % is seen to be, and what was corrected says so."""

from gputuner.language import power
from gputuner.model.points import Point
from gputuner.model.readings import Scalar


def fastest(**extra: Scalar) -> Point:
    told: dict[str, Scalar] = {"low95": 309.0, "high95": 398.0, "rate_change": -0.00299, "energy_change": -0.0004}
    return Point(
        id="a", card="GPU-1", metric="power_fastest", workload="resnet50", params={}, value=312.0, unit="W",
        extra=told | extra,
    )  # fmt: skip


def test_changes_are_told_in_tenths_of_a_per_cent():
    assert power.answers_table([fastest()]).rows[0][3:5] == ("-0.3 %", "+0.0 %")


def test_rates_with_heat_taken_out_say_so():
    assert not any("heat" in line for line in power.lines([fastest()]))
    (line,) = power.lines([fastest(heat_per_k=-0.00087)])
    assert "-0.087 % for each K" in line
