"""Slowdowns, gain and fairness, on a recorded pair and on exact windows."""

import json
from pathlib import Path

import numpy as np
import pytest

from gputuner.analysis.contention import aggregate_gain, co_run, common_window, fairness, inside
from gputuner.analysis.trials import Repeats
from gputuner.model.points import Flag
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


def noisy(step_s: float, count: int, seed: int, noise: float = 0.005, **more) -> Trial:
    steps = step_s * (1.0 + noise * np.random.default_rng(seed).standard_normal(count))
    return Trial(iteration_s=tuple(steps.tolist()), t0_ns=0, t1_ns=int(1e9 * step_s * count), **more)


def relative_half(spread) -> float:
    assert spread.ci95_low is not None
    assert spread.ci95_high is not None
    return float(np.log(spread.ci95_high / spread.ci95_low)) / 2


def test_exact_steps_leave_the_spread_between_trials():
    """One trial together over the mean of two alone that agree: t(2 + 1) on what is pooled, but never below 0.3 %."""
    pair = [trial(0.19, 40), trial(0.19, 40)]
    told = co_run(pair, [trial(0.1, 40)], [trial(0.1, 40)])
    assert told is not None
    for spread in (*(job.spread for job in told.jobs), told.gain_spread):
        assert relative_half(spread) == pytest.approx(3.1824 * 0.003 * np.sqrt(1.5), rel=1e-3)
        assert spread.n == 40
    once = co_run(pair, [trial(0.1, 40)], ())
    assert once is not None
    assert relative_half(once.gain_spread) == pytest.approx(4.3027 * 0.003 * np.sqrt(2), rel=1e-3)


def test_solo_that_moved_a_little_widens_the_interval():
    """A single difference is all that tells the scatter: Student's t with one degree of freedom."""
    told = co_run([trial(0.19, 40)] * 2, [trial(0.1, 40)], [trial(0.103, 40)])
    assert told is not None
    assert told.valid
    assert told.between == pytest.approx(np.log(1.03) / np.sqrt(2))
    assert relative_half(told.gain_spread) == pytest.approx(12.706 * told.between * np.sqrt(1.5), rel=1e-3)


def test_repeats_of_the_run_narrow_it_again():
    """Ten further repeats that agree to 1 %: t(12) on the pair's own 2.1 %, the larger deviation."""
    seen = Repeats(squares=10 * 0.01**2, own=10)
    told = co_run([trial(0.19, 40)] * 2, [trial(0.1, 40)], [trial(0.103, 40)], seen)
    assert told is not None
    assert relative_half(told.gain_spread) == pytest.approx(2.1788 * told.between * np.sqrt(1.5), rel=1e-3)


@pytest.mark.parametrize("scatter", [0.003, 0.01, 0.02])
@pytest.mark.parametrize("repeats", [1, 3, 10])
def test_one_round_covers_at_any_scatter(scatter, repeats):
    """One trial together, the mean of two alone; further repeats of other work in the run. 95 % at least 92 %."""
    random, held, count = np.random.default_rng(5), 0, 3000
    for _ in range(count):
        before, after, beside = random.normal(0.0, scatter, 3)
        others = random.normal(0.0, scatter, repeats - 1) ** 2
        seen = Repeats(squares=float((after - before) ** 2 / 2 + others.sum()), own=repeats)
        moved = abs(after - before) / np.sqrt(2)
        held += abs(beside - (before + after) / 2) <= seen.half(1.5, least=moved)
    assert held / count >= 0.92


def test_interval_holds_the_true_slowdown_and_gain_and_its_scatter_is_told():
    pair = [noisy(0.15, 60, 1, 0.02), noisy(0.2, 45, 2, 0.02)]
    told = co_run(pair, [noisy(0.1, 60, 3)], [noisy(0.1, 60, 4)])
    assert told is not None
    for job, slowdown in zip(told.jobs, (1.5, 2.0), strict=True):
        assert job.spread.ci95_low is not None
        assert job.spread.ci95_high is not None
        assert job.spread.ci95_low < slowdown < job.spread.ci95_high
        assert job.spread.iqr / job.spread.median == pytest.approx(1.349 * 0.02, rel=0.4)
        assert relative_half(job.spread) > 1.96 * 0.003 * np.sqrt(1.5)
    gain = 1 / 1.5 + 1 / 2.0
    assert told.gain_spread.ci95_low is not None
    assert told.gain_spread.ci95_high is not None
    assert told.gain_spread.ci95_low < gain < told.gain_spread.ci95_high
    assert told.gain_spread.n == 45


def test_few_steps_give_no_interval_and_say_so():
    told = co_run([trial(0.2, 10)] * 2, [trial(0.1, 20)], [trial(0.1, 20)])
    assert told is not None
    assert told.gain_spread.ci95_low is None
    assert told.jobs[0].spread.ci95_high is None
    assert Flag.FEW_SAMPLES in told.flags


@pytest.mark.parametrize(
    ("pair", "after", "flag"),
    [
        ([noisy(0.2, 40, 1, 0.1), noisy(0.2, 40, 2, 0.001)], noisy(0.1, 40, 3, 0.001), Flag.SPREAD),
        ([trial(0.2, 40), trial(0.2, 40)], noisy(0.1, 40, 3, 0.001, steady=False), Flag.NOT_STEADY),
        ([trial(0.09, 40), trial(0.2, 40)], trial(0.1, 40), Flag.IMPLAUSIBLE),
        ([trial(0.2, 40), trial(0.2, 40)], trial(0.12, 40), Flag.IMPLAUSIBLE),
    ],
)
def test_a_pair_says_what_is_wrong_with_it(pair, after, flag):
    told = co_run(pair, [trial(0.1, 40)], [after])
    assert told is not None
    assert flag in told.flags
    clean = co_run([trial(0.2, 40)] * 2, [trial(0.1, 40)], [trial(0.1, 40)])
    assert clean is not None
    assert clean.flags == ()
