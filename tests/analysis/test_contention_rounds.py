"""Rounds of the same mix as one answer: the start of a process is one repeat."""

from math import exp, log, sqrt

import numpy as np
import pytest

from gputuner.analysis.contention import CoRun, Slowdown, aggregate_gain, fairness
from gputuner.analysis.contention_rounds import of_rounds
from gputuner.analysis.distributions import student_quantile
from gputuner.analysis.trials import BETWEEN_TRIALS
from gputuner.model.points import Flag, Spread


def spread(value: float, half: float = 0.002) -> Spread:
    return Spread(n=40, median=value, iqr=0.01 * value, ci95_low=value * exp(-half), ci95_high=value * exp(half))


def one(*slowdowns: float, change: float = 0.0, within: float = 0.002, flags=()) -> CoRun:
    gain = aggregate_gain(slowdowns)
    return CoRun(
        jobs=tuple(Slowdown(spread=spread(s, within), within=within, flags=flags) for s in slowdowns),
        gain_spread=spread(gain, within),
        gain_within=within,
        fairness=fairness(slowdowns),
        solo_change=change,
        between=BETWEEN_TRIALS,
        common_s=5.0,
    )


def half(of: Spread) -> float:
    assert of.ci95_low is not None
    assert of.ci95_high is not None
    return log(of.ci95_high / of.ci95_low) / 2


def test_one_round_stays_as_it_is():
    alone = one(1.9, 1.8)
    assert of_rounds([alone]) is alone


def test_no_round_is_an_error():
    with pytest.raises(ValueError, match="no round"):
        of_rounds([])


def test_rounds_that_agree_leave_what_is_known_without_them():
    """s² = 2·(0.003² + (w/1.96)²/2) / (2 + 2), over three rounds; w is told for the co-run, the unit has none."""
    told = of_rounds([one(1.5, 3.0)] * 3)
    assert told.slowdowns == pytest.approx((1.5, 3.0))
    assert told.gain == pytest.approx(1.0)
    known = BETWEEN_TRIALS**2 + (0.002 / 1.959964) ** 2 / 2
    expected = student_quantile(0.975, 4) * sqrt(2 * known / 4) / sqrt(3)
    assert half(told.jobs[0].spread) == pytest.approx(expected, rel=1e-3)
    assert half(told.gain_spread) == pytest.approx(expected, rel=1e-3)


def test_rounds_that_differ_make_the_interval_theirs():
    """Student's over three rounds that differ by 5 %: t(2) · s / √3 of the logarithms."""
    values = (1.9, 2.0, 2.1)
    told = of_rounds([one(value, value) for value in values])
    logs = np.log(values)
    expected = student_quantile(0.975, 2) * float(np.std(logs, ddof=1)) / sqrt(3)
    assert told.slowdowns[0] == pytest.approx(float(np.exp(logs.mean())))
    assert half(told.jobs[0].spread) == pytest.approx(expected, rel=1e-6)
    assert told.jobs[0].spread.ci95_low < 1.9 < 2.1 < told.jobs[0].spread.ci95_high


def test_the_interval_holds_the_truth_as_often_as_it_says():
    """Rounds that scatter by 2 % around 1.6: at least 90 of 100 intervals of 3 hold it."""
    random = np.random.default_rng(1)
    held = 0
    for _ in range(200):
        rounds = [one(1.6 * exp(0.02 * random.standard_normal()), 1.6) for _ in range(3)]
        told = of_rounds(rounds).jobs[0].spread
        held += told.ci95_low <= 1.6 <= told.ci95_high
    assert held >= 180


def test_one_disturbed_round_does_not_take_the_measurement_away_but_two_of_three_do():
    calm, moved = one(1.5, 1.5), one(1.5, 1.5, change=0.2)
    assert of_rounds([calm, moved, calm]).valid
    assert not of_rounds([calm, moved, moved]).valid


def test_faster_than_alone_is_judged_over_all_rounds():
    low = one(0.96, 1.5, flags=(Flag.IMPLAUSIBLE,))
    assert of_rounds([low, one(1.02, 1.5), one(1.02, 1.5)]).valid
    assert not of_rounds([low, low, one(0.97, 1.5)]).valid
    assert Flag.IMPLAUSIBLE in of_rounds([low, low, low]).flags


def test_too_few_steps_in_each_round_are_no_hindrance_to_an_interval_over_rounds():
    short = CoRun(
        jobs=(Slowdown(spread=Spread(n=8, median=2.0, iqr=0.01), flags=(Flag.FEW_SAMPLES,)),) * 2,
        gain_spread=Spread(n=8, median=1.0, iqr=0.01),
        fairness=1.0,
        solo_change=0.0,
        between=BETWEEN_TRIALS,
        common_s=5.0,
    )
    told = of_rounds([short, short])
    assert told.jobs[0].spread.ci95_low is not None
    assert Flag.FEW_SAMPLES not in told.jobs[0].flags
