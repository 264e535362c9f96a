"""A gain's interval: what the two trials show, and what trials of the same work differ by."""

import numpy as np
import pytest

from gputuner.advice.making import gain_from, gain_of
from gputuner.model.points import Flag, Spread


def half(gain) -> float:
    return float(np.log((1 + gain.high) / (1 + gain.low))) / 2


def test_same_work_measured_twice_is_no_gain(lab):
    """An H200's own repeats: each within its trial surely different, as a gain not."""

    def rate(value: float, low: float, high: float):
        return lab.point("p", "train_throughput", value, phase="probe", batch=64,
                         spread=Spread(n=100, median=value, iqr=1.0, ci95_low=low, ci95_high=high))  # fmt: skip

    first, second, third = rate(3017.4, 3016.3, 3018.2), rate(3015.2, 3014.7, 3015.7), rate(3021.4, 3020.8, 3021.7)
    for better, base in ((first, second), (third, first), (third, second)):
        told = gain_of(better, base)
        assert told.low < 0 < told.high
        assert gain_of(better, base, between=0.0).low > 0


def test_the_spread_between_trials_adds_in_quadrature(lab):
    better, base = lab.rate("a", 64, 1000.0), lab.rate("b", 32, 800.0)
    within = -np.log(1 - 0.002)
    assert half(gain_of(better, base, between=0.0)) == pytest.approx(np.sqrt(2) * within)
    assert half(gain_of(better, base)) == pytest.approx(np.sqrt(2) * np.hypot(within, 1.96 * 0.003), rel=1e-4)


def test_a_figure_that_did_not_settle_brings_its_own_scatter(lab):
    restless = lab.point("a", "train_throughput", 1000.0, flags=(Flag.NOT_STEADY,),
                         spread=Spread(n=50, median=1000.0, iqr=50.0, ci95_low=998.0, ci95_high=1002.0))  # fmt: skip
    told = gain_of(restless, lab.rate("b", 32, 800.0))
    assert half(told) == pytest.approx(1.96 * 0.05, rel=0.02)


def test_the_runs_own_repeats_set_the_spread_between_trials(lab):
    better, base = lab.rate("a", 64, 1000.0), lab.rate("b", 32, 800.0)
    calm = lab.Evidence(card=lab.card(), points=(better, base, *[lab.rate(f"c{k}", 64, 1000.0) for k in range(20)]))
    restless = lab.Evidence(card=lab.card(), points=(better, base, lab.rate("c", 64, 1050.0, phase="alone")))
    assert half(gain_from(calm, better, base)) < half(gain_of(better, base)) < half(gain_from(restless, better, base))


def test_no_interval_where_one_side_has_none(lab):
    few = lab.point("a", "train_throughput", 1000.0, spread=Spread(n=3, median=1000.0, iqr=5.0))
    told = gain_of(few, lab.rate("b", 32, 800.0))
    assert (told.value, told.low, told.high) == (pytest.approx(0.25), None, None)
