"""Which stretches count as settled, and the air that work and rest together show."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputuner.analysis import wear_steady
from gputuner.analysis.wear_air import with_air
from gputuner.analysis.wear_steady import Stretch, resting, working
from gputuner.analysis.wear_trace import Heat, WearTrace
from gputuner.analysis.wear_trend import Basis

LIMIT_W = 300.0


def trace(core, power, fan=0.5, t_s=None, busy=1.0):
    core = np.asarray(core, dtype=float)
    n = core.size
    return WearTrace(
        t_s=np.arange(n) * 10.0 if t_s is None else t_s,
        seconds=np.full(n, 10.0),
        heat={"core": Heat(low=core, mean=core, high=core)},
        power_w=np.broadcast_to(np.asarray(power, dtype=float), n).copy(),
        fan=np.broadcast_to(np.asarray(fan, dtype=float), n).copy(),
        busy=np.full(n, busy),
        traffic=np.full(n, 0.25),
    )


def test_a_settled_stretch_is_told_once_each_half_hour():
    found = working(trace(np.full(400, 71.0), 290.0), LIMIT_W)
    assert [s.unix_s for s in found] == [400.0, 2200.0, 4000.0]
    assert {(s.temperature_c, s.power_w, s.fan_fraction, s.traffic) for s in found} == {(71.0, 290.0, 0.5, 0.25)}


@pytest.mark.parametrize(
    "more",
    [
        {"core": np.linspace(50, 80, 60)},
        {"power": 60.0},
        {"power": np.tile([290.0, 200.0], 30)},
        {"fan": np.linspace(0.3, 0.9, 60)},
        {"core": np.where(np.arange(60) % 12 == 0, np.nan, 70.0)},
        {"t_s": np.arange(60) * 10.0 + np.repeat(np.arange(6) * 9000.0, 10)},
    ],
)
def test_what_moves_is_not_settled(more):
    values = {"core": np.full(60, 70.0), "power": 290.0} | more
    assert working(trace(**values), LIMIT_W) == ()
    assert resting(trace(**values), LIMIT_W) == ()


def test_rest_is_ten_minutes_without_work():
    quiet = trace(np.full(70, 33.0), 21.0, fan=0.3, busy=0.0)
    assert [s.temperature_c for s in resting(quiet, LIMIT_W)] == [33.0]
    assert working(quiet, LIMIT_W) == ()
    assert resting(trace(np.full(59, 33.0), 21.0, busy=0.0), LIMIT_W) == ()
    assert resting(trace(np.full(70, 33.0), 21.0, busy=0.2), LIMIT_W) == ()


def test_a_sink_that_still_cools_is_not_at_rest():
    cooling = 33.0 + 30.0 * np.exp(-np.arange(70) * 10.0 / 200.0)
    assert resting(trace(cooling, 21.0, busy=0.0), LIMIT_W) == ()


def test_a_fan_that_is_read_seldom_keeps_its_last_reading():
    seldom = np.full(40, np.nan)
    seldom[::3] = 0.5
    assert [s.fan_fraction for s in working(trace(np.full(40, 70.0), 290.0, fan=seldom), LIMIT_W)] == [0.5]


def test_a_card_without_a_fan_has_none():
    assert [s.fan_fraction for s in working(trace(np.full(40, 70.0), 290.0, fan=np.nan), LIMIT_W)] == [None]


def test_long_pieces_are_looked_at_in_parts(monkeypatch):
    monkeypatch.setattr(wear_steady, "MOST_STEPS", 100)
    found = working(trace(np.full(400, 71.0), 290.0), LIMIT_W)
    assert [s.unix_s for s in found] == [1000.0, 2000.0, 3000.0, 4000.0]


@settings(deadline=None)
@given(
    air=st.floats(10, 40),
    resistance=st.floats(0.05, 0.3),
    work_w=st.floats(150, 600),
    rest_w=st.floats(10, 60),
    fan=st.floats(0.3, 1.0),
)
def test_work_and_rest_at_one_fan_show_the_air(air, resistance, work_w, rest_w, fan):
    work = Stretch(unix_s=2e4, temperature_c=air + resistance * work_w, power_w=work_w, fan_fraction=fan)
    rest = Stretch(unix_s=1.8e4, temperature_c=air + resistance * rest_w, power_w=rest_w, fan_fraction=fan)
    found = with_air(work, [rest], session_id="a")
    assert found.basis is Basis.IDLE
    assert found.air_c == pytest.approx(air, abs=1e-6)
    assert found.k_per_w == pytest.approx(resistance, rel=1e-9)


def test_what_shows_the_air():
    work = Stretch(unix_s=2e4, temperature_c=70.0, power_w=300.0, fan_fraction=0.6)
    turning = Stretch(unix_s=1.9e4, temperature_c=30.0, power_w=20.0, fan_fraction=0.3)
    standing = Stretch(unix_s=1.95e4, temperature_c=34.0, power_w=20.0, fan_fraction=0.0)
    long_ago = Stretch(unix_s=0.0, temperature_c=30.0, power_w=20.0, fan_fraction=0.3)
    bases = [
        with_air(work, rests, session_id="a", room_c=room).basis
        for rests, room in (([turning], 24.0), ([turning, standing], None), ([long_ago], 24.0), ([long_ago], None))
    ]
    assert bases == [Basis.IDLE, Basis.IDLE_STILL, Basis.ROOM, Basis.NONE]
    assert with_air(work, [], session_id="a", room_c=75.0) is None
