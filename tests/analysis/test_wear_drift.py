"""Does the drift tell the truth? Histories that share no code with it, and Theil–Sen against scipy's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import theilslopes

from gputuner.analysis.wear import session_wear, wear
from gputuner.analysis.wear_drift import drift
from gputuner.analysis.wear_slope import DAY_S, MONTH_S, slope_interval, slopes
from gputuner.analysis.wear_trend import Basis, SteadyPoint, Trend
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.readings import Reading
from tests.analysis.wear_histories import histories


def judged(history, room_c=None):
    limit = {"power_limit_default_w": Reading(value=history.limit_w, unit="W")}
    card = CardInfo(uuid="GPU-a", index=0, name="a card", readings=limit)
    told = [
        session_wear(trace, card, session_id=str(n), unix_s=float(trace.t_s[0]), room_c=room_c)
        for n, trace in enumerate(history.traces)
    ]
    return wear(card, Origin.MEASURED, told).drift


@pytest.fixture(scope="module")
def still():
    return histories(24, 0.0, seed=3)


@pytest.fixture(scope="module")
def ageing():
    return histories(24, 0.15, seed=4)


def test_a_cooler_that_does_not_age_is_left_alone(still):
    verdicts = [judged(history) for history in still]
    assert sum(d.verdict is not Trend.NOT_SHOWN for d in verdicts) <= 1
    assert sum(d.low <= 0.0 <= d.high for d in verdicts) >= 22
    assert all(abs(d.per_month) < 0.03 for d in verdicts if d.basis is not Basis.NONE)


def test_a_cooler_that_loses_a_seventh_a_month_is_found_where_the_air_is_known(ageing):
    verdicts = {history.kind: [] for history in ageing}
    for history in ageing:
        verdicts[history.kind].append(judged(history))
    for kind, basis in (("blower", Basis.IDLE), ("zero_rpm", Basis.IDLE_STILL), ("passive", Basis.IDLE)):
        assert {d.basis for d in verdicts[kind]} == {basis}
        assert sum(d.verdict is Trend.RISING for d in verdicts[kind]) >= 4
        # 15 % of the first resistance a month is 11 to 15 % of that of the time
        assert np.median([d.per_month for d in verdicts[kind]]) == pytest.approx(0.13, abs=0.035)


def test_without_the_air_the_interval_holds_a_room_that_warms(ageing):
    without = [judged(history) for history in ageing if history.kind == "no_rest"]
    assert {d.basis for d in without} == {Basis.NONE}
    assert all(d.high - d.low > 0.2 for d in without)
    assert all(d.line_unit == "degC" and 30 < d.line[0][1] < 110 for d in without)


def point(day, k_per_w, **more):
    values = {"power_w": 300.0, "fan_fraction": 0.6, "traffic": 0.4, "basis": Basis.IDLE, "session_id": str(day)}
    values |= more
    air_c = values.pop("air_c", 25.0)
    return SteadyPoint(
        unix_s=1.8e9 + day * DAY_S,
        temperature_c=air_c + k_per_w * values["power_w"],
        air_c=air_c,
        k_per_w=k_per_w,
        **values,
    )


def in_a_room(day, real_c, told_c, k_per_w=0.12):
    """A card at 300 W in a room that was told, perhaps wrongly."""
    core_c = real_c + k_per_w * 300.0
    return point(day, (core_c - told_c) / 300.0, air_c=told_c, basis=Basis.ROOM)


@pytest.mark.parametrize("basis", [Basis.IDLE, Basis.IDLE_STILL, Basis.ROOM])
def test_a_known_air_gives_the_slope_that_was_put_in(basis):
    rng = np.random.default_rng(1)
    days = np.arange(0, 60, 3)
    values = 0.15 * np.exp(0.08 * days * DAY_S / MONTH_S) * (1 + rng.normal(0, 0.004, days.size))
    airs_c = np.rint(24.0 + 3.0 * np.sin(days))
    told = zip(days, values, airs_c, strict=True)
    found = drift([point(int(day), value, air_c=float(air_c), basis=basis) for day, value, air_c in told])
    assert found.verdict is Trend.RISING
    assert found.basis is basis
    assert found.per_month == pytest.approx(np.expm1(0.08), abs=0.01)
    assert found.low < np.expm1(0.08) < found.high
    assert found.degrees_per_month == pytest.approx(0.083 * 45 * 1.08, rel=0.2)
    assert found.line[-1][1] == pytest.approx(values[-1], rel=0.02)


def test_a_room_told_as_the_same_each_time_is_no_reading():
    """The real one warmed from 22 to 29 °C; nothing aged."""
    days = range(0, 36, 3)
    found = drift([in_a_room(day, 22.0 + 7.0 * day / 33.0, 25.0) for day in days])
    assert found.basis is Basis.NONE
    assert found.verdict is Trend.NOT_SHOWN
    assert found.low < 0.0 < found.high
    once_other = [in_a_room(day, 22.0 + 7.0 * day / 33.0, 25.0 if day else 24.0) for day in days]
    assert drift(once_other).verdict is Trend.NOT_SHOWN


@pytest.mark.parametrize("off_k", [1.0, -1.0])
def test_a_thermometer_that_is_a_degree_off_either_way_is_no_ageing(off_k):
    days = range(0, 36, 3)
    reals_c = [24.0 + 3.0 * np.sin(day) for day in days]
    errors = [off_k * (1.0 - 2.0 * day / 33.0) for day in days]
    found = drift([in_a_room(d, real, real + off) for d, real, off in zip(days, reals_c, errors, strict=True)])
    assert found.basis is Basis.ROOM
    # 2 K of some 36 K in 33 days of 30.44 a month
    assert found.per_month == pytest.approx(off_k * 2.0 / 36.0 * 30.44 / 33.0, rel=0.1)
    assert found.verdict is Trend.NOT_SHOWN
    assert found.low < 0.0 < found.high


def test_another_fan_speed_is_no_ageing():
    slow = [point(day, 0.18, fan_fraction=0.40) for day in range(30, 60, 2)]
    fast = [point(day, 0.15, fan_fraction=0.65) for day in range(0, 30, 2)]
    found = drift([*fast, *slow])
    assert found.verdict is Trend.NOT_SHOWN
    assert found.per_month == pytest.approx(0.0, abs=1e-9)
    assert found.fan_levels == 2


@pytest.mark.parametrize("other", [{"power_w": 220.0}, {"traffic": 0.9}])
def test_another_load_is_no_ageing(other):
    later = [point(day, 0.18, **other) for day in range(30, 60, 2)]
    found = drift([*(point(day, 0.15) for day in range(0, 30, 2)), *later])
    assert found.verdict is Trend.NOT_SHOWN


@pytest.mark.parametrize(
    ("days", "missing"),
    [
        (range(0, 40, 10), "sessions"),
        (range(12), "span"),
        ((), "sessions"),
    ],
)
def test_too_little_is_said_so(days, missing):
    found = drift([point(day, 0.15 + 0.001 * day) for day in days])
    assert found.verdict is Trend.TOO_FEW
    assert missing in found.missing
    assert found.per_month is None


@pytest.mark.parametrize("sessions", [1, 2, 3, 5])
def test_settled_sessions_are_counted_though_none_is_like_another(sessions):
    found = drift([point(3 * n, 0.12, fan_fraction=0.3 + 0.1 * n) for n in range(sessions)])
    assert (found.sessions, found.days, found.span_days) == (sessions, sessions, 3.0 * (sessions - 1))
    assert not found.alike
    assert "sessions" in found.missing


def test_of_enough_settled_sessions_those_that_are_alike_are_counted():
    found = drift([point(3 * n, 0.12, power_w=300.0 if n < 2 else 300.0 * 1.3**n) for n in range(8)])
    assert (found.sessions, found.days, found.pairs) == (2, 2, 1)
    assert found.alike


def test_one_day_with_many_sessions_is_one_day():
    found = drift([point(n / 100, 0.15, session_id=str(n)) for n in range(20)])
    assert {"days", "span", "pairs"} <= set(found.missing)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 90), st.floats(0.1, 0.2)), min_size=3, max_size=25, unique_by=lambda p: p[0]))
def test_the_slope_is_that_of_theil_and_sen(entries):
    entries.sort()
    t_s = np.array([day * DAY_S for day, _ in entries])
    values = np.array([value for _, value in entries])
    found = slopes(t_s, values, np.ones((t_s.size, t_s.size), dtype=bool))
    centre, low, high = slope_interval(found, t_s, seed=1)
    assert centre == pytest.approx(theilslopes(values, t_s / MONTH_S).slope, abs=1e-12)
    assert low <= centre <= high
