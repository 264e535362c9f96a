"""Sizes by claims that were checked by hand, by the laws behind them, and the order of every range."""

from math import log10

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputuner.analysis.supply import Section, SupplyPlan, Wishes
from gputuner.analysis.supply_air import airflow_cfm, noise_dba, speed_rpm
from gputuner.analysis.supply_draw import CardDraw, DrawSource, Feed, Seen
from gputuner.analysis.supply_planned import planned
from gputuner.analysis.supply_power import fitting
from gputuner.catalog.supply import load_supply

FACTS = load_supply()


def told(*watts: float) -> list[CardDraw]:
    return [CardDraw(name=f"{each:g} W", source=DrawSource.TOLD, sustained_w=each, peak_w=each) for each in watts]


def plan(*watts: float, **wishes: float) -> SupplyPlan:
    return planned(told(*watts), Wishes(**wishes), FACTS)


def ends(found: SupplyPlan, name: str) -> tuple[float, float]:
    figure = found.need(name)
    return figure.low, figure.high


def test_b21_two_cards_of_450_w_want_1600_w_and_1200_w_only_if_they_are_capped():
    both = plan(450, 450, psu_w=1200)
    assert ends(both, "machine") == (1125, 1250)
    assert both.need("size").high == 1600
    assert both.need("load").low > 0.9
    capped = plan(320, 320, psu_w=1200, cpu_w=200, rest_w=100)
    assert ends(capped, "machine") == (940, 940)
    assert capped.need("load").high == pytest.approx(0.783, abs=0.001)
    assert capped.need("size").high == 1200


def test_a29_six_cards_of_350_w_want_four_to_six_radiators_of_360_mm():
    found = {each.params["kind"]: each for each in plan(*[350] * 6).all_of("radiators")}
    wide = found["radiator_360"]
    assert (wide.low, wide.high) == pytest.approx((4.0, 5.25))
    assert found["radiator_240"].low == pytest.approx(6.0)
    warmer = {each.params["kind"]: each for each in plan(*[350] * 6, coolant_rise_k=20).all_of("radiators")}
    assert warmer["radiator_360"].high == pytest.approx(5.25 / 2)


def test_a28_a_year_of_six_cards_is_18396_kwh():
    found = plan(*[350] * 6, cpu_w=0, rest_w=0, efficiency=1.0, price=0.8)
    assert ends(found, "wall") == (2100, 2100)
    assert 12 * found.need("month_energy").high == pytest.approx(18396, rel=0.001)
    assert 12 * found.need("month_cost").high == pytest.approx(14717, rel=0.001)
    assert found.need("room_btu").high == pytest.approx(2100 * 3.412)


def test_900_w_at_10_k_need_158_cfm():
    assert airflow_cfm(900, 10, 1.76) == pytest.approx(158.4)
    assert plan(450, 450).need("air_cards").high == pytest.approx(158.4)
    assert plan(450, 450, air_rise_k=20).need("air_cards").high == pytest.approx(79.2)


def test_fans_follow_the_similarity_laws():
    assert noise_dba(50, 2.0, 1, 15) - noise_dba(50, 1.0, 1, 15) == pytest.approx(15)
    assert noise_dba(50, 1.0, 4, 15) - 50 == pytest.approx(10 * log10(4))
    assert noise_dba(50, 0.5, 2, 15) == pytest.approx(50 - 15 + 3.0103, abs=1e-3)
    assert speed_rpm(65, 130, 4000) == pytest.approx(2000)
    found = plan(450, 450)
    fans = [each.params["fans"] for each in found.all_of("fan_speed")]
    assert all(each.high <= 4000 for each in found.all_of("fan_speed")), "the fewest suffice at full speed"
    assert fans == [fans[0], 2 * fans[0]], "at a third of its speed a fan has a ninth of its pressure"
    few = [each.params["fans"] for each in plan(450, cpu_w=200, rest_w=90).all_of("fan_speed")]
    assert few == [2], "four would turn at a quarter of their speed at most: 130 CFM / 4 / 130 CFM"
    loud = [each.high for each in found.all_of("fan_noise")]
    assert loud == sorted(loud, reverse=True), "more and slower fans are quieter"


def test_connectors_of_a_450_w_and_a_600_w_card():
    card = plan(450)
    assert ends(card, "cable") == (384, 450)
    assert ends(card, "eight_pins") == (3, 3)
    assert ends(card, "hpwr_plugs") == (1, 1)
    assert {card.need(name).confidence for name in ("cable", "eight_pins", "hpwr_plugs")} == {"M"}, "rests on the slot"
    assert card.need("hpwr_amps").high == pytest.approx(6.25)
    full = plan(600)
    assert full.need("hpwr_amps").high == pytest.approx(8.333, abs=1e-3)
    assert full.need("hpwr_margin").low == pytest.approx(1.14), "the margin that is said of it everywhere"
    assert ends(plan(700), "hpwr_plugs") == (2, 2)
    assert len(plan(450, 450, 300).all_of("cable")) == 2, "equal cards once"


def test_a_circuit_carries_80_per_cent_for_hours():
    found = plan(350, circuit_volts=120, circuit_amps=15, efficiency=0.9, cpu_w=200, rest_w=100)
    assert ends(found, "circuit") == (1800, 1800)
    assert ends(found, "circuit_lasting") == (1440, 1440)
    assert found.need("wall").high == pytest.approx(650 / 0.9)
    assert found.need("circuit_load").high == pytest.approx(650 / 0.9 / 1440)
    assert ends(found, "cards_on_circuit") == (2, 2), "1296 W less 300 W are two cards of 350 W, not three"


