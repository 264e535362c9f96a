"""Steps in time from the lines of a command's hooks."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputuner.analysis.commanded import steady, step_lines, stretch


def line(ended_s, steps, training_s, *, told=None, other_s=0.0, samples=0):
    told_us = [1e6 * training_s / steps] * min(steps, 32) if told is None else told
    window = {"k": "window", "t": ended_s, "s": 0.5, "steps": steps, "training_s": training_s, "step_us": told_us}
    return json.dumps({**window, "other_s": other_s, "samples": samples})


def even(count, steps=10, each_s=0.05, start_s=100.0):
    return [line(start_s + (n + 1) * steps * each_s, steps, steps * each_s, samples=8 * steps) for n in range(count)]


def test_a_window_holds_whole_lines_and_their_steps_in_order():
    found = stretch(step_lines(even(10)), 101.2, 103.6)
    assert found is not None
    assert (found.begun_s, found.ended_s) == (pytest.approx(101.5), pytest.approx(103.5))
    assert found.step_s == pytest.approx([0.05] * 40)
    assert found.samples_per_step == 8
    assert found.other_share == pytest.approx(0.0, abs=1e-9)


def test_step_times_that_are_a_sample_stand_for_all_steps_and_keep_their_sum():
    told = [1000.0, 3000.0]
    (found,) = step_lines([line(10.0, 100, 0.2, told=told)])
    each = found.each_s()
    assert len(each) == 100
    assert sum(each) == pytest.approx(0.2)
    assert sorted(set(each)) == pytest.approx([0.001, 0.003])


def test_an_evaluation_is_no_step_time_but_is_told():
    lines = step_lines([line(1.0, 10, 0.5), line(2.0, 10, 0.5, other_s=0.5)])
    found = stretch(lines, 0.0)
    assert found is not None
    assert found.step_s == pytest.approx([0.05] * 20)
    assert found.other_share == pytest.approx(0.5 / 1.5)


def test_after_a_hole_only_what_follows_counts():
    lines = step_lines([*even(4), *even(4, start_s=200.0)])
    found = stretch(lines, 0.0)
    assert found is not None
    assert found.begun_s == pytest.approx(200.0)


def test_no_step_lies_in_a_window_shorter_than_a_line():
    assert stretch(step_lines(even(4)), 100.1, 100.4) is None


def test_steady_leaves_the_first_line_out_and_waits_for_the_warm_up():
    slow_first = [line(100.0, 1, 5.0), *even(8)]
    assert steady(step_lines(slow_first), 2.0)
    assert not steady(step_lines(slow_first), 30.0)
    assert not steady(step_lines(slow_first[:4]), 0.0)


def test_a_pace_that_still_falls_is_not_steady():
    falling = [line(100.0 + n, 10, 1.0 / (n + 1)) for n in range(8)]
    assert not steady(step_lines(falling), 0.0)


@given(st.lists(st.text(max_size=40) | st.binary(max_size=40), max_size=20))
def test_foreign_lines_are_skipped(lines):
    assert step_lines(lines) == ()


@given(
    st.lists(
        st.fixed_dictionaries(
            {"k": st.just("window")},
            optional={
                name: st.none()
                | st.integers()
                | st.floats()
                | st.text(max_size=3)
                | st.lists(st.integers(), max_size=3)
                for name in ("t", "steps", "training_s", "other_s", "step_us", "samples")
            },
        ),
        max_size=8,
    )
)
def test_garbled_lines_never_raise_and_times_stay_positive(windows):
    lines = step_lines([json.dumps(window) for window in windows])
    found = stretch(lines[:3], 0.0)
    assert found is None or all(seconds > 0 for seconds in found.step_s)
    steady(lines, 1.0)
