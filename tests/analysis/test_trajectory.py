"""Loss trajectories against the FP32 band: false alarms, what is found, and what carries no verdict."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputuner.analysis.trajectory import (
    LEAST_STEPS,
    Verdict,
    first_bad,
    fp32_band,
    judge,
)
from gputuner.analysis.trajectory_means import TURN, smoothed

NAN, INF = float("nan"), float("inf")


def run(random, steps=100, *, offset=0.0, start=2.5, end=1.0, noise=0.05, between=0.02):
    """A falling loss with noise from batch to batch, and a shift of its own as another seed brings."""
    fall = end + (start - end) * np.exp(-4.0 * np.arange(steps) / steps)
    return (fall + random.normal(0.0, between) + offset + random.normal(0.0, noise, steps)).tolist()


def test_a_format_that_changes_nothing_is_seldom_blamed():
    """One more run of the same kind: beyond the one-sided 97.5 % limit in about 2.5 % of all tries."""
    random = np.random.default_rng(3)
    blamed = sum(judge(run(random), [run(random) for _ in range(4)]).verdict is Verdict.APART for _ in range(400))
    assert blamed <= 400 * 0.05


def test_a_loss_that_ends_clearly_higher_is_found():
    """Ten times the spread between seeds, a seventh of the fall."""
    random = np.random.default_rng(4)
    found = [judge(run(random, offset=0.2), [run(random) for _ in range(4)]) for _ in range(100)]
    assert sum(judged.verdict is Verdict.APART for judged in found) >= 95
    assert np.mean([judged.difference for judged in found]) == pytest.approx(0.2, abs=0.02)


def test_a_loss_below_fp32_is_no_fault():
    random = np.random.default_rng(5)
    assert judge(run(random, offset=-0.5), [run(random) for _ in range(4)]).verdict is Verdict.UNSEEN


def test_the_tolerance_is_the_prediction_interval_of_one_more_run():
    """Runs that end at 1.0, 1.1, 1.2: s = 0.1, t(0.975, 2) = 4.3027, so 4.3027 · 0.1 · √(4/3)."""

    def fallen(level):
        return [level + 10.0] * 30 + [level] * 30

    draws = [fallen(level) for level in (1.0, 1.1, 1.2)]
    judged = judge(fallen(1.1), draws)
    assert judged.tolerance == pytest.approx(4.302653 * 0.1 * (4 / 3) ** 0.5, rel=1e-5)
    assert judge(fallen(1.1 + 0.51), draws).verdict is Verdict.APART
    judged = judge(fallen(1.1 + 0.49), draws)
    assert judged.verdict is Verdict.UNSEEN
    assert judged.seen == pytest.approx(judged.tolerance + 1.2816 * 0.1 * (4 / 3) ** 0.5)
    assert judged.seen_share == pytest.approx(judged.seen / judged.fall)


def test_a_loss_that_does_not_fall_shows_nothing_but_harm():
    draws = [[level] * 60 for level in (1.0, 1.1, 1.2)]
    judged = judge([1.1] * 60, draws)
    assert (judged.verdict, judged.why) == (Verdict.UNDECIDED, "flat")
    assert judge([3.0] * 60, draws).verdict is Verdict.APART


def test_seeds_that_agree_to_the_bit_leave_room_for_rounding():
    random = np.random.default_rng(6)
    same = run(random)
    fall = max(smoothed(same)) - min(smoothed(same))
    assert judge([loss + 0.01 * fall for loss in same], [same, same, same]).verdict is Verdict.KEPT
    assert judge([loss + 0.04 * fall for loss in same], [same, same, same]).verdict is Verdict.APART


def test_too_few_steps_carry_no_verdict():
    random = np.random.default_rng(7)
    draws = [run(random) for _ in range(4)]
    judged = judge(run(random)[: LEAST_STEPS - 1], draws)
    assert (judged.verdict, judged.why, judged.steps) == (Verdict.UNDECIDED, "short", LEAST_STEPS - TURN)


def test_a_run_without_a_step_carries_no_verdict():
    random = np.random.default_rng(12)
    judged = judge([], [run(random) for _ in range(4)])
    assert (judged.verdict, judged.why, judged.steps) == (Verdict.UNDECIDED, "short", 0)
    assert fp32_band([[], run(random)]) is None


def test_fp32_that_diverges_itself_judges_nothing():
    random = np.random.default_rng(8)
    draws = [run(random), [*run(random)[:50], *[NAN] * 50]]
    assert judge(run(random), draws).why == "fp32"
    assert judge(run(random), draws[:1]).why == "fp32"


@pytest.mark.parametrize(("bad", "verdict"), [(slice(2, 4), Verdict.UNSEEN), (slice(60, 100), Verdict.DIVERGED)])
def test_losses_that_are_no_numbers(bad, verdict):
    """Two skipped steps at the start do no harm; a loss that stays NaN is a divergence, with its first step."""
    random = np.random.default_rng(9)
    losses = np.array(run(random))
    losses[bad] = INF
    judged = judge(losses.tolist(), [run(random) for _ in range(4)])
    assert judged.verdict is verdict
    assert judged.first_bad_step == bad.start


def test_a_run_that_was_given_up_diverged_however_short():
    random = np.random.default_rng(10)
    judged = judge([2.5, 2.4, NAN, NAN], [run(random) for _ in range(3)], ended=True)
    assert (judged.verdict, judged.first_bad_step) == (Verdict.DIVERGED, 2)


def test_the_band_holds_the_runs_it_is_made_of_and_is_as_long_as_the_shortest():
    random = np.random.default_rng(11)
    draws = [run(random), run(random), run(random, 80)]
    band = fp32_band(draws)
    assert band is not None
    assert len(band.mean) == 80
    for draw in draws:
        line = smoothed(draw[:80])
        assert ((band.low <= line) & (line <= band.high)).mean() > 0.95


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=200))
def test_smoothing_stays_within_what_it_smooths(losses):
    line = smoothed(losses)
    assert len(line) == len(losses)
    assert line.min() >= min(losses) - 1e-6
    assert line.max() <= max(losses) + 1e-6


def test_smoothing_leaves_out_what_is_no_number():
    assert smoothed([1.0, NAN, 3.0])[1] == pytest.approx(2.0)
    assert np.isnan(smoothed([NAN, NAN])).all()
    assert len(smoothed([])) == 0
    assert first_bad([1.0, INF]) == 1
    assert first_bad([1.0]) is None
