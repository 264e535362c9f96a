"""What a plan for supply, circuit and cables calls for: advice where the range leaves no doubt, else questions. Pure.

An advice stands only on a draw that was measured, or told by the user, and only where even the kind end of its range
calls for it; where one end does and the other does not, the question is what would decide it.
"""

from dataclasses import replace
from math import ceil, floor

from gputuner.advice.making import make
from gputuner.advice.questions import PREFIX, command
from gputuner.advice.supply_again import SHARE, WATTS, again
from gputuner.analysis.supply import Figure, SupplyPlan
from gputuner.analysis.supply_facts import SupplyFacts
from gputuner.analysis.supply_power import most_of
from gputuner.model.advice import Advice, Confidence, Question
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.readings import Scalar

HOT, KNOWN = 12.0, 4.0
"""Importance, in per cent, of what has no gain in rate."""
HPWR_W = "hpwr_w"


def supply_advice(plan: SupplyPlan, facts: SupplyFacts) -> tuple[Advice, ...]:
    """All advice, most urgent first; none where a draw was neither measured nor told."""
    if not plan.known:
        return ()
    found = [*_psu(plan, facts), *_circuit(plan), *_cable(plan, facts)]
    if any(draw.simulated for draw in plan.draws):
        found = [replace(each, origin=Origin.SIMULATED) for each in found]
    return tuple(sorted(found, key=lambda each: -each.rank))


def supply_questions(plan: SupplyPlan, cards: tuple[CardInfo, ...], facts: SupplyFacts) -> tuple[Question, ...]:
    """What would make the plan surer."""
    found: list[Question] = []
    by_uuid = {card.uuid: card for card in cards}
    for draw in {draw.uuid: draw for draw in plan.draws}.values():
        card = by_uuid.get(draw.uuid)
        if card is not None and not draw.measured:
            found.append(Question(id="supply_draw", card=card.uuid, command=command(card, "cooling")))
        elif card is not None and draw.short and draw.seen is not None:
            told: dict[str, Scalar] = {"seconds": round(draw.seen.held_s)}
            found.append(Question(id="supply_longer", card=card.uuid, command=command(card, "cooling"), params=told))
    first = cards[0].uuid if cards else ""
    open_w = {"cpu_w": WATTS, "rest_w": WATTS}
    share = facts["load_share"].high
    load, circuit = plan.need("load"), plan.need("circuit_load")
    unsure = plan.wishes.cpu_w is None or plan.wishes.rest_w is None
    if plan.wishes.psu_w is not None and load.low <= share < load.high and unsure:
        psu: dict[str, Scalar] = {**_percent(load), "psu_w": plan.wishes.psu_w}
        words = again(plan, cards, **open_w)
        found.append(Question(id="supply_tight", card=first, command=words, params=psu))
    elif plan.wishes.psu_w is not None and load.high <= share and cards and plan.known:
        found += _hotter(plan, cards, share)
    elif plan.wishes.psu_w is None and unsure:
        found.append(Question(id="supply_own", card=first, command=again(plan, cards, **open_w, psu_w=WATTS)))
    if circuit.low <= 1.0 < circuit.high:
        words = again(plan, cards, **open_w, efficiency=SHARE)
        found.append(Question(id="supply_circuit", card=first, command=words, params=_percent(circuit)))
    return tuple(found)


def _hotter(plan: SupplyPlan, cards: tuple[CardInfo, ...], share: float) -> list[Question]:
    """Enough for what was seen; where the limits allow more, or are not told, a hotter load would decide it."""
    at_limits = _at_limits(plan)
    if at_limits is not None and at_limits <= share:
        return []
    told: dict[str, Scalar] = {"psu_w": float(plan.need("load").params["rated_w"])}
    told["load"] = round(plan.need("load").high, 2)
    if at_limits is not None:
        told["at_limits"] = round(at_limits, 2)
        return [Question(id="supply_limits", card=cards[0].uuid, command=command(cards[0], "cooling"), params=told)]
    silent = next(draw for draw in plan.draws if draw.most_w is None)
    card = next((each for each in cards if each.uuid == silent.uuid), cards[0])
    told["card"] = silent.name
    return [Question(id="supply_limit_untold", card=card.uuid, command=command(card, "cooling"), params=told)]


def _percent(figure: Figure) -> dict[str, Scalar]:
    return {"low": round(figure.low, 2), "high": round(figure.high, 2)}


def _card(plan: SupplyPlan) -> str:
    return plan.draws[0].uuid


