"""Advice on supply, circuit and cables stands on what is known; where a range leaves it open there is a question."""

import pytest

from gputuner.advice.supply import supply_advice, supply_questions
from gputuner.analysis.supply import SupplyPlan, Wishes
from gputuner.analysis.supply_draw import CardDraw, DrawSource, Seen
from gputuner.analysis.supply_planned import planned
from gputuner.catalog.supply import load_supply
from gputuner.language import sentences
from gputuner.model.advice import Confidence
from gputuner.model.cards import CardInfo, Origin

FACTS = load_supply()
CARD = CardInfo(uuid="GPU-0000000012345678", index=0, name="NVIDIA GeForce RTX 4090")


def drawn(
    watts: float = 450.0,
    *,
    source: DrawSource = DrawSource.MEASURED,
    held_s: float = 100.0,
    limit_w: float | None = None,
    simulated: bool = False,
) -> CardDraw:
    seen = Seen(sustained_w=watts, held_s=held_s, peak_w=watts, interval_s=0.5, session="s")
    return CardDraw(
        name="RTX 4090",
        uuid=CARD.uuid,
        source=source,
        sustained_w=watts,
        peak_w=watts,
        limit_w=limit_w,
        seen=seen if source is DrawSource.MEASURED else None,
        simulated=simulated,
    )


def plan(*draws: CardDraw, **wishes: float) -> SupplyPlan:
    return planned(draws, Wishes(**wishes), FACTS)


def ids(found: SupplyPlan) -> tuple[list[str], list[str]]:
    advice = [each.id for each in supply_advice(found, FACTS)]
    return advice, [each.id for each in supply_questions(found, (CARD,), FACTS)]


def test_b21_1200_w_for_two_cards_are_too_few_and_a_cap_for_both_is_named():
    found = plan(drawn(), drawn(), psu_w=1200, cpu_w=250, rest_w=100)
    (advice,) = supply_advice(found, FACTS)
    assert advice.id == "supply.too_small"
    assert advice.confidence is Confidence.MODEL
    assert set(advice.evidence) <= {each.id for each in found.figures}
    assert advice.snippet == "gputuner --cli control set total-power 610 --gpu all"
    assert "1600 W" in sentences.advice_action(advice)
    assert "1250 W sustained: 104 %" in sentences.advice_why(advice)


def test_a_cap_that_would_leave_nothing_is_not_named():
    (advice,) = supply_advice(plan(drawn(), psu_w=300, cpu_w=250, rest_w=100), FACTS)
    assert advice.snippet is None
    assert "left for the cards" not in sentences.advice_why(advice)


def test_a_range_that_leaves_it_open_is_a_question():
    assert ids(plan(drawn(400), psu_w=850)) == ([], ["supply_tight"])
    assert ids(plan(drawn(400), psu_w=1200))[0] == ["supply.enough"]
    assert ids(plan(drawn(400))) == ([], ["supply_own"])


def test_what_is_enough_for_the_loads_seen_may_not_be_at_the_limit():
    advice, questions = ids(plan(drawn(280, limit_w=600), psu_w=850, cpu_w=200, rest_w=90))
    assert (advice, questions) == ([], ["supply_limits"])
    assert ids(plan(drawn(280, limit_w=300), psu_w=850, cpu_w=200, rest_w=90)) == (["supply.enough"], [])


@pytest.mark.parametrize("source", [DrawSource.LIMIT, DrawSource.SHEET])
def test_a_sheet_calls_for_nothing_but_a_measurement(source):
    advice, questions = ids(plan(drawn(source=source), psu_w=300, cpu_w=200, rest_w=90))
    assert advice == []
    assert questions[0] == "supply_draw"
    asked = supply_questions(plan(drawn(source=source)), (CARD,), FACTS)[0]
    assert asked.command == "gputuner --cli cooling --gpu GPU-00000000"


def test_a_short_load_is_asked_for_again():
    asked = supply_questions(plan(drawn(held_s=20)), (CARD,), FACTS)[0]
    assert asked.id == "supply_longer"
    assert "20 s" in sentences.question(asked)


def test_a_circuit_that_is_too_small_at_the_kind_end_too():
    loaded = plan(*[drawn(450)] * 3, cpu_w=200, rest_w=100, circuit_volts=120, circuit_amps=15, efficiency=0.9)
    assert ids(loaded)[0] == ["supply.circuit"]
    (advice,) = supply_advice(loaded, FACTS)
    assert "1440 W for hours" in sentences.advice_why(advice)
    open_ended = plan(*[drawn(450)] * 2, cpu_w=300, rest_w=100, circuit_volts=120, circuit_amps=15)
    assert ids(open_ended) == ([], ["supply_circuit"])


def test_a_card_above_what_one_connector_carries():
    advice = supply_advice(plan(drawn(700), cpu_w=100, rest_w=50), FACTS)
    assert [each.id for each in advice] == ["supply.connector"]
    assert "634 W" in sentences.advice_why(advice[0])
    assert supply_advice(plan(drawn(600), cpu_w=100, rest_w=50), FACTS) == ()


def test_equal_cards_are_asked_about_once():
    sheet = drawn(source=DrawSource.SHEET)
    assert ids(plan(sheet, sheet, sheet, cpu_w=100, rest_w=50))[1] == ["supply_draw"]


def test_what_rests_on_a_simulated_card_says_so():
    (small,) = supply_advice(plan(drawn(simulated=True), psu_w=600, cpu_w=100, rest_w=50), FACTS)
    assert small.snippet is None, "no command for cards that are not there"
    (advice,) = supply_advice(plan(drawn(simulated=True), psu_w=1600, cpu_w=100, rest_w=50), FACTS)
    assert advice.origin is Origin.SIMULATED
