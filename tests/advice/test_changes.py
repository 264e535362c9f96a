"""What an advice changes, in a form that a program can try."""

import json

import pytest

from gputuner.advice.accumulate import accumulate_rule
from gputuner.advice.batch import fastest_rule, safe_rule
from gputuner.advice.contention_pair import sharing_rule
from gputuner.advice.precision import layout_rule, precision_rule
from gputuner.advice.rules import advise
from gputuner.model.advice import Advice
from gputuner.model.change import Change, TrainingSetting
from gputuner.model.codec import decode, encode


def setting(batch=128, precision="bf16", last=True, **more):
    return TrainingSetting(batch=batch, precision=precision, channels_last=last, **more)


def pair(lab, gain, tuned):
    params = {"jobs": 2, "batch": 16, "precision": "bf16", "channels_last": True}
    return lab.point("g", "co_run_gain", gain, extra={"alone_tuned": tuned, "valid": True, "fairness": 1.0}, **params)


def test_from_the_usual_batch_to_the_fastest(lab):
    (told,) = fastest_rule(lab.Evidence(card=lab.card(), points=tuple(lab.ladder())))
    assert told.change == Change(workload="resnet50", base=setting(32), advised=setting(128))


def test_a_fastest_batch_that_is_the_usual_one_changes_nothing(lab):
    points = (lab.rate("a", 32, 1000.0), lab.rate("b", 64, 1001.0))
    (told,) = fastest_rule(lab.Evidence(card=lab.card(), points=points))
    assert (told.params["batch"], told.gain, told.change) == (32, None, None)


def test_from_what_torch_does_by_itself_to_the_best_format(lab):
    rates = {"fp32": 600, "tf32": 800, "bf16": 1200}
    points = tuple(lab.rate(name, 128, value, precision=name) for name, value in rates.items())
    (told,) = precision_rule(lab.Evidence(card=lab.card(), points=points))
    assert told.change == Change(workload="resnet50", base=setting(precision="tf32"), advised=setting())
    (kept,) = precision_rule(lab.Evidence(card=lab.card(), points=points[:2]))
    assert (kept.params["keep"], kept.change) == (True, None)


def test_from_one_layout_to_the_other(lab):
    points = (lab.rate("a", 128, 1000.0, channels_last=False), lab.rate("b", 128, 1200.0))
    (told,) = layout_rule(lab.Evidence(card=lab.card(), points=points))
    assert told.change == Change(workload="resnet50", base=setting(last=False), advised=setting())
    slower = (lab.rate("a", 128, 1200.0, channels_last=False), lab.rate("b", 128, 1000.0))
    (left,) = layout_rule(lab.Evidence(card=lab.card(), points=slower))
    assert left.change is None


def test_two_at_once_start_from_one_at_its_own_best_batch(lab):
    points = (lab.rate("a", 16, 1000.0), lab.rate("b", 32, 1050.0), pair(lab, 1.5, 1.05))
    (told,) = sharing_rule(lab.Evidence(card=lab.card(), points=points))
    assert told.change == Change(workload="resnet50", base=setting(32), advised=setting(16, processes=2))
    fixed = (lab.rate("a", 16, 1000.0), lab.rate("b", 32, 2800.0), pair(lab, 1.97, 2.8))
    (told,) = sharing_rule(lab.Evidence(card=lab.card(), points=fixed))
    assert told.change == Change(workload="resnet50", base=setting(16), advised=setting(16, processes=2))
    (one,) = sharing_rule(lab.Evidence(card=lab.card(), points=(points[0], pair(lab, 1.02, 1.0))))
    assert one.change is None


def test_a_split_of_what_does_not_fit_has_nothing_to_start_from(lab):
    (told,) = accumulate_rule(
        lab.Evidence(card=lab.card(), points=(*lab.ladder()[:3], *lab.limits(144, 128, 128)), effective_batch=512)
    )
    assert told.params["needed"] is True
    assert told.change is None


def test_limits_and_what_the_owner_does_cannot_be_tried(lab):
    points = (*lab.ladder(), *lab.limits(552, 496, 128))
    evidence = lab.Evidence(card=lab.card(), points=points, fingerprint=lab.host(governor="powersave"))
    assert [told.change for told in safe_rule(evidence)] == [None]
    by_id = {told.id: told for told in advise(evidence)[0]}
    assert by_id["host.governor"].change is None


def test_every_gain_of_a_change_is_one_of_the_rate(lab):
    told = [entry for entry in advise(lab.Evidence(card=lab.card(), points=tuple(lab.ladder())))[0] if entry.change]
    assert told
    assert all(entry.gain is not None and entry.gain.unit == "fraction" for entry in told)


def test_it_is_stored_and_read_back(lab):
    (told,) = fastest_rule(lab.Evidence(card=lab.card(), points=tuple(lab.ladder())))
    assert decode(encode(told), Advice) == told


def test_an_advice_stored_before_there_were_changes_still_opens(lab):
    (told,) = fastest_rule(lab.Evidence(card=lab.card(), points=tuple(lab.ladder())))
    stored = json.loads(encode(told))
    del stored["change"]
    assert decode(json.dumps(stored).encode(), Advice).change is None


@pytest.mark.parametrize("name", ["batch", "accumulate", "processes"])
def test_none_of_nothing(name):
    with pytest.raises(ValueError, match="at least 1"):
        setting(**{name: 0})
