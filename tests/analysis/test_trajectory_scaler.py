"""The gradient scaler's trace: users' case C-051, and what is harmless."""

import csv
from pathlib import Path

import pytest

from gputuner.analysis.trajectory_scaler import Scaler, judge_scaler

CASE = Path(__file__).parents[1] / "data/cases/c051_scaler_collapse.csv"


def rows():
    with CASE.open() as file:
        return list(csv.DictReader(file))


def test_c051_a_scale_that_halves_without_end_has_diverged():
    """Marked after a small number of skips, with the step of the first NaN; skipped steps are no throughput."""
    told = rows()
    scales, skipped = [float(r["scale"]) for r in told], [r["skipped"] == "1" for r in told]
    trace = judge_scaler(scales, skipped, [float(r["loss"]) for r in told])
    assert trace.state is Scaler.COLLAPSED
    assert trace.first_bad_step == 10
    assert trace.collapsed_step == 26  # the first scale below 1, after 17 skips
    assert trace.skips_in_a_row == trace.skipped == len(told) - 10
    assert trace.useful_share == pytest.approx(10 / len(told))


def test_c051_is_known_early_from_the_scale_alone():
    told = rows()[:27]
    trace = judge_scaler([float(r["scale"]) for r in told], [r["skipped"] == "1" for r in told])
    assert (trace.state, trace.first_bad_step) == (Scaler.COLLAPSED, 10)
    trace = judge_scaler([float(r["scale"]) for r in told[:-1]], [r["skipped"] == "1" for r in told[:-1]])
    assert trace.state is not Scaler.COLLAPSED


def trace_of(skips, steps, first=65536.0, grown_at=()):
    scales, scale = [], first
    for step in range(steps):
        scale = scale / 2 if step in skips else scale * 2 if step in grown_at else scale
        scales.append(scale)
    return judge_scaler(scales, [step in skips for step in range(steps)])


def test_the_search_for_a_scale_at_the_start_is_normal():
    trace = trace_of({0, 1, 2, 3}, 100)
    assert (trace.state, trace.halvings, trace.scale_last) == (Scaler.NORMAL, 3, 4096.0)


def test_a_halving_every_two_thousand_steps_is_normal():
    trace = trace_of({2000, 4001, 6002}, 8000, grown_at={1999, 4000, 6001})
    assert trace.state is Scaler.NORMAL
    assert trace.useful_share == pytest.approx(1.0 - 3 / 8000)


def test_one_skip_in_ten_steps_is_too_often_though_the_scale_recovers():
    trace = trace_of(set(range(5, 300, 10)), 300, grown_at=set(range(6, 300, 10)))
    assert trace.state is Scaler.FREQUENT


def test_a_few_late_skips_of_a_young_run_are_ordinary():
    """Poisson with one in 200 steps: four or more of 200 have a chance of 1.9 %, five or more of 0.4 %."""
    assert trace_of({0, 40, 90, 150}, 200).state is Scaler.NORMAL
    assert trace_of({0, 40, 60, 90, 150}, 200).state is Scaler.NORMAL
    assert trace_of({0, 40, 60, 90, 150, 170}, 200).state is Scaler.FREQUENT


def test_twenty_one_skips_in_a_row_from_a_huge_scale_are_a_collapse():
    assert trace_of(set(range(21)), 40, first=2.0**60).state is Scaler.COLLAPSED
    assert trace_of(set(range(20)), 40, first=2.0**60).state is Scaler.NORMAL


def test_no_trace_says_nothing():
    assert judge_scaler([], []) is None
