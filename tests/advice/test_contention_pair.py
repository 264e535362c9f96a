"""One job or two."""

import pytest

from gputuner.advice.contention_pair import sharing_rule
from gputuner.model.points import Flag


def pair(lab, gain, tuned=1.0, valid=True, flags=()):
    params = {"jobs": 2, "batch": 16, "precision": "bf16"}
    return (
        lab.point("g", "co_run_gain", gain, extra={"alone_tuned": tuned, "valid": valid, "fairness": 1.0}, flags=flags,
                  **params),
        lab.point("s1", "co_run_slowdown", 2 / gain, job=1, **params),
        lab.point("s2", "co_run_slowdown", 2 / gain, job=2, **params),
    )  # fmt: skip


def test_two_at_once_where_it_beats_both_baselines(lab):
    (told,) = sharing_rule(lab.Evidence(card=lab.card(), points=pair(lab, 1.5)))
    assert told.params["jobs"] == 2
    assert told.gain.value == pytest.approx(0.5)
    assert set(told.evidence) == {"g", "s1", "s2"}


def test_a_gain_of_launch_bound_jobs_is_not_one_against_the_tuned_batch(lab):
    """Two ResNet-50 at batch 16 gain 1.97 together, but one at batch 32 does 2.8 times the rate alone."""
    (told,) = sharing_rule(lab.Evidence(card=lab.card(), points=pair(lab, 1.97, tuned=2.8)))
    assert told.id == "jobs.fixed_batch"
    assert told.gain.value == pytest.approx(0.97)
    assert told.params["advantage"] == pytest.approx(1.97 / 2.8 - 1)
    assert told.rank < 20, "only for those whose batch is fixed"


def test_a_saturated_pair_is_better_run_one_after_the_other(lab):
    (told,) = sharing_rule(lab.Evidence(card=lab.card(), points=pair(lab, 1.02, tuned=1.05)))
    assert told.id == "jobs.one_or_two"
    assert told.params["jobs"] == 1
    assert told.gain is None
    assert sharing_rule(lab.Evidence(card=lab.card(), points=pair(lab, 1.02, tuned=1.5))) == []


def test_an_invalid_pair_gives_no_advice(lab):
    assert sharing_rule(lab.Evidence(card=lab.card(), points=pair(lab, 2.2, valid=False))) == []
    assert sharing_rule(lab.Evidence(card=lab.card(), points=pair(lab, 2.2, flags=(Flag.IMPLAUSIBLE,)))) == []
