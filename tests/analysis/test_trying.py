"""Realised gains against predictions: what counts as predicted can fail, and seldom is by chance."""

import numpy as np
import pytest

from gputuner.analysis.interleaved import Compared, compared_rounds
from gputuner.analysis.trying import Verdict, is_scored, is_testable, together, verdict
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


def test_trainings_at_once_add_up():
    both = together([rate(100.0, 0.03), rate(100.0, 0.04)])
    assert both.median == 200.0
    assert (both.ci95_low, both.ci95_high) == (pytest.approx(195.0), pytest.approx(205.0))
    assert together([rate(3.0), Spread(n=3, median=2.0, iqr=0.1)]).ci95_low is None


def found(value, half=0.02):
    return Compared(value=value, low=value - half, high=value + half, trials=8)


def promised(value, half=0.02):
    return Gain(value=value, unit="fraction", low=value - half, high=value + half)


def up_to(value):
    return Gain(value=value, unit="fraction", low=0.0, high=value)


@pytest.mark.parametrize(
    ("predicted", "realised_gain", "said"),
    [
        (promised(0.2), found(0.18), Verdict.AS_PREDICTED),
        (promised(0.2), found(0.1), Verdict.LESS),
        (promised(0.2), found(0.3), Verdict.MORE),
        (promised(0.2), found(0.01), Verdict.NO_GAIN),
        (promised(0.2), found(-0.1), Verdict.LOSS),
        (promised(0.2), found(0.15, 0.095), Verdict.UNCLEAR),
        (promised(0.2), found(0.0, 0.1), Verdict.NO_GAIN),
        (None, found(0.1), Verdict.GAIN),
        (None, found(0.01), Verdict.NO_GAIN),
        (None, found(-0.1), Verdict.LOSS),
        (Gain(value=0.2, unit="fraction"), found(0.19), Verdict.GAIN),
        (up_to(0.4), found(0.1), Verdict.UP_TO),
        (up_to(0.4), found(0.01), Verdict.NO_GAIN),
        (up_to(0.4), found(-0.1), Verdict.LOSS),
        (up_to(0.4), found(0.5), Verdict.MORE),
        (promised(0.2), Compared(value=0.2), Verdict.UNCLEAR),
    ],
)
def test_what_is_said_of_it(predicted, realised_gain, said):
    assert verdict(predicted, realised_gain) is said


def test_a_promise_that_cannot_fail_is_not_scored():
    assert is_testable(promised(0.2))
    assert not any(map(is_testable, (None, Gain(value=0.2, unit="fraction"), up_to(0.4), promised(0.2, 0.11))))
    assert is_scored(promised(0.2), found(0.2, 0.09))
    assert not is_scored(promised(0.2), found(0.2, 0.091)), "0 … 18 %: nothing and the promise are both in it"


@pytest.mark.parametrize("scatter", [0.001, 0.003, 0.01, 0.02])
def test_noise_makes_no_prediction_come_true(scatter):
    """+ 5 % (4 … 6 %) was promised: with a true gain of 0 it is hardly ever as predicted, with one of 5 % nearly always
    where tries are precise enough to say so."""
    random = np.random.default_rng(5)
    predicted, runs = promised(0.05, 0.01), 600

    def tries(truth):
        def side(middle):
            moved = np.exp(scatter * random.standard_normal())
            return [rate(middle * moved * float(np.exp(0.001 * random.standard_normal())), 1e-6) for _ in range(2)]

        return [compared_rounds([(side(100.0), side(100.0 * (1 + truth))) for _ in range(4)]) for _ in range(runs)]

    nothing, truly = tries(0.0), tries(0.05)
    assert sum(verdict(predicted, each) is Verdict.AS_PREDICTED for each in nothing) / runs <= 0.02
    scored = [verdict(predicted, each) for each in truly if is_scored(predicted, each)]
    assert scored.count(Verdict.AS_PREDICTED) >= (0.95 if scatter <= 0.01 else 0.8) * len(scored)
    assert bool(len(scored) > 0.9 * runs) is (scatter <= 0.003)
    assert len(scored) < 0.2 * runs or scatter < 0.02