def _psu(plan: SupplyPlan, facts: SupplyFacts) -> list[Advice]:
    """The supply that is there: too small even at the kind end, or enough even at the other."""
    psu, load, share = plan.wishes.psu_w, plan.need("load"), facts["load_share"].high
    if psu is None:
        return []
    machine, size = plan.need("machine"), plan.need("size")
    cpu, rest = plan.need("cpu"), plan.need("rest")
    told: dict[str, Scalar] = {"psu_w": psu, "share": share}
    if round(machine.low) == round(machine.high):
        told |= {"machine_w": round(machine.high), "load": round(load.high, 2)}
    else:
        told |= {**_percent(load), "machine_low_w": round(machine.low), "machine_high_w": round(machine.high)}
    evidence = [plan.need("cards").id, machine.id, load.id]
    at_limits = _at_limits(plan)
    if load.high <= share and at_limits is not None and at_limits <= share:
        return [_made("supply.enough", plan, told, evidence, weight=1.0)]
    if load.low <= share:
        return []
    left = floor(share * psu - cpu.high - rest.high)
    told |= {"rating": float(size.params["rating"]), "count": int(size.params["count"])}
    cap, snippet = _capped(plan, left)
    told |= cap
    rule = "supply.too_small" if load.low > 1.0 else "supply.tight"
    weight = HOT if load.high > 1.0 else KNOWN  # head-room is a rule of thumb, the rating is none
    return [_made(rule, plan, told, evidence, weight=weight, snippet=snippet)]


def _capped(plan: SupplyPlan, left: int) -> tuple[dict[str, Scalar], str | None]:
    """What is to be told of ``left`` W for all cards, and the command that caps them so where they take it."""
    lowest = [draw.lowest_w for draw in plan.draws if draw.lowest_w is not None]
    if left <= 0:
        return {}, None
    if left < sum(lowest):
        return {"left_w": left, "least_w": ceil(sum(lowest))}, None
    return {"cap_w": left}, _cap(plan, left) if len(lowest) == len(plan.draws) else None


def _cap(plan: SupplyPlan, watts: int) -> str | None:
    """The command that caps these cards; None where one of them is not here, as told or simulated, or in excess."""
    uuids = [draw.uuid for draw in plan.draws]
    if not all(uuids) or len(set(uuids)) < len(uuids) or any(draw.simulated for draw in plan.draws):
        return None
    which = ",".join(uuid[:PREFIX] for uuid in uuids)
    return f"gputuner --cli control set total-power {watts} --gpu {which}"


def _at_limits(plan: SupplyPlan) -> float | None:
    """Load of the supply with the cards at their limits, the unkind end; None: a card does not tell its limit."""
    most, psu = most_of(plan.draws), plan.wishes.psu_w
    if most is None or psu is None:
        return None
    return (most + plan.need("cpu").high + plan.need("rest").high) / psu


def _circuit(plan: SupplyPlan) -> list[Advice]:
    load = plan.need("circuit_load")
    if load.low <= 1.0:
        return []
    wall, lasting = plan.need("wall"), plan.need("circuit_lasting")
    told: dict[str, Scalar] = {
        **_percent(load),
        "wall_low_w": round(wall.low),
        "wall_high_w": round(wall.high),
        "lasting_w": round(lasting.high),
        "volts": plan.wishes.circuit_volts,
        "amps": plan.wishes.circuit_amps,
    }
    kept = plan.need("machine").high / wall.high  # what the supply passes on, at the unkind end
    left = floor(lasting.high * kept - plan.need("cpu").high - plan.need("rest").high)
    cap, snippet = _capped(plan, left)
    evidence = [plan.need("cards").id, wall.id, load.id]
    return [_made("supply.circuit", plan, told | cap, evidence, weight=HOT, snippet=snippet)]


def _cable(plan: SupplyPlan, facts: SupplyFacts) -> list[Advice]:
    """A card whose cables carry more than one new connector may; what plug a server's board has is not known."""
    plugged = {each.params["card"] for each in plan.all_of("hpwr_plugs")}
    cables = [each for each in plan.all_of("cable") if each.params["card"] in plugged]
    over = [each for each in cables if each.low > facts[HPWR_W].high]
    return [
        _made(
            "supply.connector",
            plan,
            {"card": str(each.params["card"]), "watts": round(each.low), "most_w": facts[HPWR_W].high},
            [plan.need("cards").id, each.id],
            weight=HOT,
        )
        for each in over
    ]


def _made(
    rule: str,
    plan: SupplyPlan,
    told: dict[str, Scalar],
    evidence: list[str],
    *,
    weight: float,
    snippet: str | None = None,
) -> Advice:
    return make(
        rule,
        _card(plan),
        told,
        evidence,
        confidence=Confidence.MODEL,
        weight=weight,
        snippet=snippet,
        risk=snippet is not None,
    )
