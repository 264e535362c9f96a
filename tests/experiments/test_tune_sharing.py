"""What is told of two trainings at once: slowdowns and gain with spread, interval, conditions and flags."""

from dataclasses import replace

import numpy as np
import pytest

from gputuner.experiments.tune import Tune
from gputuner.model.points import Flag
from gputuner.model.steps import Done, Together, Work


def run(lab, card, script=None, noise=0.002):
    card = replace(card, noise=noise)
    return lab.Performer(card, script).perform(Tune().plan(lab.context_of(card)))


def half(spread) -> float:
    return float(np.log(spread.ci95_high / spread.ci95_low)) / 2


def test_slowdowns_and_gain_come_with_spread_interval_and_conditions(lab):
    told = run(lab, lab.h200())
    (gain,), slowdowns = told.of("co_run_gain"), told.of("co_run_slowdown")
    assert [p.params["job"] for p in slowdowns] == [1, 2]
    for point, truth in [(gain, 2 / 1.9), *((p, 1.9) for p in slowdowns)]:
        assert point.spread.n >= 20
        assert point.spread.median == point.value
        assert point.spread.ci95_low < truth < point.spread.ci95_high
        assert half(point.spread) > 1.96 * 0.0015, "trials of the same work differ"
        assert point.conditions.power_w == 690.0
        assert not {Flag.FEW_SAMPLES, Flag.SPREAD, Flag.NOT_STEADY, Flag.IMPLAUSIBLE} & set(point.flags)
    assert slowdowns[0].spread.iqr / slowdowns[0].value == pytest.approx(1.349 * 0.002, rel=0.5)
    assert 0.0005 < gain.extra["between_trials"] < 0.004


def test_scatter_is_told(lab):
    told = run(lab, lab.h200(), noise=0.05)
    for point in (*told.of("co_run_gain"), *told.of("co_run_slowdown")):
        assert Flag.SPREAD in point.flags
        assert half(point.spread) > 0.008


def test_a_throttled_pair_says_so(lab):
    told = run(lab, replace(lab.h200(), power_share=0.5))
    assert all(Flag.THROTTLED_POWER in p.flags for p in (*told.of("co_run_gain"), *told.of("co_run_slowdown")))


def test_solo_that_drifted_makes_every_figure_implausible(lab):
    card = lab.h200()
    performer = lab.Performer(card)
    alone = []

    def slower_afterwards(step):
        if isinstance(step, Work) and step.label == "train_alone":
            alone.append(step)
            result = performer.run(step)
            if len(alone) == 2 and isinstance(result, Done):
                (trial,) = result.trials
                slow = replace(trial, iteration_s=tuple(1.1 * s for s in trial.iteration_s))
                return replace(result, trials=(slow,))
            return result
        return performer.run(step) if isinstance(step, Work | Together) else None

    performer.script = slower_afterwards
    told = performer.perform(Tune().plan(lab.context_of(card)))
    points = (*told.of("co_run_gain"), *told.of("co_run_slowdown"))
    assert points
    assert all(Flag.IMPLAUSIBLE in p.flags for p in points[:3])
    assert told.of("co_run_gain")[0].extra["valid"] is False


def test_without_telemetry_the_pair_says_so(lab):
    performer = lab.Performer(lab.h200())

    def blind(step):
        result = performer.run(step)
        return replace(result, conditions=None) if isinstance(result, Done) else result

    performer.script = blind
    told = performer.perform(Tune().plan(lab.context_of(performer.card)))
    assert Flag.NO_TELEMETRY in told.of("co_run_gain")[0].flags
