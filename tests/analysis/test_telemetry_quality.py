"""Readings that cannot be believed."""

import csv
from datetime import datetime
from pathlib import Path
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputuner.analysis.telemetry_quality import NEAR_S, STUCK, SourceSeries, compare_sources, stuck_temperature
from gputuner.model.quantities import Quantity

CASE = Path(__file__).parents[1] / "data" / "telemetry" / "c023_temp_stuck.csv"


def read_case() -> tuple[list[float], list[float], list[float]]:
    with CASE.open(encoding="utf-8-sig", newline="") as file:
        rows = [[cell.strip() for cell in row] for row in csv.reader(file)][1:]
    t_s = [datetime.strptime(row[0], "%Y/%m/%d %H:%M:%S.%f").timestamp() for row in rows]
    return t_s, [float(row[2]) for row in rows], [float(row[3].removesuffix(" W")) for row in rows]


def test_a_temperature_frozen_at_24_degrees_under_300_watts_is_noted() -> None:
    """C-023."""
    note = stuck_temperature(*read_case())
    assert note is not None
    assert (note.code, note.withholds_thermal) == (STUCK, True)
    assert note.params["temperature_c"] == 24
    assert note.params["samples"] == 30


def test_one_degree_of_movement_is_enough_to_be_believed() -> None:
    t_s, temperature_c, power_w = read_case()
    temperature_c[-1] += 1
    assert stuck_temperature(t_s, temperature_c, power_w) is None


def test_a_steady_card_is_not_suspected() -> None:
    t_s = [float(t) for t in range(600)]
    assert stuck_temperature(t_s, [35.0] * 600, [70.0 + t % 3 for t in range(600)]) is None
    short = [300.0 if 100 < t < 130 else 25.0 for t in range(600)]
    assert stuck_temperature(t_s, [35.0] * 600, short) is None
    assert stuck_temperature([], [], []) is None


MEMORY, CORE, POWER = Quantity.MEMORY_TEMPERATURE_C, Quantity.CORE_TEMPERATURE_C, Quantity.POWER_AVERAGE_W


def series(source: str, values: dict[float, float], quantity: Quantity = MEMORY) -> SourceSeries:
    return SourceSeries(source=source, quantity=quantity, t_unix_s=list(values), values=list(values.values()))


def steady(source: str, value: float, begin: int = 0, end: int = 60, quantity: Quantity = MEMORY) -> SourceSeries:
    return series(source, {float(t): value for t in range(begin, end + 1)}, quantity)


def test_c021_two_sources_in_the_same_minute_differ_by_14_degrees() -> None:
    (found,) = compare_sources([steady("nvml", 86.0), steady("gputemps", 100.0)])
    assert (found.source, found.value, found.other, found.other_value) == ("nvml", 86.0, "gputemps", 100.0)
    assert found.difference == 14.0
    assert found.disagree


@pytest.mark.parametrize(
    ("quantity", "one", "two", "disagree"),
    [
        (CORE, 60.0, 65.0, False),
        (CORE, 60.0, 65.5, True),
        (MEMORY, 92.0, 86.0, True),
        (POWER, 300.0, 270.0, False),
        (POWER, 270.0, 300.0, False),
        (POWER, 300.0, 269.0, True),
        (Quantity.POWER_INSTANT_W, 100.0, 112.0, True),
    ],
)
def test_tolerances(quantity: Quantity, one: float, two: float, disagree: bool) -> None:
    (found,) = compare_sources([steady("a", one, quantity=quantity), steady("b", two, quantity=quantity)])
    assert found.disagree is disagree


def test_like_is_compared_with_like_only() -> None:
    assert compare_sources([steady("a", 80.0), steady("a", 90.0)]) == ()
    assert compare_sources([steady("a", 80.0), steady("b", 90.0, quantity=CORE)]) == ()
    clock = Quantity.SM_CLOCK_MHZ
    assert compare_sources([steady("a", 1000.0, quantity=clock), steady("b", 2000.0, quantity=clock)]) == ()
    assert compare_sources([]) == ()
    assert compare_sources([series("a", {}), steady("b", 90.0)]) == ()


def test_one_after_the_other_is_no_overlap() -> None:
    """A card cools within seconds once its load has ended."""
    assert compare_sources([steady("a", 80.0, 0, 60), steady("b", 50.0, 61, 120)]) == ()
    assert compare_sources([steady("a", 80.0, 61, 120), steady("b", 50.0, 0, 60)]) == ()


def test_one_reading_stands_for_the_half_minute_around_it() -> None:
    (found,) = compare_sources([series("a", {0.0: 80.0}), series("b", {NEAR_S: 90.0})])
    assert found.difference == 10.0
    assert compare_sources([series("a", {0.0: 80.0}), series("b", {NEAR_S + 1: 90.0})]) == ()
    (found,) = compare_sources([series("a", {0.0: 80.0, 60.0: 82.0}), steady("b", 90.0, 10, 50)])
    assert found.value == 81.0


def test_what_only_one_of_them_saw_does_not_count() -> None:
    """Source ``a`` logs through an idle hour in which ``b`` was off."""
    idle = {float(t): 40.0 for t in range(200, 3600)}
    loaded = {float(t): 90.0 for t in (*range(100), *range(3800, 3900))}
    one = series("a", dict(sorted((idle | loaded).items())))
    (found,) = compare_sources([one, series("b", loaded)])
    assert (found.value, found.other_value) == (90.0, 90.0)


_runs = st.lists(st.tuples(st.floats(0.1, 50.0), st.floats(20.0, 110.0)), min_size=1, max_size=12)


@given(_runs, _runs, st.floats(-300.0, 300.0))
def test_comparison_is_fair(one: list, two: list, shift_s: float) -> None:
    """Both see the same, in either order; medians are over readings that are near one of the other."""

    def build(source: str, steps: list, begin_s: float) -> SourceSeries:
        times = [begin_s + sum(step for step, _ in steps[: n + 1]) for n in range(len(steps))]
        return SourceSeries(source=source, quantity=MEMORY, t_unix_s=times, values=[value for _, value in steps])

    a, b = build("a", one, 0.0), build("b", two, shift_s)
    there, back = compare_sources([a, b]), compare_sources([b, a])
    assert [(x.value, x.other_value) for x in there] == [(x.other_value, x.value) for x in back]
    for x in there:
        near_a = [v for t, v in zip(a.t_unix_s, a.values, strict=True) if any(abs(t - u) <= NEAR_S for u in b.t_unix_s)]
        near_b = [v for t, v in zip(b.t_unix_s, b.values, strict=True) if any(abs(t - u) <= NEAR_S for u in a.t_unix_s)]
        assert x.value == pytest.approx(median(near_a))
        assert x.other_value == pytest.approx(median(near_b))
        assert x.disagree is (abs(x.value - x.other_value) > 5.0)
    if not there:
        alone = max(a.t_unix_s[0], b.t_unix_s[0]) > min(a.t_unix_s[-1], b.t_unix_s[-1])
        assert alone or not any(abs(t - u) <= NEAR_S for t in a.t_unix_s for u in b.t_unix_s)
