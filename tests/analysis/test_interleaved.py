"""A B B A over whole trials: the ratio, and an interval that covers the truth as often as it says."""

from math import log, sqrt

import numpy as np
import pytest

from gputuner.analysis.interleaved import compared, compared_points, compared_rounds
from gputuner.model.points import Point, Spread

RUNS = 2000


def rate(median, half=0.001, n=40):
    return Spread(
        n=n, median=median, iqr=half * median, ci95_low=median * (1 - half), ci95_high=median * (1 + half),
        block_length=1,
    )  # fmt: skip


def rates(random, middle, scatter, count):
    return [rate(middle * float(np.exp(x)), 1e-3) for x in scatter * random.standard_normal(count)]


def test_the_gain_is_the_ratio_of_the_geometric_means():
    found = compared([rate(100.0), rate(121.0)], [rate(120.0), rate(132.0)])
    assert found.value == pytest.approx(sqrt(120 * 132) / 110 - 1)
    assert found.trials == 4


def test_a_steady_drift_cancels_in_the_order_a_b_b_a():
    """Each trial is 1 % slower than the one before; the truth is + 20 %."""
    slower = [0.99**i for i in range(4)]
    found = compared([rate(100 * slower[0]), rate(100 * slower[3])], [rate(120 * slower[1]), rate(120 * slower[2])])
    assert found.value == pytest.approx(0.2)
    assert found.low < 0.2 < found.high


def test_quiet_trials_still_differ_by_what_trials_differ():
    """Four equal trials: s = 0.3 % · √(2/4), error s, Student's t at 4 degrees of freedom 2.776."""
    found = compared([rate(100.0, 1e-9)] * 2, [rate(110.0, 1e-9)] * 2)
    s = 0.003 * sqrt(2 / 4)
    assert found.between == pytest.approx(s)
    assert log((1 + found.high) / (1 + found.value)) == pytest.approx(2.7764 * s, rel=1e-4)


def test_by_hand_from_trials_of_one_run():
    """Two trials each of ResNet-50, samples/s: s² = Σ d² / 2, t(2) = 4.3027, error s; wider than with two assumed."""
    base, other = [859.198, 856.085], [2275.571, 2266.673]
    found = compared([rate(each, 1e-9) for each in base], [rate(each, 1e-9) for each in other])
    squares = sum(log(a / b) ** 2 / 2 for a, b in (base, other))
    assert found.value == pytest.approx(1.6481, abs=1e-4)
    assert log((1 + found.high) / (1 + found.value)) == pytest.approx(4.3027 * sqrt(squares / 2), rel=1e-3)


def test_one_trial_a_side_gives_no_interval_and_is_never_faster():
    found = compared([rate(100.0)], [rate(150.0)])
    assert found.value == pytest.approx(0.5)
    assert (found.low, found.high, found.half, found.is_faster) == (None, None, None, False)
    with pytest.raises(ValueError, match="trial"):
        compared([], [rate(1.0)])


@pytest.mark.parametrize("each", [2, 3])
@pytest.mark.parametrize("scatter", [0.003, 0.01, 0.02, 0.05])
def test_null_simulation_covers_and_seldom_calls_the_same_faster(scatter, each):
    """A against A, trials that differ by ``scatter``: 95 % wanted, 2.5 % falsely faster."""
    random = np.random.default_rng(7)
    found = [compared(rates(random, 100, scatter, each), rates(random, 100, scatter, each)) for _ in range(RUNS)]
    assert sum(f.low <= 0 <= f.high for f in found) / RUNS >= 0.93
    assert sum(f.is_faster for f in found) / RUNS <= 0.035


@pytest.mark.parametrize("rounds", [2, 4])
@pytest.mark.parametrize("process", [0.0, 0.003, 0.01])
def test_null_simulation_covers_what_processes_bring_with_them(process, rounds):
    """Each process moves each side by ``process``; its trials then differ by only 0.2 %."""
    random = np.random.default_rng(11)

    def side():
        return rates(random, 100 * float(np.exp(process * random.standard_normal())), 0.002, 2)

    hits = 0
    for _ in range(RUNS):
        found = compared_rounds([(side(), side()) for _ in range(rounds)])
        hits += found.low <= 0 <= found.high
    assert hits / RUNS >= 0.93


def test_trials_of_one_process_are_no_repeats_of_it():
    one = ([rate(100.0), rate(100.1)], [rate(120.0), rate(120.1)])
    assert compared_rounds([one]).low is None
    assert compared_rounds([one]).value == pytest.approx(compared(*one).value)
    found = compared_rounds([one, ([rate(100.0)] * 2, [rate(122.0)] * 2)])
    assert found.low < 0.2 < found.high
    assert found.trials == 8
    half_begun = compared_rounds([one, ([rate(100.0)], [])])
    assert (half_begun.value, half_begun.trials) == (pytest.approx(compared(*one).value), 4)
    with pytest.raises(ValueError, match="trial"):
        compared_rounds([([rate(1.0)], [])])


def test_figures_without_a_spread_stand_for_themselves():
    def point(value):
        return Point(id=f"p{value}", card="c", metric="m", workload="w", params={}, value=value, unit="samples/s")

    found = compared_points([point(100.0), point(101.0)], [point(120.0), point(119.0)])
    assert found.value == pytest.approx(sqrt(120 * 119 / (100 * 101)) - 1)
    assert found.is_faster
