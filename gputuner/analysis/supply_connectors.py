"""Load of a card's power connectors by its sustained watts: no software reads what single pins carry."""

from collections.abc import Sequence
from math import ceil

from gputuner.analysis.supply import Figure, Section, answer, of_fact
from gputuner.analysis.supply_draw import CardDraw
from gputuner.analysis.supply_facts import SupplyFacts, weakest
from gputuner.analysis.supply_power import confidence_of
from gputuner.model.readings import Scalar

VOLTS, HPWR_PINS, EIGHT_PINS = 12.0, 6, 3
"""Of the supply, and pins that carry 12 V."""


def pin_amps(watts: float, plugs: int, pins: int) -> float:
    """Amperes in each of ``pins`` of each of ``plugs``, if they share evenly."""
    return watts / VOLTS / pins / plugs


def connector_figures(draws: Sequence[CardDraw], facts: SupplyFacts) -> list[Figure]:
    """For each kind of card (equal ones once): watts in its cables, how many of each connector, amperes per pin."""
    kinds = {(draw.name, round(draw.sustained_w, 1)): draw for draw in draws}
    return [figure for draw in kinds.values() for figure in _of_card(draw, facts)]


def _of_card(draw: CardDraw, facts: SupplyFacts) -> list[Figure]:
    slot, eight, hpwr = facts["slot_w"], facts["eight_pin_w"], facts["hpwr_w"]
    low, high = max(0.0, draw.sustained_w - slot.high), draw.sustained_w - slot.low
    need, plugs = _plugs(high, eight.low), _plugs(high, hpwr.low)
    old = [pin_amps(watts, need, EIGHT_PINS) for watts in (low, high)]
    new = [pin_amps(watts, plugs, HPWR_PINS) for watts in (low, high)]
    rated = facts["hpwr_a"].low
    margin = [rated / max(amps, 1e-9) for amps in reversed(new)]
    sure = confidence_of([draw])
    rows = (
        ("cable", (low, high), "W", "cable", "slot_w"),
        ("eight_pins", (_plugs(low, eight.low), need), "", "plugs", "eight_pin_w"),
        ("eight_pin_amps", old, "A", "pin_amps", "eight_pin_a"),
        ("hpwr_plugs", (plugs, plugs), "", "plugs", "hpwr_w"),
        ("hpwr_amps", new, "A", "pin_amps", "hpwr_a"),
        ("hpwr_margin", margin, "x", "margin", "hpwr_a"),
    )
    found: list[Figure] = []
    for name, ends, unit, basis, of in rows:
        fact = facts[of]
        told: dict[str, Scalar] = of_fact(fact) | {"card": draw.name, "most": fact.high}
        found.append(
            answer(Section.CONNECTORS, name, ends, unit, basis, weakest(sure, fact.confidence), told),
        )
    return found


def _plugs(watts: float, each_w: float) -> int:
    return max(1, ceil(watts / each_w - 1e-9))
