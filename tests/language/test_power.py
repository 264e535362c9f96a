"""Tables of a power sweep: what is told as within 0.3 % is seen to be, and what was corrected says so."""

from gputuner.language import power, sentences
from gputuner.model.points import Point
from gputuner.model.readings import Scalar


def fastest(**extra: Scalar) -> Point:
    told: dict[str, Scalar] = {"low95": 309.0, "high95": 398.0, "rate_change": -0.00299, "energy_change": -0.0004}
    return Point(
        id="a", card="GPU-1", metric="power_fastest", workload="resnet50", params={}, value=312.0, unit="W",
        extra=told | extra,
    )  # fmt: skip


def rate(cap_w: float, visit: int) -> Point:
    params: dict[str, Scalar] = {"batch": 64, "cap_w": cap_w, "visit": visit}
    return Point(
        id=f"{cap_w}-{visit}", card="GPU-1", metric="power_rate", workload="resnet50", params=params, value=100.0,
        unit="samples/s",
    )  # fmt: skip


def test_visits_of_stored_sessions_are_counted_apart():
    table = power.table([rate(300.0, 0), rate(300.0, 0), rate(450.0, 1)])
    assert [row[table.headers.index("of those stored")] for row in table.rows] == ["2", ""]
    assert "of those stored" not in power.table([rate(300.0, 1), rate(450.0, 1)]).headers


def test_a_stored_visit_has_no_number():
    assert "from a stored session" in sentences.settings(rate(300.0, 0).params)
    assert "visit 1" in sentences.settings(rate(300.0, 1).params)


def test_changes_are_told_in_tenths_of_a_per_cent():
    assert power.answers_table([fastest()]).rows[0][3:5] == ("-0.3 %", "+0.0 %")


def plateau(**extra: Scalar) -> Point:
    return Point(
        id="p", card="GPU-1", metric="power_plateau", workload="resnet50", params={}, value=331.0, unit="W", extra=extra
    )  # fmt: skip


def test_a_range_is_told_apart_from_an_interval():
    swept = power.answers_table([fastest(), plateau(range_low=294.0, range_high=312.0)])
    interval, begins = (swept.headers.index(name) for name in ("95 %", "begins in"))
    assert [(row[interval], row[begins]) for row in swept.rows] == [("309 … 398", ""), ("", "294 … 312")]
    told = "\n".join(power.lines([fastest(), plateau(range_low=294.0, range_high=312.0)]))
    assert "between two settings" in told


def test_a_limit_above_the_highest_reading_has_no_interval():
    found = plateau(range_low=314.0, range_high=331.0, peak_w=314.0)
    assert "95 %" not in power.answers_table([found]).headers
    assert "314 … 331" in power.answers_table([found]).rows[0]
    (line,) = power.lines([found])
    assert "no other limit was tried" in line.lower()


def test_the_range_of_a_sweep_that_was_stored_as_an_interval_is_told_as_a_range():
    table = power.answers_table([plateau(low95=294.0, high95=312.0)])
    assert "95 %" not in table.headers
    assert table.rows[0][table.headers.index("begins in")] == "294 … 312"


def test_rates_with_heat_taken_out_say_so():
    assert not any("heat" in line for line in power.lines([fastest()]))
    (line,) = power.lines([fastest(heat_per_k=-0.00087)])
    assert "-0.087 % for each K" in line