def test_more_than_the_largest_supply_takes_several_equal_ones():
    assert fitting(1250, FACTS) == (1600, 1)
    assert fitting(1600, FACTS) == (2000, 1)
    assert fitting(2450, FACTS) == (1600, 2)
    assert plan(*[350] * 6).need("size").params["count"] == 2


def test_peaks_are_a_stated_factor_unless_a_reading_was_higher():
    assert ends(plan(400), "cards_transient") == (520, 640)
    seen = Seen(sustained_w=400, held_s=100, peak_w=600, interval_s=0.5, session="s")
    draw = CardDraw(
        name="c", source=DrawSource.MEASURED, sustained_w=400, peak_w=600, limit_w=450, seen=seen, sessions=1
    )
    found = planned([draw], Wishes(), FACTS)
    assert ends(found, "cards_transient") == (600, 720), "the factor stands on full draw: up to the limit of 450 W"
    assert ends(found, "cards_peak") == (600, 600)
    assert found.need("cards_limit").high == 450
    assert found.need("size_limit").high > 0
    assert found.measured
    assert plan(400).of("cards_peak") is None, "nothing was read of a card that was told"


def test_the_sheet_and_short_loads_are_less_sure_than_a_minute_of_readings():
    def cards(source: DrawSource, held_s: float = 100.0, limit_w: float | None = 350.0) -> str:
        seen = Seen(sustained_w=300, held_s=held_s, peak_w=300, interval_s=0.5)
        draw = CardDraw(
            name="c",
            source=source,
            sustained_w=300,
            peak_w=300,
            limit_w=limit_w,
            seen=seen if source is DrawSource.MEASURED else None,
        )
        return planned([draw], Wishes(), FACTS).need("cards").confidence

    assert cards(DrawSource.MEASURED) == "H"
    assert cards(DrawSource.MEASURED, held_s=20.0) == "M"
    assert cards(DrawSource.MEASURED, limit_w=None) == "M", "neither limit nor use tells whether it worked"
    assert cards(DrawSource.SHEET) == "M"


def test_the_peak_of_a_bursty_card_holds_what_an_oscilloscope_saw():
    """Press: an RTX 3090 of 350 W peaks at 464 W. Loaded in bursts it draws 150 W on the mean, 350 W in a reading."""
    seen = Seen(sustained_w=150, held_s=900, peak_w=350, interval_s=0.5)
    draw = CardDraw(name="3090", source=DrawSource.MEASURED, sustained_w=150, peak_w=350, limit_w=350, seen=seen)
    low, high = ends(planned([draw], Wishes(), FACTS), "cards_transient")
    assert low == pytest.approx(1.3 * 350)
    assert low <= 464 <= high


def made(name: str, watts: float, fed: Feed) -> CardDraw:
    return CardDraw(name=name, source=DrawSource.LIMIT, sustained_w=watts, peak_w=watts, limit_w=watts, fed=fed)


def test_connectors_are_spoken_of_where_a_card_has_them():
    cards = [made("H200 SXM", 700, Feed.MODULE), made("T4", 70, Feed.SLOT), made("A100 PCIe", 250, Feed.SERVER)]
    found = planned([*cards, made("RTX 4090", 450, Feed.CABLES)], Wishes(), FACTS)
    told = {(each.params["card"], each.name) for each in found.figures if each.section is Section.CONNECTORS}
    assert {card for card, _name in told} == {"A100 PCIe", "RTX 4090"}
    assert {name for card, name in told if card == "A100 PCIe"} == {"cable"}, "no 8-pin of 150 W there"
    assert ("RTX 4090", "hpwr_plugs") in told


def test_a_draw_that_the_slot_may_carry_alone_has_no_margin_of_millions():
    low = plan(50)
    assert low.of("hpwr_margin") is None
    assert ends(low, "eight_pins") == (0, 1)
    assert all(each.high < 1e5 for each in low.figures if each.unit == "x")


def test_a_month_at_the_highest_draw_is_no_firm_figure():
    assert plan(350, cpu_w=100, rest_w=50, efficiency=0.9).need("month_energy").confidence == "M"


def test_a_core_above_its_air_is_resistance_times_watts():
    found = {each.params["kind"]: each for each in plan(307).all_of("core_rise")}
    assert (found["cooler_open"].low, found["cooler_open"].high) == pytest.approx((0.13 * 307, 0.20 * 307))


WATTS = st.lists(st.integers(1, 1200), min_size=1, max_size=6)


@settings(max_examples=60, deadline=None)
@given(
    WATTS,
    st.floats(0, 500),
    st.floats(100, 5000),
    st.floats(0.5, 1.0),
    st.floats(1, 40),
    st.floats(90, 400),
    st.floats(1, 60),
)
def test_every_range_is_one_and_ids_are_unique(watts, rest, psu, efficiency, rise, volts, amps):
    found = plan(
        *watts, rest_w=rest, psu_w=psu, efficiency=efficiency, air_rise_k=rise, circuit_volts=volts, circuit_amps=amps
    )
    assert all(each.low <= each.high + 1e-9 for each in found.figures)
    assert {each.section for each in found.figures} == set(Section)
    ids = [each.id for each in found.figures]
    assert len(ids) == len(set(ids))
    least = found.need("size").high
    assert least * 0.8 >= found.need("machine").high - 1e-6, "what is bought carries the load with head-room"
