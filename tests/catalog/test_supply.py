"""The facts that sizing rests on: carried over with their confidence, and refused where they are none."""

import pytest

from gputuner.analysis.supply_air import COOLERS, RADIATORS
from gputuner.analysis.supply_facts import weakest
from gputuner.catalog.supply import load_supply, read_supply
from gputuner.model.errors import StoreError

CARRIED = {
    "cfm_k_per_w": (1.76, 1.76, "M"),
    "radiator_240": (350, 350, "H"),
    "radiator_360": (400, 525, "M"),
    "radiator_360_slim": (250, 330, "L"),
    "fan_cfm": (130, 190, "L"),
    "fan_dba": (50, 60, "L"),
    "db_per_doubling": (15, 15, "M"),
    "cooler_blower": (0.15, 0.22, "M"),
    "cooler_water": (0.04, 0.07, "M"),
    "cpu_w": (150, 250, "M"),
    "rest_w": (75, 100, "M"),
    "eight_pin_w": (150, 150, "H"),
    "hpwr_w": (600, 600, "H"),
    "supply_excursion": (1.8, 1.8, "H"),
}


def test_facts_are_carried_with_range_confidence_and_source():
    facts = load_supply()
    for name, told in CARRIED.items():
        assert (facts[name].low, facts[name].high, facts[name].confidence) == told, name
    assert all(fact.source for fact in facts.facts.values())
    assert set(RADIATORS + COOLERS) <= set(facts.facts)
    assert facts.sizes_w == tuple(sorted(facts.sizes_w))


def test_the_excursion_of_cards_follows_from_the_readings_that_it_names():
    fact = load_supply()["card_excursion"]
    assert (round(738 / 575, 1), round(901 / 575, 1)) == (fact.low, fact.high)
    assert fact.low <= 464 / 350 <= fact.high


GOOD = 'id = "a"\nlow = 1\nhigh = 2\nunit = "W"\nconfidence = "H"\nsource = "s"\n'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "sizes_w = [1]\n",
        "sizes_w = [1]\n[[fact]]\n" + GOOD.replace("low = 1", "low = 3"),
        "sizes_w = [1]\n[[fact]]\n" + GOOD.replace('"H"', '"X"'),
        "sizes_w = [1]\n[[fact]]\n" + GOOD.replace('"s"', '""'),
        "sizes_w = [1]\n[[fact]]\n" + GOOD + "more = 1\n",
        "sizes_w = [1]\n[[fact]]\n" + GOOD + "[[fact]]\n" + GOOD,
        "sizes_w = []\n[[fact]]\n" + GOOD,
        "sizes_w = [\n",
    ],
)
def test_a_damaged_file_is_refused(tmp_path, text):
    path = tmp_path / "supply.toml"
    path.write_text(text)
    with pytest.raises(StoreError) as refused:
        read_supply(path)
    assert refused.value.code == "catalog_malformed"


def test_what_rests_on_several_facts_is_as_sure_as_the_weakest():
    assert weakest("H", "L", "M") == "L"
    assert weakest("H") == "H"
