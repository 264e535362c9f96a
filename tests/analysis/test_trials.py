"""Spread between trials of the same work, against worked values and an H200's own repeats."""

import math
from statistics import stdev

import pytest

from gputuner.analysis.trials import BETWEEN_TRIALS, between_of, between_trials
from gputuner.model.points import Flag, Point, Spread

H200 = (3017.4, 3015.2, 3021.4)
"""Samples/s of the same training, three times in one run; each interval within its trial is under 0.04 % wide."""


def point(value: float, phase: str = "probe", flags: tuple[Flag, ...] = (), iqr: float = 1.0, **params) -> Point:
    named = {"batch": 64, "precision": "bf16", "channels_last": True, "image": 224, **params}
    return Point(
        id="p", card="c", metric="train_throughput", workload="resnet50", params={**named, "phase": phase}, value=value,
        unit="samples/s", spread=Spread(n=50, median=value, iqr=iqr), flags=flags,
    )  # fmt: skip


def test_without_repeats_the_assumed_value():
    assert between_trials([]) == BETWEEN_TRIALS
    assert between_trials([point(3000.0), point(3100.0, batch=128), point(900.0, precision="fp32")]) == BETWEEN_TRIALS


def test_repeats_pull_the_assumed_value_to_what_was_seen():
    points = [point(v, phase) for v, phase in zip(H200, ("probe", "alone", "sustained"), strict=True)]
    seen = stdev(math.log(v) for v in H200)
    assert seen == pytest.approx(0.00105, rel=0.01)
    assert between_trials(points) == pytest.approx(math.sqrt((2 * 0.003**2 + 2 * seen**2) / 4))
    assert between_trials(points * 100) == pytest.approx(seen, rel=0.2)


def test_noisy_repeats_raise_it():
    assert between_trials([point(1000.0), point(1030.0, "alone")]) > 0.01


@pytest.mark.parametrize("flag", [Flag.NOT_STEADY, Flag.SPREAD, Flag.TOO_SLOW, Flag.IMPLAUSIBLE])
def test_what_had_not_settled_and_other_phases_do_not_count(flag):
    assert between_trials([point(1000.0), point(1200.0, flags=(flag,)), point(1100.0, "limit")]) == BETWEEN_TRIALS


def test_an_unsettled_figure_brings_its_own_scatter():
    assert between_of(point(1000.0, iqr=40.0)) == BETWEEN_TRIALS
    assert between_of(point(1000.0, iqr=40.0, flags=(Flag.SPREAD,))) == pytest.approx(0.04)
    assert between_of(point(1000.0, iqr=1.0, flags=(Flag.NOT_STEADY,))) == BETWEEN_TRIALS
