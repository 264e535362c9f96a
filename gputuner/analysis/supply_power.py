"""Watts of the machine, size of its supply, and share of its circuit."""

from collections.abc import Sequence
from math import ceil, floor

from gputuner.analysis.supply import Figure, Section, SupplyPlan, Wishes, answer, of_fact
from gputuner.analysis.supply_draw import CardDraw, DrawSource
from gputuner.analysis.supply_facts import HIGH, MEDIUM, Fact, SupplyFacts, weakest
from gputuner.model.readings import Scalar

_OF_SOURCE = {
    DrawSource.MEASURED: HIGH,
    DrawSource.TOLD: HIGH,
    DrawSource.LIMIT: MEDIUM,
    DrawSource.SHEET: MEDIUM,
}
ABOVE = 1.01
"""A limit that is higher than the draw by less is not told apart from it."""


def confidence_of(draws: Sequence[CardDraw]) -> str:
    """How well the watts of the cards are known.

    One drawn for too short a time is no firm figure, nor is one where neither limit nor use tells whether it worked.
    """
    return weakest(*(MEDIUM if draw.short or _unjudged(draw) else _OF_SOURCE[draw.source] for draw in draws))


def _unjudged(draw: CardDraw) -> bool:
    return draw.seen is not None and draw.limit_w is None and draw.seen.used is None


def source_of(draws: Sequence[CardDraw]) -> str:
    """How the watts of the cards are known: the least sure of their sources."""
    order = list(DrawSource)
    return max((draw.source for draw in draws), key=order.index).value


def most_of(draws: Sequence[CardDraw]) -> float | None:
    """What the cards may draw sustained under any load, W; None: not known of one of them, so not of all."""
    known = [draw.most_w for draw in draws]
    told = [watts for watts in known if watts is not None]
    return sum(told) if len(told) == len(known) else None


def watt_figures(draws: Sequence[CardDraw], wishes: Wishes, facts: SupplyFacts) -> list[Figure]:
    """Cards, their peaks, CPU, rest and all together, W at the supply's output."""
    sure, here = confidence_of(draws), Section.WATTS
    cards, peaks = sum(draw.sustained_w for draw in draws), sum(draw.peak_w for draw in draws)
    cpu, rest = _told(wishes.cpu_w, "cpu", facts["cpu_w"]), _told(wishes.rest_w, "rest", facts["rest_w"])
    basis = f"cards_{source_of(draws)}"
    found = [answer(here, "cards", (cards, cards), "W", basis, sure, {"count": len(draws)})]
    seen = [draw.seen for draw in draws if draw.seen is not None]
    if seen:
        interval: dict[str, Scalar] = {"interval_s": round(max(each.interval_s for each in seen), 3)}
        found.append(answer(here, "cards_peak", (peaks, peaks), "W", "cards_peak", sure, interval))
    most = most_of(draws)
    if most is not None and most > cards * ABOVE:
        found.append(answer(here, "cards_limit", (most, most), "W", "at_limits", sure))
    excursion, full = facts["card_excursion"], sum(draw.full_w for draw in draws)
    transient = [max(peaks, factor * full) for factor in (excursion.low, excursion.high)]
    told = of_fact(excursion) | {"factor_low": excursion.low, "factor_high": excursion.high}
    least = weakest(sure, excursion.confidence)
    found += [answer(here, "cards_transient", transient, "W", "cards_transient", least, told), cpu, rest]
    machine = [cards + cpu.low + rest.low, cards + cpu.high + rest.high]
    all_of_it = weakest(sure, cpu.confidence, rest.confidence)
    return [*found, answer(here, "machine", machine, "W", "machine", all_of_it)]


def _told(value: float | None, name: str, fact: Fact) -> Figure:
    if value is not None:
        return answer(Section.WATTS, name, (value, value), "W", "told", HIGH)
    return answer(Section.WATTS, name, (fact.low, fact.high), "W", "usual", fact.confidence, of_fact(fact))


def fitting(watts: float, facts: SupplyFacts) -> tuple[float, int]:
    """The smallest rating that carries ``watts`` with head-room, and how many of them where one is not enough."""
    rated = watts / facts["load_share"].high
    count = max(1, ceil(rated / facts.sizes_w[-1] - 1e-9))
    return next(size for size in facts.sizes_w if size * count >= rated - 1e-9), count


