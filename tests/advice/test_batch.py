"""Batch rules."""

import pytest

from gputuner.advice.batch import fastest_rule, safe_rule
from gputuner.model.advice import Confidence
from gputuner.model.points import Flag


def test_fastest_is_the_smallest_within_the_band_and_gains_over_the_usual_batch(lab):
    (told,) = fastest_rule(lab.Evidence(card=lab.card(), points=tuple(lab.ladder())))
    assert told.params["batch"] == 128
    assert told.params["reference_batch"] == 32
    assert told.gain.value == pytest.approx(0.25)
    assert told.gain.low < 0.25 < told.gain.high
    assert set(told.evidence) == {"r128", "r32", "r256"}
    assert "batch_size=128" in told.snippet
    assert told.params["workload"] == "resnet50"
    assert told.params["still_rising"] is False


def test_a_rate_that_still_rises_says_so(lab):
    points = (lab.rate("a", 32, 100.0), lab.rate("b", 64, 190.0))
    (told,) = fastest_rule(lab.Evidence(card=lab.card(), points=points))
    assert told.params["still_rising"] is True


def test_rates_of_other_phases_and_too_slow_ones_do_not_count(lab):
    points = (
        *lab.ladder(),
        lab.rate("hot", 512, 2000.0, phase="sustained"),
        lab.rate("slow", 512, 2000.0, flags=(Flag.TOO_SLOW,)),
    )
    (told,) = fastest_rule(lab.Evidence(card=lab.card(), points=points))
    assert told.params["batch"] == 128


def test_one_batch_is_no_comparison(lab):
    assert fastest_rule(lab.Evidence(card=lab.card(), points=(lab.rate("a", 32, 100.0),))) == []


def test_safe_limit_keeps_limit_safe_and_fastest_apart(lab):
    near = lab.rate("near", 552, 470.0, phase="limit")
    evidence = lab.Evidence(card=lab.card(), points=(*lab.ladder(), near, *lab.limits(552, 496, 128)))
    (told,) = safe_rule(evidence)
    assert told.params["limit_rate"] == 470.0
    assert (told.params["limit"], told.params["safe"], told.params["fastest"]) == (552, 496, 128)
    assert told.params["fails"] == 568
    assert told.params["safe_rate"] == 990.0
    assert told.confidence is Confidence.MEASURED


def test_a_predicted_limit_is_only_a_model(lab):
    evidence = lab.Evidence(card=lab.card(), points=tuple(lab.limits(552, 496, 128, verified=False)))
    (told,) = safe_rule(evidence)
    assert told.confidence is Confidence.MODEL
    assert told.params["verified"] is False
