"""Formats beside FP32 runs of the same start: what is found that other seeds hide, and how seldom one is blamed."""

import numpy as np
import pytest

from gputuner.analysis.reference_runs import reference_runs, two_digits
from gputuner.analysis.trajectory import Verdict, judge
from gputuner.analysis.trajectory_means import TURN
from gputuner.analysis.trajectory_twins import paired

STEPS = 200
SPREAD = 0.1
"""Of how fast runs with other seeds learn."""


def learnt(random, slower=1.0, shift=0.0, noise=0.02, *, tau=20.0):
    """Eight batches that are memorised: an exponential loss from 2.3; ``slower`` 1.5: in one and a half the steps."""
    return (2.3 * np.exp(-np.arange(STEPS) / (tau * slower)) + shift + random.normal(0.0, noise, STEPS)).tolist()


def seeds(random, count=4):
    return [learnt(random, np.exp(random.normal(0.0, SPREAD))) for _ in range(count - 1)]


@pytest.mark.parametrize("slower", [1.25, 1.5, 2.0])
def test_a_format_that_learns_more_slowly_is_found_though_it_ends_where_fp32_does(slower):
    random = np.random.default_rng(1)
    found = [
        judge(learnt(random, slower), [learnt(random), *seeds(random)], [learnt(random), learnt(random)])
        for _ in range(100)
    ]
    assert sum(judged.verdict is Verdict.APART for judged in found) >= 95


@pytest.mark.parametrize("rounding", [0.0, 0.01, 0.05, 0.2])
@pytest.mark.parametrize("twins", [1, 2])
def test_a_format_that_rounds_only_is_seldom_blamed(rounding, twins):
    """However far roundings drive runs of one start apart: by design at most one in twenty."""
    random = np.random.default_rng(2)
    blamed = 0
    for _ in range(400):
        own = np.exp(random.normal(0.0, SPREAD))

        def run(own=own):
            return learnt(random, own * np.exp(random.normal(0.0, rounding / 4)), random.normal(0.0, rounding))

        others = [learnt(random, own_, random.normal(0.0, rounding)) for own_ in np.exp(random.normal(0, SPREAD, 3))]
        judged = judge(run(), [run(), *others], [run() for _ in range(twins)])
        blamed += judged.verdict is Verdict.APART
    assert blamed <= 400 * 0.05


def test_harm_of_the_size_that_is_told_is_seen_nine_times_in_ten():
    random = np.random.default_rng(3)
    seen = 0
    for _ in range(300):
        twins = [learnt(random, shift=random.normal(0.0, 0.05)) for _ in range(3)]
        told = paired(twins[0], twins, 0.01)
        assert told is not None
        harmed = paired(learnt(random, shift=told.end.seen + random.normal(0.0, 0.05)), twins, 0.01)
        assert harmed is not None
        seen += harmed.end.worse
    assert seen >= 300 * 0.8


def test_the_verdict_names_what_could_hide_where_runs_of_one_start_drift_apart():
    random = np.random.default_rng(4)
    draws = [learnt(random, shift=shift) for shift in (0.0, 0.1, -0.1, 0.05)]
    near, far = ([learnt(random, shift=s), learnt(random, shift=-s)] for s in (0.0, 0.1))
    assert judge(learnt(random), draws, near).verdict is Verdict.KEPT
    judged = judge(learnt(random), draws, far)
    assert (judged.verdict, judged.seen_share > 0.2) == (Verdict.UNSEEN, True)


def test_the_prediction_interval_by_hand():
    """Three runs that end at 1.0, 1.1, 1.2: s = 0.1, t(0.9875, 2) = 6.2053, so 6.2053 · 0.1 · √(4/3)."""
    twins = [[level + 10.0] * 32 + [level] * 64 for level in (1.1, 1.0, 1.2)]
    told = paired(twins[0], twins, 0.0)
    assert told is not None
    assert told.end.tolerance == pytest.approx(6.2053 * 0.1 * (4 / 3) ** 0.5, rel=1e-4)
    assert told.end.twins == pytest.approx((1.1, 1.0, 1.2))
    assert told.end.difference == pytest.approx(0.0)
    assert told.early_steps == 40  # the smoothed fall is over by then


def test_skipped_steps_are_no_slower_training():
    """Five skips at the start: the same losses, five steps later."""
    random = np.random.default_rng(5)
    fp32, late = learnt(random, noise=0.0, tau=15.0), [True] * 5 + [False] * (STEPS - 5)
    losses = [fp32[0]] * 5 + fp32[:-5]
    told, untold = paired(losses, [fp32, fp32], 0.01, late), paired(losses, [fp32, fp32], 0.01)
    assert told is not None
    assert untold is not None
    assert (told.early.difference, told.early.worse) == (pytest.approx(0.0), False)
    assert untold.early.worse


def test_too_few_runs_or_steps_are_no_comparison():
    random = np.random.default_rng(6)
    run = learnt(random)
    assert paired(run, [run], 0.01) is None
    assert paired(run, [run, [*run[:50], float("nan"), *run[51:]]], 0.01) is None
    assert paired(run[: 3 * TURN - 1], [run, run], 0.01) is None


def test_bounds_of_three_runs_have_two_digits_and_say_how_many_runs():
    """s of three normal values is known to 1 / √(2 · 2), a half: a third digit is noise."""
    assert [two_digits(each) for each in (0.40123, 17.46, 0.0)] == [0.40, 17.0, 0.0]
    ends = {"fp32_end_1": 1.0, "fp32_end_2": 1.1, "twin_end_1": 1.0, "twin_end_2": 1.0, "twin_end_3": 1.0}
    assert reference_runs({**ends, "fp32_end_loss": 1.05}) == (2, 3)
    assert reference_runs({"fp32_end_loss": 1.05}) is None
