"""Every code that a room hands up has its words."""

import pytest

from gputuner.language import names, sentences, steps, terms
from gputuner.language.advice_words import ADVICE, QUESTIONS
from gputuner.language.errors import ERRORS
from gputuner.language.findings import FINDINGS
from gputuner.language.warnings import WARNINGS
from gputuner.model.advice import Confidence
from gputuner.model.cards import CardState, Origin, Support
from gputuner.model.events import Outcome
from gputuner.model.points import Flag
from gputuner.model.quantities import Limiter, Quantity
from gputuner.model.readings import Reason

PLAIN = [
    (Reason, sentences.reason),
    (Limiter, sentences.limiter),
    (Flag, sentences.flag),
    (Outcome, sentences.outcome),
    (Confidence, sentences.confidence),
    (CardState, sentences.card_state),
    (Support, sentences.support),
    (Origin, sentences.origin),
    (Quantity, sentences.quantity),
]


@pytest.mark.parametrize(("members", "words"), PLAIN, ids=[members.__name__ for members, _words in PLAIN])
def test_every_member_has_words_of_its_own(members, words):
    said = [words(member) for member in members]
    assert all(said)
    assert len(set(said)) == len(said)


@pytest.mark.parametrize(
    ("kind", "table"),
    [
        ("errors", ERRORS),
        ("warnings", WARNINGS),
        ("labels", steps.STEPS),
        ("metrics", names.METRICS),
        ("advice", ADVICE),
        ("questions", QUESTIONS),
        ("findings", {**FINDINGS, **ERRORS}),
    ],
)
def test_every_code_in_the_source_has_words(codes, kind, table):
    found = getattr(codes, kind)
    assert found, "the source is not read"
    assert {code: where for code, where in found.items() if code not in table} == {}


def test_every_trigger_of_the_safety_stop_has_words():
    for trigger in (
        "telemetry_silent",
        "xid",
        "core_hot",
        "core_user_limit",
        "memory_hot",
        "power_above_limit",
        "fan_stopped",
    ):
        assert f"safety_{trigger}" in ERRORS


def test_a_variant_belongs_to_a_rule():
    assert {key.split(":")[0] for key in ADVICE} <= set(ADVICE)
    assert {key.split(":")[0] for key in QUESTIONS} <= set(QUESTIONS)


def test_tables_cover_their_enums():
    assert set(terms.REASONS) == set(Reason)
    assert set(names.QUANTITIES) == set(Quantity)
