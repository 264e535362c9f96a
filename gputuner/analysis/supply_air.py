"""Air, fans and their noise, radiators, coolers, and the heat that ends in the room."""

from collections.abc import Sequence
from math import ceil, log2, log10

from gputuner.analysis.supply import Figure, Section, SupplyPlan, answer, of_fact
from gputuner.analysis.supply_draw import CardDraw
from gputuner.analysis.supply_facts import MEDIUM, SupplyFacts, weakest
from gputuner.analysis.supply_power import confidence_of
from gputuner.model.readings import Scalar

M3H_PER_CFM = 1.699
"""Cubic metres an hour in a cubic foot a minute."""
BTU_PER_WH = 3.412
DAYS_PER_MONTH = 365.25 / 12
RADIATORS = ("radiator_240", "radiator_360", "radiator_480", "radiator_360_slim")
COOLERS = ("cooler_blower", "cooler_blower_fast", "cooler_open", "cooler_large", "cooler_hybrid", "cooler_water")
RISE_K = 10.0
"""The rise that radiators are rated at; what they carry is proportional to it."""
MORE_FANS = (1, 2)
"""Fans as many times the fewest: slower fans are quieter …"""
LEAST_SPEED = 0.4
"""… but pressure falls with the speed squared: more fans are left out where all would turn below this share of their
rated speed (a sixth of the pressure), and what both laws say is rough far below it."""


def airflow_cfm(watts: float, rise_k: float, cfm_k_per_w: float) -> float:
    """Air that takes ``watts`` away while it warms by ``rise_k``: actual flow, CFM."""
    return cfm_k_per_w * watts / rise_k


def speed_rpm(cfm: float, rated_cfm: float, rated_rpm: float) -> float:
    """Speed at which a fan moves ``cfm``, rpm: flow grows with speed."""
    return rated_rpm * cfm / rated_cfm


def noise_dba(rated_dba: float, speed_ratio: float, fans: int, db_per_doubling: float) -> float:
    """Noise of ``fans`` equal fans at ``speed_ratio`` times their rated speed, dB(A).

    Each doubling of speed adds a step, n equal sources add 10 log10 n (similarity laws).
    """
    return rated_dba + db_per_doubling * log2(speed_ratio) + 10.0 * log10(fans)


def air_figures(plan: SupplyPlan, facts: SupplyFacts) -> list[Figure]:
    """Air for the cards and for the whole machine, and what fans that takes at which noise."""
    heat, rise = facts["cfm_k_per_w"], plan.wishes.air_rise_k
    found: list[Figure] = []
    for name, of in (("air_cards", "cards"), ("air_machine", "machine")):
        watts = plan.need(of)
        flow = [airflow_cfm(each, rise, heat.low) for each in (watts.low, watts.high)]
        told = of_fact(heat) | {"rise_k": rise, "m3h": round(M3H_PER_CFM * flow[1])}
        sure = weakest(watts.confidence, heat.confidence)
        found.append(answer(Section.AIR, name, flow, "CFM", "air", sure, told))
    air = found[-1]
    if len(plan.draws) > 1:
        inlet = facts["stacked_inlet_k"]
        ends = (inlet.low, inlet.high)
        found.append(answer(Section.AIR, "stacked_inlet", ends, "K", "stacked_inlet", inlet.confidence, of_fact(inlet)))
    return [*found, *_fans(air, facts)]


def _fans(air: Figure, facts: SupplyFacts) -> list[Figure]:
    """Speed and noise of the fewest fans that move the air, and of more of them, which may turn slower."""
    flow, speed, noise, step = (facts[name] for name in ("fan_cfm", "fan_rpm", "fan_dba", "db_per_doubling"))
    fewest = max(1, ceil(air.high / flow.low - 1e-9))
    sure = weakest(air.confidence, flow.confidence, noise.confidence, step.confidence)
    found: list[Figure] = []
    for count in (fewest * times for times in MORE_FANS):
        ends = ((air.low, flow.high), (air.high, flow.low))
        rpm = [speed_rpm(cfm / count, rated, speed.low) for cfm, rated in ends]
        if count > fewest and max(rpm) < LEAST_SPEED * speed.low:
            break
        loud = zip((noise.low, noise.high), rpm, strict=True)
        dba = [noise_dba(rated, each / speed.low, count, step.low) for rated, each in loud]
        told = of_fact(flow) | {"fans": count, "rated_rpm": speed.low}
        found.append(answer(Section.AIR, "fan_speed", rpm, "rpm", "fan_speed", sure, told))
        found.append(answer(Section.AIR, "fan_noise", dba, "dB(A)", "fan_noise", sure, told))
    return found


def radiator_figures(plan: SupplyPlan, facts: SupplyFacts) -> list[Figure]:
    """How many radiators of each class hold the cards at the coolant's rise; fractions tell what is left over."""
    cards, rise = plan.need("cards"), plan.wishes.coolant_rise_k
    found: list[Figure] = []
    for name in RADIATORS:
        fact = facts[name]
        carried = (fact.low * rise / RISE_K, fact.high * rise / RISE_K)
        told = of_fact(fact) | {"kind": name, "rise_k": rise}
        told |= {"carried_low_w": round(carried[0]), "carried_high_w": round(carried[1])}
        ends = (cards.low / carried[1], cards.high / carried[0])
        sure = weakest(cards.confidence, fact.confidence)
        found.append(answer(Section.RADIATOR, "radiators", ends, "", "radiators", sure, told))
    return found


def cooler_figures(draws: Sequence[CardDraw], facts: SupplyFacts) -> list[Figure]:
    """Degrees of the core above the air at its inlet with each kind of cooler, of the card that draws most."""
    hottest = max(draws, key=lambda draw: draw.sustained_w)
    watts, found = hottest.sustained_w, list[Figure]()
    for name in COOLERS:
        fact = facts[name]
        told = of_fact(fact) | {"kind": name, "watts": round(watts)}
        told |= {"resistance_low": fact.low, "resistance_high": fact.high}
        sure = weakest(confidence_of([hottest]), fact.confidence)
        ends = (fact.low * watts, fact.high * watts)
        found.append(answer(Section.COOLER, "core_rise", ends, "K", "core_rise", sure, told))
    return found


def room_figures(plan: SupplyPlan) -> list[Figure]:
    """Heat into the room: all that comes out of the wall, as watts, BTU/h, kWh a month and money."""
    wall, wishes = plan.need("wall"), plan.wishes
    hours = wishes.hours_per_day * DAYS_PER_MONTH
    ends = (wall.low, wall.high)
    month = [watts * hours / 1000.0 for watts in ends]
    rows: list[tuple[str, Sequence[float], str]] = [
        ("room_heat", ends, "W"),
        ("room_btu", [watts * BTU_PER_WH for watts in ends], "BTU/h"),
        ("month_energy", month, "kWh"),
    ]
    told: dict[str, Scalar] = {"hours": wishes.hours_per_day}
    if wishes.price is not None:
        rows.append(("month_cost", [energy * wishes.price for energy in month], ""))
        told["price"] = wishes.price
    steady = weakest(wall.confidence, MEDIUM)  # no machine draws its most at all hours
    return [
        answer(Section.ROOM, name, both, unit, name, steady if name.startswith("month") else wall.confidence, told)
        for name, both, unit in rows
    ]
