"""Load of a card's power connectors by its sustained watts: no software reads what single pins carry."""

from collections.abc import Sequence
from math import ceil

from gputuner.analysis.supply import Figure, Section, answer, of_fact
from gputuner.analysis.supply_draw import CardDraw, Feed
from gputuner.analysis.supply_facts import SupplyFacts, weakest
from gputuner.analysis.supply_power import confidence_of
from gputuner.model.readings import Scalar

VOLTS, HPWR_PINS, EIGHT_PINS = 12.0, 6, 3
"""Of the supply, and pins that carry 12 V."""


def pin_amps(watts: float, plugs: int, pins: int) -> float:
    """Amperes in each of ``pins`` of each of ``plugs``, if they share evenly."""
    return watts / VOLTS / pins / plugs


def connector_figures(draws: Sequence[CardDraw], facts: SupplyFacts) -> list[Figure]:
    """For each kind of card (equal ones once): watts in its cables, how many of each connector, amperes per pin.

    Modules and cards that the slot feeds have no cables; what plug a server's board has is not known here.
    """
    kinds = {(draw.name, round(draw.sustained_w, 1)): draw for draw in draws}
    found: list[Figure] = []
    for draw in kinds.values():
        match draw.fed:
            case Feed.MODULE | Feed.SLOT:
                pass
            case Feed.SERVER:
                found.append(_cable(draw, facts, "cable_server"))
            case Feed.CABLES:
                found += [_cable(draw, facts, "cable"), *_plugged(draw, facts)]
    return found


def _in_cables(draw: CardDraw, facts: SupplyFacts) -> tuple[float, float]:
    slot = facts["slot_w"]
    return max(0.0, draw.sustained_w - slot.high), draw.sustained_w - slot.low


def _cable(draw: CardDraw, facts: SupplyFacts, basis: str) -> Figure:
    slot = facts["slot_w"]
    told: dict[str, Scalar] = of_fact(slot) | {"card": draw.name}
    sure = weakest(confidence_of([draw]), slot.confidence)
    return answer(Section.CONNECTORS, "cable", _in_cables(draw, facts), "W", basis, sure, told)


def _plugged(draw: CardDraw, facts: SupplyFacts) -> list[Figure]:
    """Plugs of either kind and their pins; the margin is left out where the slot may carry it all."""
    eight, hpwr = facts["eight_pin_w"], facts["hpwr_w"]
    low, high = _in_cables(draw, facts)
    need, plugs = _plugs(high, eight.low), _plugs(high, hpwr.low)
    old = [pin_amps(watts, need, EIGHT_PINS) for watts in (low, high)]
    new = [pin_amps(watts, plugs, HPWR_PINS) for watts in (low, high)]
    rated = facts["hpwr_a"].low
    sure = weakest(confidence_of([draw]), facts["slot_w"].confidence)  # what the cables carry rests on the slot
    rows: list[tuple[str, Sequence[float], str, str, str]] = [
        ("eight_pins", (_plugs(low, eight.low), need), "", "plugs", "eight_pin_w"),
        ("eight_pin_amps", old, "A", "pin_amps", "eight_pin_a"),
        ("hpwr_plugs", (_plugs(low, hpwr.low), plugs), "", "plugs", "hpwr_w"),
        ("hpwr_amps", new, "A", "pin_amps", "hpwr_a"),
    ]
    if low > 0:
        rows.append(("hpwr_margin", [rated / amps for amps in reversed(new)], "x", "margin", "hpwr_a"))
    found: list[Figure] = []
    for name, ends, unit, basis, of in rows:
        fact = facts[of]
        told: dict[str, Scalar] = of_fact(fact) | {"card": draw.name, "most": fact.high}
        found.append(
            answer(Section.CONNECTORS, name, ends, unit, basis, weakest(sure, fact.confidence), told),
        )
    return found


def _plugs(watts: float, each_w: float) -> int:
    return ceil(watts / each_w - 1e-9)
