"""A against A, on repeats whose scatter between trials is known."""

import numpy as np
import pytest

from gputuner.analysis.null_check import null_check
from gputuner.analysis.statistics import spread
from gputuner.model.points import Point


def repeats(between, n=4, seed=0):
    """Trials of 100 windows (0.1 % scatter) whose levels differ by ``between`` (relative standard deviation)."""
    random = np.random.default_rng(seed)
    levels = 100.0 * (1.0 + between * random.standard_normal(n))
    points = []
    for i, level in enumerate(levels):
        told = spread((level * (1.0 + 0.001 * random.standard_normal(100))).tolist())
        points.append(
            Point(
                id=f"p{i}", card="c", metric="matmul_rate", workload="matmul", params={}, value=told.median,
                unit="FLOP/s", spread=told,
            )
        )  # fmt: skip
    return points


def test_equal_trials_are_seldom_called_different():
    told = null_check({str(i): repeats(0.0, seed=i) for i in range(30)})
    assert told.pairs == 180
    assert told.false_rate < 0.05
    assert told.guard_rate == 0.0
    assert told.difference < 0.0005


def test_trials_that_differ_more_than_they_scatter_show_it():
    """0.3 % between trials against intervals of 0.03 %: nearly every pair looks different, none to the guard."""
    told = null_check({str(i): repeats(0.003, seed=i) for i in range(30)})
    assert told.false_rate > 0.8
    assert told.guard_rate == 0.0
    assert told.difference == pytest.approx(0.003 * 2**0.5 * 0.674, rel=0.2)


def test_a_drifting_machine_is_seen_by_the_guard():
    assert null_check({"a": repeats(0.2, seed=3)}).guard_rate > 0


def test_nothing_to_pair_tells_nothing():
    assert null_check({}) is None
    assert null_check({"a": repeats(0.0, n=1)}) is None
