"""Raising and clearing against a slow reference that looks at the whole past anew."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputuner.engine.alert_state import Debounce, Level, LimitTally, level
from gputuner.model.quantities import LimitBit, Limiter

NS = 1_000_000_000
Readings = list[tuple[int, Level]]


def reference(readings: Readings, hold_ns: int, gap_ns: int) -> list[bool]:
    """After each reading whether the alert is raised, by looking back from it over all that came since the last change.

    It changes where the readings back to one at least ``hold_ns`` older are all of the level that speaks against the
    present state, and no two neighbours among them lie further apart than ``gap_ns`` or in the wrong order.
    """
    states: list[bool] = []
    raised, changed = False, -1
    for now, (t_ns, _level) in enumerate(readings):
        against = Level.UNDER if raised else Level.OVER
        run = 0
        for back in range(now, changed, -1):
            if readings[back][1] is not against:
                break
            if back < now and not 0 <= readings[back + 1][0] - readings[back][0] <= gap_ns:
                break
            run += 1
        if run and t_ns - readings[now - run + 1][0] >= hold_ns:
            raised, changed = not raised, now
        states.append(raised)
    return states


@st.composite
def streams(draw: st.DrawFn) -> Readings:
    """Readings at steps of 0 to 20 s, now and then hours apart or back in time."""
    steps = st.one_of(st.integers(0, 20), st.sampled_from([-30, 3600, 86400]))
    t_s, out = 0, []
    for step, found in draw(st.lists(st.tuples(steps, st.sampled_from(list(Level))), max_size=60)):
        t_s += step
        out.append((t_s * NS, found))
    return out


@given(streams(), st.integers(0, 60), st.integers(1, 30))
def test_it_is_raised_and_cleared_exactly_as_the_whole_past_says(readings: Readings, hold_s: int, gap_s: int):
    debounce = Debounce(hold_s * NS, gap_s * NS)
    found = []
    for t_ns, each in readings:
        before = debounce.raised
        assert debounce.take(t_ns, each) is (debounce.raised is not before)
        found.append(debounce.raised)
    assert found == reference(readings, hold_s * NS, gap_s * NS)


@given(streams(), st.integers(1, 60))
def test_no_gap_and_no_jump_of_the_clock_raises_by_itself(readings: Readings, hold_s: int):
    """However long a silence is: two readings across it are no evidence for the time between."""
    debounce = Debounce(hold_s * NS, 1)
    for t_ns, each in readings:
        debounce.take(t_ns, each)
    assert not debounce.raised


def test_the_margin_keeps_a_value_that_hovers_at_the_threshold_from_chattering():
    debounce = Debounce(0, 10 * NS)
    values = [84, 85, 84, 85, 84, 81, 82, 81, 80, 85]
    changes = [debounce.take(t * NS, level(value, 85, 5)) for t, value in enumerate(values)]
    assert [t for t, changed in enumerate(changes) if changed] == [1, 8, 9]


def test_of_what_falls_the_threshold_is_the_upper_edge():
    assert level(3.0, 3.0, 2.0, falls=True) is Level.OVER
    assert level(4.0, 3.0, 2.0, falls=True) is Level.BETWEEN
    assert level(5.0, 3.0, 2.0, falls=True) is Level.UNDER


@given(st.lists(st.tuples(st.integers(100, 1500), st.booleans()), min_size=1, max_size=300))
def test_the_time_in_a_limit_is_that_of_the_last_minute(steps: list[tuple[int, bool]]):
    tally, t_ms, spans = LimitTally(), 0, []
    limited = False
    for step_ms, now in steps:
        if limited:
            spans.append((t_ms + step_ms, step_ms))
        t_ms += step_ms
        tally.take(t_ms * 1_000_000, LimitBit.SW_THERMAL if now else 0)
        told = tally.seconds(t_ms * 1_000_000)
        limited = now
        expected = sum(length for end, length in spans if end > t_ms - 60_000) / 1000
        assert abs(told - expected) < 1e-6


def test_a_power_cap_is_no_alarm_and_the_hardwares_limit_is_one_at_once():
    tally = LimitTally()
    for t in range(100):
        tally.take(t * NS, LimitBit.SW_POWER_CAP)
        assert tally.seconds(t * NS) == 0
    tally.take(100 * NS, LimitBit.HW_THERMAL)
    assert tally.hardware
    assert tally.limiter is Limiter.THERMAL_HARDWARE


def test_a_slowdown_that_names_no_cause_counts_only_where_two_readings_show_it():
    """nvml.h: bit 0x8 "may be also reported during PState or clock change"; only 0x40 says heat."""
    blinks, lasting = LimitTally(), LimitTally()
    for t in range(40):
        blinks.take(t * NS // 2, LimitBit.HW_SLOWDOWN if t % 4 == 0 else 0)
        lasting.take(t * NS // 2, LimitBit.HW_SLOWDOWN)
    assert (blinks.seconds(20 * NS), blinks.hardware) == (0, False)
    assert lasting.seconds(20 * NS) == 19.5
    assert (lasting.limiter, lasting.hardware) == (Limiter.HARDWARE, False)


def test_what_the_bits_miss_the_counters_have_and_nothing_is_counted_twice():
    tally = LimitTally()
    for t in range(0, 60, 5):
        tally.count(t * NS, {Limiter.THERMAL_SOFTWARE: t * 0.3 * NS, Limiter.POWER_BRAKE: 7 * NS})
        tally.take(t * NS, LimitBit.SW_THERMAL)
    assert tally.seconds(55 * NS) == 22, "by the bits 11 times 2 s, by the counter 16.5 s"
    for t in range(60, 125, 5):
        tally.count(t * NS, {Limiter.THERMAL_SOFTWARE: t * 0.3 * NS})
        tally.take(t * NS, 0)
    assert tally.seconds(120 * NS) == pytest.approx(18), "0.3 of a minute"
    tally.count(125 * NS, {Limiter.THERMAL_SOFTWARE: 1 * NS})
    assert tally.seconds(125 * NS) == pytest.approx(16.5), "a counter that fell began anew"


def test_the_hardwares_heat_in_a_counter_is_told_at_once_and_not_forgotten_within_the_minute():
    tally = LimitTally()
    tally.count(0, {Limiter.THERMAL_HARDWARE: 1e12})
    assert tally.level(0, 20, 10) is Level.UNDER
    tally.count(5 * NS, {Limiter.THERMAL_HARDWARE: 1e12 + NS})
    assert tally.level(5 * NS, 20, 10) is Level.OVER
    for t in range(6, 70):
        tally.take(t * NS, 0)
        assert tally.level(t * NS, 20, 10) is (Level.BETWEEN if t < 65 else Level.UNDER)
