"""How often the guard errs, by simulation: equal sessions that end with 9, and true losses that are missed."""

import numpy as np
import pytest

from gputuner.analysis.regression import compare, confirmed, stored_spread, suspects
from gputuner.model.points import Point, Spread

METRICS, RUNS = 40, 150
WITHIN = 0.0005
"""Half of a figure's own interval, relative: far less than sessions differ by."""
MOST = 0.05 + 2.0 * (0.05 * 0.95 / RUNS) ** 0.5


class Machine:
    """Sessions of 40 figures of eight benchmarks, whose level varies between sessions by ``sigma``."""

    def __init__(self, sigma, seed=0, sigmas=None):
        self.random = np.random.default_rng(seed)
        self.sigma = np.full(METRICS, sigma) if sigmas is None else np.asarray(sigmas)

    def session(self, loss=0.0):
        levels = np.exp(self.sigma * self.random.standard_normal(METRICS))
        levels[0] *= 1.0 - loss
        return [figure(i, 100.0 * level) for i, level in enumerate(levels)]

    def ends_with_9(self, stored, loss=0.0):
        """Whether a guard against one session, with ``stored`` others, calls anything worse (the first, if one is)."""
        spreads = stored_spread([self.session() for _ in range(stored)])
        before, after = self.session(), self.session(loss)
        first = compare(before, after, spreads)
        if not suspects(first):
            return False
        found = confirmed(first, compare(before, self.session(loss), spreads))
        return any(each.before.params["n"] == 0 for each in found) if loss else bool(found)


def figure(i, value):
    spread = Spread(
        n=100, median=value, iqr=2 * WITHIN * value, ci95_low=value * (1 - WITHIN), ci95_high=value * (1 + WITHIN)
    )
    return Point(
        id=f"p{i}", card="GPU-1", metric="conv_rate", workload="w", params={"n": i}, value=value, unit="FLOP/s",
        spread=spread, extra={"benchmark": f"b{i // 5}"},
    )  # fmt: skip


def share(outcomes):
    return sum(outcomes) / RUNS


@pytest.mark.parametrize("sigma", [0.005, 0.01, 0.02])
@pytest.mark.parametrize("stored", [0, 5, 20])
def test_equal_sessions_seldom_end_with_9(sigma, stored):
    """At most 5 %, and two standard errors of 150 runs (3.6 %)."""
    machine = Machine(sigma, seed=stored)
    assert share(machine.ends_with_9(stored) for _ in range(RUNS)) <= MOST


@pytest.mark.parametrize("stored", [5, 20])
def test_metrics_that_vary_unequally_do_not_raise_false_alarms(stored):
    """Within each benchmark 0.2 to 4 %: the noisy ones are not judged by the quiet ones' spread."""
    machine = Machine(0.0, seed=1, sigmas=np.tile([0.002, 0.004, 0.01, 0.02, 0.04], METRICS // 5))
    assert share(machine.ends_with_9(stored) for _ in range(RUNS)) <= MOST


@pytest.mark.parametrize("stored", [5, 20])
def test_a_true_loss_is_found(stored):
    machine = Machine(0.01, seed=3)
    assert share(machine.ends_with_9(stored, loss=0.08) for _ in range(RUNS)) >= 0.9


def test_without_stored_sessions_only_a_larger_loss_is_found():
    """Two per cent are assumed then: of 8 % most are found, of 10 % nearly all."""
    machine = Machine(0.01, seed=4)
    assert share(machine.ends_with_9(0, loss=0.08) for _ in range(RUNS)) >= 0.6
    assert share(machine.ends_with_9(0, loss=0.10) for _ in range(RUNS)) >= 0.9
