"""Names of the advice of a session, and what stays when more is told."""

from gputuner.advice.naming import names, newest
from gputuner.model.advice import Advice, Confidence


def advice(identity, rank=1.0, card="GPU-1", **params):
    return Advice(id=identity, card=card, params=params, evidence=("p",), confidence=Confidence.MEASURED, rank=rank)


def test_several_of_a_rule_are_numbered_for_each_card():
    told = [advice("switches.memory"), advice("x"), advice("switches.memory"), advice("switches.memory", card="GPU-2")]
    assert names(told) == ("switches.memory", "x", "switches.memory:2", "switches.memory")


def test_a_rule_that_speaks_again_is_heard_anew_with_all_that_it_says():
    first = newest([], [advice("a", 3.0, n=1), advice("a", 2.0, n=2), advice("b", 1.0)])
    assert [entry.params.get("n") for entry in first] == [1, 2, None]
    again = newest(first, [advice("a", 0.5, n=3)])
    assert [(entry.id, entry.params.get("n")) for entry in again] == [("b", None), ("a", 3)]
