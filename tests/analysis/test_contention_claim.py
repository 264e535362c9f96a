"""Mixes gathered from figures, and the claim about three EDSR trainings at once."""

import json
from pathlib import Path

import pytest

from gputuner.analysis.contention_claim import claims_of
from gputuner.analysis.contention_figures import mixes, newest
from gputuner.analysis.contention_null import null_found
from gputuner.model.points import Flag, Point, Spread

RECORDED = json.loads((Path(__file__).parents[1] / "data/analysis/contention-h200.json").read_text())
LABEL = "edsr:batch=16"


def point(metric: str, value: float, number: int = 0, half: float = 0.01, **more) -> Point:
    mix = more.pop("mix", "+".join([LABEL] * 3))
    flags = more.pop("flags", ())
    params = {
        "mix": mix,
        "mode": "processes",
        "jobs": mix.count("+") + 1,
        **({"job": number} if number else {}),
        **more,
    }
    return Point(
        id=f"{metric}-{number}-{value}", card="c", metric=metric, workload="edsr" if number else mix, params=params,
        value=value, unit="", flags=flags,
        spread=Spread(n=40, median=value, iqr=0.0, ci95_low=value * (1 - half), ci95_high=value * (1 + half)),
    )  # fmt: skip


def three(*slowdowns: float, **more) -> list[Point]:
    return [point("co_run_slowdown", value, number, **more) for number, value in enumerate(slowdowns, 1)]


def test_the_recorded_h200_does_not_bear_the_claim_out():
    (claim,) = claims_of(three(*RECORDED["edsr"]["x3"]["slowdown"]))
    assert claim.value == pytest.approx(1.667, abs=0.002)
    assert claim.holds is False
    assert len(claim.evidence) == 3


@pytest.mark.parametrize(
    ("value", "half", "holds"),
    [(3.0, 0.01, True), (2.0, 0.01, False), (4.0, 0.01, False), (2.8, 0.05, None), (3.4, 0.1, None)],
)
def test_what_the_interval_says_of_it(value, half, holds):
    (claim,) = claims_of(three(value, value, value, half=half))
    assert claim.holds is holds


def test_figures_that_do_not_hold_settle_nothing():
    (claim,) = claims_of(three(3.0, 3.0, 3.0, flags=(Flag.IMPLAUSIBLE,)))
    assert claim.holds is None


def test_only_three_alike_of_that_training_count():
    assert claims_of(three(3.0, 3.0, 3.0, mix="edsr:batch=16+edsr:batch=8+edsr:batch=16")) == []
    assert claims_of(three(3.0, 3.0, mix="edsr:batch=16+edsr:batch=16")) == []
    assert claims_of(three(3.0, 3.0, 3.0, shares="50,50,50")) == []


def test_each_mode_is_judged_for_itself():
    told = claims_of([*three(3.0, 3.0, 3.0), *three(1.2, 1.2, 1.2, mode="mps")])
    assert [(claim.mode, claim.holds) for claim in told] == [("processes", True), ("mps", False)]


def test_the_last_round_counts():
    (claim,) = claims_of([*three(3.0, 3.0, 3.0), *three(2.0, 2.0, 2.0)])
    assert claim.value == pytest.approx(2.0)


def test_figures_told_once_are_all_kept():
    alone = [point("train_throughput", value, phase="alone_between") for value in (10.0, 11.0)]
    assert [p.value for p in newest([*alone, *three(3.0, 3.0, 3.0)])] == [10.0, 11.0, 3.0, 3.0, 3.0]


def test_mixes_are_gathered_in_order_and_a_null_check_is_none():
    gain = point("co_run_gain", 1.2)
    null = point("co_run_slowdown", 1.0, 1, mix=LABEL, null=True)
    (mix,) = mixes([null, *reversed(three(1.0, 2.0, 3.0)), gain])
    assert [p.value for p in mix.slowdowns] == [1.0, 2.0, 3.0]
    assert (mix.jobs, mix.alike, mix.valid, mix.worst) == (3, True, True, 3.0)
    assert mix.gain is gain


def test_a_mix_without_its_gain_is_not_valid():
    (mix,) = mixes(three(1.0, 2.0, 3.0))
    assert not mix.valid


def around(value: float, half: float) -> Spread:
    return Spread(n=30, median=value, iqr=0.0, ci95_low=value - half, ci95_high=value + half)


def test_a_null_check_counts_the_intervals_that_miss_one():
    told = null_found([around(1.0, 0.01), around(1.005, 0.01), around(0.98, 0.01), Spread(n=3, median=1.2, iqr=0.0)])
    assert told is not None
    assert (told.rounds, told.beyond) == (3, 1)
    assert told.false_rate == pytest.approx(1 / 3)
    assert told.largest == pytest.approx(0.02)
    assert told.difference == pytest.approx(0.005)
    assert null_found([Spread(n=3, median=1.2, iqr=0.0)]) is None
