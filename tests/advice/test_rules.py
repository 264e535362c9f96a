"""All rules together: order, purity, and what is asked where evidence is missing."""

from dataclasses import replace

from gputuner.advice.rules import RULES, advise
from gputuner.model.advice import Advice
from gputuner.model.cards import CatalogMatch, Origin
from gputuner.model.codec import decode, encode

COMMANDS = {"tune", "bench", "batch", "record", "monitor", "devices", "doctor", "sessions", "advise"}


def evidence(lab):
    points = (
        *lab.ladder(),
        *lab.limits(552, 496, 128),
        lab.rate("t", 128, 700.0, precision="tf32"),
        lab.rate("sus", 128, 950.0, phase="sustained", conditions=lab.conditions(limited={"power": 9.0})),
    )
    return lab.Evidence(card=lab.card(), points=points, fingerprint=lab.host(governor="powersave"))


def test_ranked_by_gain_then_weight(lab):
    advice, _ = advise(evidence(lab))
    ids = [a.id for a in advice]
    assert ids[:2] == ["precision.best", "batch.fastest"]
    assert ids[-1] == "host.governor"
    assert [a.rank for a in advice] == sorted((a.rank for a in advice), reverse=True)


def test_heat_that_binds_most_of_the_time_goes_before_small_gains(lab):
    hot = lab.conditions(limited={"thermal_software": 6.0}, core_temperature_end_c=62.0)
    points = (
        lab.rate("a", 32, 950.0),
        lab.rate("b", 64, 1000.0),
        lab.rate("sus", 64, 900.0, phase="sustained", conditions=hot),
    )
    advice, _ = advise(lab.Evidence(card=lab.card(target_c=83.0), points=points))
    assert [a.id for a in advice][:2] == ["memory_heat.suspected", "batch.fastest"]


def test_pure(lab):
    assert advise(evidence(lab)) == advise(evidence(lab))


def test_every_advice_survives_the_wire(lab):
    for told in advise(evidence(lab))[0]:
        assert decode(encode(told), Advice) == told


def test_no_evidence_no_advice_but_a_question(lab):
    advice, questions = advise(lab.Evidence(card=lab.card()))
    assert advice == ()
    assert [q.id for q in questions] == ["nothing_measured"]
    assert questions[0].command == "gputuner --cli tune --quick --gpu GPU-aaaaaaaa"


def test_questions_name_only_commands_that_exist(lab):
    for each in (evidence(lab), lab.Evidence(card=lab.card()), lab.Evidence(card=lab.card(cpu=True))):
        for question in advise(each)[1]:
            words = question.command.split()
            assert words[:2] == ["gputuner", "--cli"]
            assert words[2] in COMMANDS


def test_a_simulated_card_is_asked_about_as_simulated(lab):
    card = replace(lab.card(), origin=Origin.SIMULATED, catalog=CatalogMatch(catalog_id="rtx-4090-48g", name=None))
    (question,) = advise(lab.Evidence(card=card))[1]
    assert question.command.endswith("--simulate rtx-4090-48g")


def test_evidence_refers_to_points_that_exist(lab):
    told = evidence(lab)
    known = {p.id for p in told.points}
    for advice in advise(told)[0]:
        assert advice.evidence
        assert all(e in known or ":" in e for e in advice.evidence)


def test_rules_are_listed_once():
    assert len(set(RULES)) == len(RULES)


def test_no_command_joins_a_recipe_with_a_simulated_card(lab):
    simulated = replace(lab.card(), origin=Origin.SIMULATED, catalog=None)
    _, asked = advise(lab.Evidence(card=simulated, points=(lab.rate("r", 32, 100.0),)))
    command = next(question.command for question in asked if question.id == "own_training")
    assert command == "gputuner --cli batch --recipe FILE.py:function"


def test_no_format_is_advised_where_no_loss_was_a_number(lab):
    formats = {"bf16": 1000.0, "fp32": 400.0}
    for finite, told in ((True, True), (False, False)):
        points = [lab.rate(p, 64, value, p, extra={"loss_finite": finite}) for p, value in formats.items()]
        advice, _ = advise(lab.Evidence(card=lab.card(), points=tuple(points)))
        assert ("precision.best" in {entry.id for entry in advice}) is told
