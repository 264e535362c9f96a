"""Realised gains: the ratio, an interval that covers, and the words for it."""

from math import log, sqrt

import numpy as np
import pytest

from gputuner.analysis.trying import Realised, Verdict, realised, together, verdict
from gputuner.model.advice import Gain
from gputuner.model.points import Spread


def rate(median, half=0.001, n=40):
    return Spread(
        n=n,
        median=median,
        iqr=half * median,
        ci95_low=median * (1 - half),
        ci95_high=median * (1 + half),
        block_length=1,
    )


def test_the_gain_is_the_ratio_of_the_geometric_means():
    found = realised([rate(100.0), rate(121.0)], [rate(120.0), rate(132.0)])
    assert found.value == pytest.approx(sqrt(120 * 132) / 110 - 1)
    assert found.trials == 4


def test_a_steady_drift_cancels_in_the_order_a_b_b_a():
    """Each trial is 1 % slower than the one before; the truth is + 20 %."""
    slower = [0.99**i for i in range(4)]
    found = realised([rate(100 * slower[0]), rate(100 * slower[3])], [rate(120 * slower[1]), rate(120 * slower[2])])
    assert found.value == pytest.approx(0.2)
    assert found.low < 0.2 < found.high


def test_quiet_trials_still_differ_by_what_trials_differ():
    """Four equal trials: s = 0.3 % · √(2/4), error s, Student's t at 4 degrees of freedom 2.776."""
    found = realised([rate(100.0, 1e-9)] * 2, [rate(110.0, 1e-9)] * 2)
    s = 0.003 * sqrt(2 / 4)
    assert found.between == pytest.approx(s)
    assert log((1 + found.high) / (1 + found.value)) == pytest.approx(2.7764 * s, rel=1e-4)


def test_one_trial_a_side_gives_no_interval():
    found = realised([rate(100.0)], [rate(110.0)])
    assert found.value == pytest.approx(0.1)
    assert (found.low, found.high) == (None, None)
    with pytest.raises(ValueError, match="trial"):
        realised([], [rate(1.0)])


@pytest.mark.parametrize(("between", "each"), [(0.003, 2), (0.02, 2), (0.02, 4), (0.1, 6)])
def test_the_interval_covers(between, each):
    """95 % wanted, whether trials differ by as much as is known beforehand or by far more."""
    random = np.random.default_rng(7)
    truth, hits, runs = 0.15, 0, 2000
    for _ in range(runs):
        logs = between * random.standard_normal(2 * each)
        base = [rate(100 * np.exp(x), 1e-6) for x in logs[:each]]
        advised = [rate(100 * (1 + truth) * np.exp(x), 1e-6) for x in logs[each:]]
        found = realised(base, advised)
        hits += found.low <= truth <= found.high
    assert hits / runs >= 0.935


def test_trainings_at_once_add_up():
    both = together([rate(100.0, 0.03), rate(100.0, 0.04)])
    assert both.median == 200.0
    assert (both.ci95_low, both.ci95_high) == (pytest.approx(195.0), pytest.approx(205.0))
    assert together([rate(3.0), Spread(n=3, median=2.0, iqr=0.1)]).ci95_low is None


def found(value, half=0.02):
    return Realised(value=value, low=value - half, high=value + half, trials=4)


def promised(value, half=0.02):
    return Gain(value=value, unit="fraction", low=value - half, high=value + half)


@pytest.mark.parametrize(
    ("predicted", "realised_gain", "said"),
    [
        (promised(0.2), found(0.18), Verdict.AS_PREDICTED),
        (promised(0.2), found(0.1), Verdict.LESS),
        (promised(0.2), found(0.3), Verdict.MORE),
        (promised(0.2), found(0.01), Verdict.NO_GAIN),
        (promised(0.2), found(-0.1), Verdict.LOSS),
        (None, found(0.1), Verdict.GAIN),
        (None, found(0.01), Verdict.NO_GAIN),
        (None, found(-0.1), Verdict.LOSS),
        (Gain(value=0.2, unit="fraction"), found(0.19), Verdict.AS_PREDICTED),
        (Gain(value=0.2, unit="fraction"), found(0.1), Verdict.LESS),
        (promised(0.2), Realised(value=0.2), Verdict.UNCLEAR),
    ],
)
def test_what_is_said_of_it(predicted, realised_gain, said):
    assert verdict(predicted, realised_gain) is said
