"""Advice on supply, circuit and cables stands on what is known; where a range leaves it open there is a question."""

import inspect
from dataclasses import replace

import pytest

from gputuner.advice.supply import supply_advice, supply_questions
from gputuner.advice.supply_again import OPTIONS
from gputuner.analysis.supply import SupplyPlan, Wishes
from gputuner.analysis.supply_draw import CardDraw, DrawSource, Feed, Seen
from gputuner.analysis.supply_planned import planned
from gputuner.catalog.supply import load_supply
from gputuner.cli.supply import supply
from gputuner.language import sentences
from gputuner.model.advice import Confidence
from gputuner.model.cards import CardInfo, CatalogMatch, Origin

FACTS = load_supply()
SECOND = "GPU-1111111187654321"
CARD = CardInfo(uuid="GPU-0000000012345678", index=0, name="NVIDIA GeForce RTX 4090")


def drawn(
    watts: float = 450.0,
    *,
    source: DrawSource = DrawSource.MEASURED,
    held_s: float = 100.0,
    limit_w: float | None = 450.0,
    lowest_w: float | None = 150.0,
    uuid: str = CARD.uuid,
    fed: Feed = Feed.CABLES,
    simulated: bool = False,
) -> CardDraw:
    seen = Seen(sustained_w=watts, held_s=held_s, peak_w=watts, interval_s=0.5, session="s")
    return CardDraw(
        name="RTX 4090",
        uuid=uuid,
        source=source,
        sustained_w=watts,
        peak_w=watts,
        limit_w=limit_w,
        lowest_w=lowest_w,
        fed=fed,
        seen=seen if source is DrawSource.MEASURED else None,
        simulated=simulated,
    )


def plan(*draws: CardDraw, **wishes: float) -> SupplyPlan:
    return planned(draws, Wishes(**wishes), FACTS)


def ids(found: SupplyPlan) -> tuple[list[str], list[str]]:
    advice = [each.id for each in supply_advice(found, FACTS)]
    return advice, [each.id for each in supply_questions(found, (CARD,), FACTS)]


def test_b21_1200_w_for_two_cards_are_too_few_and_a_cap_for_both_is_named():
    found = plan(drawn(), drawn(uuid=SECOND), psu_w=1200, cpu_w=250, rest_w=100)
    (advice,) = supply_advice(found, FACTS)
    assert advice.id == "supply.too_small"
    assert advice.confidence is Confidence.MODEL
    assert set(advice.evidence) <= {each.id for each in found.figures}
    assert advice.snippet == "gputuner --cli control set total-power 610 --gpu GPU-00000000,GPU-11111111"
    assert "1600 W" in sentences.advice_action(advice)
    assert "1250 W sustained: 104 %" in sentences.advice_why(advice)


def test_head_room_is_a_rule_of_thumb_and_ranks_below_a_rating_that_is_passed():
    """81 % of a rating leaves 19 % of it; 104 % leaves nothing."""
    tight = supply_advice(plan(drawn(460), psu_w=1000, cpu_w=250, rest_w=100), FACTS)
    over = supply_advice(plan(drawn(460), psu_w=650, cpu_w=250, rest_w=100), FACTS)
    assert [each.id for each in (*tight, *over)] == ["supply.tight", "supply.too_small"]
    assert tight[0].rank < over[0].rank
    assert "rule of thumb" in sentences.advice_why(tight[0])
    assert "nothing is left" not in sentences.advice_why(tight[0])


def test_a_command_is_given_only_for_cards_that_are_here_and_take_it():
    told = [CardDraw(name="450 W", source=DrawSource.TOLD, sustained_w=450, peak_w=450)] * 4
    (advice,) = supply_advice(plan(*told, psu_w=1000), FACTS)
    assert advice.snippet is None, "cards that are told are not here"
    (advice,) = supply_advice(plan(drawn(), drawn(), psu_w=1000, cpu_w=200, rest_w=100), FACTS)
    assert advice.snippet is None, "two of each where one is here"
    both = drawn(lowest_w=300.0), drawn(uuid=SECOND, lowest_w=300.0)
    (advice,) = supply_advice(plan(*both, psu_w=1000, cpu_w=200, rest_w=100), FACTS)
    assert advice.snippet is None, "500 W are left, less than the 600 W that they take at least"
    assert "600 W, so no cap is low enough" in sentences.advice_why(advice)
    (advice,) = supply_advice(plan(drawn(), psu_w=650, cpu_w=200, rest_w=100), FACTS)
    assert advice.snippet == "gputuner --cli control set total-power 220 --gpu GPU-00000000"


