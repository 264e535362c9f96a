"""Slowdowns, gain and fairness, on a recorded pair and on exact windows."""

import json
from pathlib import Path

import pytest

from gputuner.analysis.contention import aggregate_gain, co_run, common_window, fairness, inside
from gputuner.model.steps import Trial

RECORDED = json.loads((Path(__file__).parents[1] / "data/analysis/resnet50-h200.json").read_text())


def trial(step_s: float, count: int, start_s: float = 0.0) -> Trial:
    return Trial(iteration_s=(step_s,) * count, t0_ns=int(start_s * 1e9), t1_ns=int((start_s + step_s * count) * 1e9))


def test_gain_of_the_recorded_pair():
    """The recording's gain of two EDSR is the sum of both rates over the rate alone."""
    pair = RECORDED["edsr"]["x2"]
    alone = RECORDED["edsr"]["alone_it_s"]
    assert sum(pair["it_s"]) / alone == pytest.approx(pair["aggregate_gain"], rel=1e-6)
    assert aggregate_gain(pair["slowdown"]) == pytest.approx(pair["aggregate_gain"], rel=1e-6)


def test_equal_jobs_by_time_slicing_gain_nothing():
    told = co_run([trial(0.2, 20), trial(0.2, 20)], [trial(0.1, 20)], [trial(0.1, 20)])
    assert told is not None
    assert told.slowdowns == pytest.approx((2.0, 2.0))
    assert told.gain == pytest.approx(1.0)
    assert told.fairness == pytest.approx(1.0)
    assert told.valid


def test_faster_than_alone_is_not_believed():
    """The recorded resnet50@16 pair: 0.98 and 0.85 of the time alone: the host moved, not the card."""
    told = co_run([trial(0.098, 20), trial(0.085, 20)], [trial(0.1, 20)], [trial(0.1, 20)])
    assert told is not None
    assert not told.valid


def test_solo_that_moved_is_not_believed():
    told = co_run([trial(0.2, 20), trial(0.2, 20)], [trial(0.1, 20)], [trial(0.112, 20)])
    assert told is not None
    assert told.solo_change == pytest.approx(0.12)
    assert not told.valid


def test_only_steps_wholly_inside_the_common_window_count():
    first = trial(1.0, 10)
    second = trial(1.0, 10, start_s=3.5)
    assert common_window([first, second]) == (int(3.5e9), int(10e9))
    assert len(inside(first, *common_window([first, second]))) == 6
    assert len(inside(second, *common_window([first, second]))) == 6


def test_no_overlap_gives_nothing():
    assert co_run([trial(1.0, 3), trial(1.0, 3, start_s=10.0)], [trial(1.0, 3)], ()) is None


def test_fairness_of_one_that_has_it_all():
    assert fairness([1.0, 1e6]) == pytest.approx(0.5, abs=1e-3)