def size_figures(plan: SupplyPlan, facts: SupplyFacts) -> list[Figure]:
    """The rating to buy, how the one that is there stands, and what it must ride through for milliseconds."""
    here, machine, share = Section.SUPPLY, plan.need("machine"), facts["load_share"]
    sure = weakest(machine.confidence, share.confidence)
    size = _sized("size", machine.low, machine.high, facts, sure)
    found = [size]
    limit = plan.of("cards_limit")
    if limit is not None:
        cpu, rest = plan.need("cpu"), plan.need("rest")
        ends = limit.low + cpu.low + rest.low, limit.high + cpu.high + rest.high
        found.append(_sized("size_limit", *ends, facts, sure))
    own = plan.wishes.psu_w
    rated = size.high if own is None else own
    told: dict[str, Scalar] = {"rated_w": rated, "share": share.high}
    basis = "load_of_size" if own is None else "load_of_own"
    load = [machine.low / rated, machine.high / rated]
    spare = [share.high * rated - machine.high, share.high * rated - machine.low]
    found.append(answer(here, "load", load, "fraction", basis, machine.confidence, told))
    found.append(answer(here, "spare", spare, "W", "spare", sure, told))
    return [*found, *_ridden(plan, facts, rated)]


def _sized(name: str, low_w: float, high_w: float, facts: SupplyFacts, sure: str) -> Figure:
    """What is bought for so many watts; several equal ones where one rating is not enough."""
    (low, few), (high, count) = fitting(low_w, facts), fitting(high_w, facts)
    told: dict[str, Scalar] = {"rating": high, "count": count, "share": facts["load_share"].high}
    return answer(Section.SUPPLY, name, (low * few, high * count), "W", name, sure, told)


def _ridden(plan: SupplyPlan, facts: SupplyFacts, rated_w: float) -> list[Figure]:
    """Peak of all cards at once against what supplies with and without the new connector promise for 1 ms."""
    cpu, rest, peak = plan.need("cpu"), plan.need("rest"), plan.need("cards_transient")
    ends = peak.low + cpu.low + rest.low, peak.high + cpu.high + rest.high
    found: list[Figure] = []
    for name, of in (("peak_load", "supply_excursion"), ("peak_load_without", "supply_excursion_without")):
        fact = facts[of]
        allowed = fact.low * rated_w
        sure = weakest(peak.confidence, cpu.confidence, rest.confidence, fact.confidence)
        told = of_fact(fact) | {"rated_w": rated_w, "factor": fact.low}
        part = (ends[0] / allowed, ends[1] / allowed)
        found.append(answer(Section.SUPPLY, name, part, "fraction", name, sure, told))
    return found


def circuit_figures(plan: SupplyPlan, facts: SupplyFacts) -> list[Figure]:
    """Watts and amperes at the wall, what the circuit carries, and how many such cards it would."""
    here, wishes, machine = Section.CIRCUIT, plan.wishes, plan.need("machine")
    share, usual = facts["continuous_share"], facts["efficiency"]
    low, high = (usual.low, usual.high) if wishes.efficiency is None else (wishes.efficiency, wishes.efficiency)
    lost: dict[str, Scalar] = {"efficiency_low": low, "efficiency_high": high}
    circuit: dict[str, Scalar] = {"volts": wishes.circuit_volts, "amps": wishes.circuit_amps}
    basis, sure = ("wall", weakest(machine.confidence, usual.confidence))
    if wishes.efficiency is None:
        lost |= of_fact(usual)
    else:
        basis, sure = "wall_told", machine.confidence
    held, least = of_fact(share) | circuit | {"share": share.high}, weakest(sure, share.confidence)
    full = wishes.circuit_volts * wishes.circuit_amps
    lasting = share.high * full
    wall = (machine.low / high, machine.high / low)
    amps = [watts / wishes.circuit_volts for watts in wall]
    load = [watts / lasting for watts in wall]
    cards = _cards_on(plan, (lasting * low, lasting * high))
    return [
        answer(here, "wall", wall, "W", basis, sure, lost),
        answer(here, "wall_amps", amps, "A", "wall_amps", sure, circuit),
        answer(here, "circuit", (full, full), "W", "circuit", HIGH, circuit),
        answer(here, "circuit_lasting", (lasting, lasting), "W", "circuit_lasting", share.confidence, held),
        answer(here, "circuit_load", load, "fraction", "circuit_load", least, held),
        answer(here, "cards_on_circuit", cards, "", "cards_on_circuit", least, held),
    ]


def _cards_on(plan: SupplyPlan, output_w: tuple[float, float]) -> tuple[float, float]:
    """How many cards of the mean draw one machine could have at these outputs of its supply, W."""
    cpu, rest = plan.need("cpu"), plan.need("rest")
    card = plan.need("cards").high / len(plan.draws)
    fewest, most = output_w[0] - cpu.high - rest.high, output_w[1] - cpu.low - rest.low
    return max(0, floor(fewest / card + 1e-9)), max(0, floor(most / card + 1e-9))