def test_a_limit_that_is_not_told_is_no_limit_of_zero():
    """An idle-looking load of 22 W fits any supply; what the card may draw is not known."""
    alone = plan(drawn(22, limit_w=None), psu_w=450, cpu_w=200, rest_w=90)
    assert ids(alone) == ([], ["supply_limit_untold"])
    known = drawn(60)
    assert ids(plan(known, psu_w=650, cpu_w=200, rest_w=90)) == ([], ["supply_limits"])
    both = plan(known, drawn(60, limit_w=None, uuid=SECOND), psu_w=650, cpu_w=200, rest_w=90)
    assert ids(both) == ([], ["supply_limit_untold"]), "a second card makes no supply enough"
    assert "RTX 4090 does not tell" in sentences.question(supply_questions(both, (CARD,), FACTS)[0])


@pytest.mark.parametrize("fed", [Feed.MODULE, Feed.SERVER, Feed.SLOT])
def test_no_cable_is_advised_where_there_is_none(fed):
    assert supply_advice(plan(drawn(700, limit_w=700, fed=fed), cpu_w=100, rest_w=50), FACTS) == ()


def test_a_cap_that_would_leave_nothing_is_not_named():
    (advice,) = supply_advice(plan(drawn(), psu_w=300, cpu_w=250, rest_w=100), FACTS)
    assert advice.snippet is None
    assert "cap" not in sentences.advice_why(advice)


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
    assert "capped at 996 W in all" in sentences.advice_why(advice), "1440 W at 90 % less 300 W"
    assert advice.snippet is None, "three of one card that is here once"
    open_ended = plan(*[drawn(450)] * 2, cpu_w=300, rest_w=100, circuit_volts=120, circuit_amps=15)
    assert ids(open_ended) == ([], ["supply_circuit"])


def test_a_command_asks_again_for_the_same_cards_with_what_was_told():
    simulated = replace(CARD, origin=Origin.SIMULATED, catalog=CatalogMatch(catalog_id="rtx-4090", name="RTX 4090"))
    wishes = {"circuit_volts": 120.0, "circuit_amps": 15.0, "cpu_w": 200.0}
    four = plan(*[drawn(450, simulated=True)] * 4, **wishes)
    asked = {each.id: each.command for each in supply_questions(four, (simulated,), FACTS)}
    assert asked["supply_own"] == (
        "gputuner --cli supply --simulate rtx-4090 --cards 4 --cpu-watts 200 --rest-watts WATTS --psu-watts WATTS "
        "--circuit-volts 120 --circuit-amps 15"
    )
    asked = {each.id: each.command for each in supply_questions(plan(drawn(400), psu_w=850), (CARD,), FACTS)}
    assert asked["supply_tight"] == (
        "gputuner --cli supply --gpu GPU-00000000 --cpu-watts WATTS --rest-watts WATTS --psu-watts 850"
    )
    told = [CardDraw(name=f"{w}", source=DrawSource.TOLD, sustained_w=w, peak_w=w) for w in (350, 350, 300, 300)]
    (asked,) = supply_questions(plan(*told, price=0.3), (), FACTS)
    assert asked.command.startswith("gputuner --cli supply --watts 350 --watts 300 --cards 2 --cpu-watts WATTS")
    assert asked.command.endswith("--psu-watts WATTS --price 0.3")


def test_the_command_names_the_options_of_the_command_line():
    taken = [each.annotation for each in inspect.signature(supply).parameters.values()]
    names = {name for kind in taken for entry in getattr(kind, "__metadata__", ()) for name in entry.name}
    assert {*OPTIONS.values(), "--watts", "--cards"} == names


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
