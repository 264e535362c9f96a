"""What a thermal test gives advice on: too hot, fan with room, a cooler worse than its kind, warm case air; or nothing.

Resistances by kind of cooler are ranges that owners measured (core − inlet air over board power, reported values of
published builds); beyond a range is worth a look, within it is not a fault.
"""

from gputuner.advice.evidence import Evidence
from gputuner.advice.limits import memory_rule, thermal_rule
from gputuner.advice.making import make
from gputuner.advice.questions import command
from gputuner.model.advice import Advice, Question
from gputuner.model.points import Point
from gputuner.model.readings import Scalar

COOLING = "cooling"
USUAL_K_PER_W: dict[str, tuple[float, float]] = {
    "blower": (0.11, 0.22),
    "open": (0.09, 0.20),
    "hybrid": (0.06, 0.10),
    "water": (0.04, 0.07),
}
"""From the best to the worst of each kind for cards of 250 to 600 W."""
MARGIN_C = 5.0
"""A card that comes so near its limit is too hot for a warmer day."""
FAN_WORTH_K, WARM_C = 2.0, 70.0
"""A fan's curve is worth its noise for so many degrees on a core so warm."""
WARM_AIR_K = 8.0
HOT, KNOWN = 12.0, 4.0
"""Importance, in per cent, of what has no gain in rate."""


def is_cooling(evidence: Evidence) -> bool:
    """Whether the figures are those of a thermal test."""
    return evidence.command.split(" ")[0] == COOLING or bool(evidence.of("thermal_resistance"))


def cooling_rules(evidence: Evidence) -> list[Advice]:
    """All advice of a thermal test; limits that the load ran into are told as elsewhere."""
    found = [*thermal_rule(evidence), *memory_rule(evidence)]
    steady, resistance = evidence.last("steady_temperature", phase="verdict"), evidence.last("thermal_resistance")
    if steady is None or resistance is None:
        return found
    own = [*_too_hot(evidence, steady), *_fan(evidence, steady), *_kind(evidence, resistance), *_air(evidence)]
    return [*found, *own] if found or own else _enough(evidence, steady, resistance)


def cooling_questions(evidence: Evidence) -> tuple[Question, ...]:
    """What would make the verdict surer."""
    card, steady = evidence.card, evidence.last("steady_temperature", phase="verdict")
    words = evidence.command if evidence.command.startswith(COOLING) else COOLING
    if steady is None:
        again = command(card, f"{words} --minutes 20")
        return (Question(id="cooling_nothing", card=card.uuid, command=again),)
    found: list[Question] = []
    missing = steady.extra.get("missing_min")
    if steady.extra.get("closed") is not True:
        load = float(steady.params["load_min"])
        minutes = round(load + float(missing if isinstance(missing, int | float) else load) + 4)
        params: dict[str, Scalar] = {} if missing is None else {"missing_min": missing, "known": True}
        again = command(card, f"{words} --minutes {minutes}")
        found.append(Question(id="cooling_longer", card=card.uuid, command=again, params=params))
    unsure = _unsure(evidence, steady)
    if "room_c" in steady.extra and unsure:
        again = command(card, f"{words} --minutes {round(2 * float(steady.params['load_min']))}")
        found.append(Question(id="cooling_resistance", card=card.uuid, command=again, params=unsure))
    elif "room_c" not in steady.extra:
        again = command(card, f"{words} --room 25")
        found.append(Question(id="cooling_room", card=card.uuid, command=again, params=unsure))
    if "cooler" not in steady.params:
        found.append(Question(id="cooling_cooler", card=card.uuid, command=command(card, f"{words} --cooler open")))
    return tuple(found)


def _unsure(evidence: Evidence, steady: Point) -> dict[str, Scalar]:
    """How well the resistance is known, in per cent to each side, where only the unknown air keeps it open."""
    resistance = evidence.last("thermal_resistance")
    if resistance is None or steady.extra.get("closed") is not True or resistance.extra.get("closed") is not False:
        return {}
    low, high = band_of(resistance)
    return {"percent": round(50.0 * (high - low) / resistance.value, 1), "known": True}


def band_of(point: Point) -> tuple[float, float]:
    """The 90 % band of a figure of a thermal test, in its unit."""
    return float(point.extra["low90"]), float(point.extra["high90"])


def _told(steady: Point, **more: Scalar) -> dict[str, Scalar]:
    low, high = band_of(steady)
    told: dict[str, Scalar] = {
        "steady_c": round(steady.value, 1),
        "low_c": round(low, 1),
        "high_c": round(high, 1),
        "power_w": round(float(steady.extra["power_w"])),
        **more,
    }
    for name in ("fan_fraction", "limit_c"):
        if name in steady.extra:
            told[name] = steady.extra[name]
    return told


def _too_hot(evidence: Evidence, steady: Point) -> list[Advice]:
    limit, good_for = steady.extra.get("limit_c"), evidence.last("cooler_good_for")
    if not isinstance(limit, int | float) or good_for is None:
        return []
    sure = band_of(steady)[
        1 if steady.extra.get("closed") is True else 0
    ]  # a wide band that may reach it is a question
    if sure < limit - MARGIN_C:
        return []
    low, _ = band_of(good_for)
    around = evidence.last("surroundings_temperature")
    air = around.value if around else 25.0
    cap = low * (limit - MARGIN_C - air) / (limit - air)
    params = _told(steady, margin_c=MARGIN_C, cap_w=round(cap))
    reached = evidence.last("minutes_to_limit")
    if reached is not None and reached.extra.get("at_least") is not True:
        params["minutes"] = round(reached.value, 1)
    return [make("cooling.too_hot", evidence.card.uuid, params, [steady, good_for], weight=HOT)]


def _fan(evidence: Evidence, steady: Point) -> list[Advice]:
    gain = evidence.last("full_fan_gain")
    if gain is None or band_of(gain)[0] < FAN_WORTH_K or steady.value < WARM_C:
        return []
    low, high = band_of(gain)
    params = _told(steady, gain_k=round(gain.value, 1), gain_low_k=round(low, 1), gain_high_k=round(high, 1))
    return [make("cooling.fan_curve", evidence.card.uuid, params, [steady, gain], weight=KNOWN)]


def _kind(evidence: Evidence, resistance: Point) -> list[Advice]:
    cooler = str(resistance.params.get("cooler", ""))
    usual = USUAL_K_PER_W.get(cooler)
    low, high = band_of(resistance)
    if usual is None or low <= usual[1]:
        return []
    power = float(resistance.extra["power_w"])
    params: dict[str, Scalar] = {
        "cooler": cooler,
        "resistance": round(resistance.value, 3),
        "resistance_low": round(low, 3),
        "resistance_high": round(high, 3),
        "usual": usual[1],
        "degrees_low": round(power * (low - usual[1])),
        "degrees_high": round(power * (high - usual[1])),
        "power_w": round(power),
    }
    return [make("cooling.worse_than_kind", evidence.card.uuid, params, [resistance], weight=HOT)]


def _air(evidence: Evidence) -> list[Advice]:
    around = evidence.last("surroundings_temperature")
    room = around.extra.get("room_c") if around else None
    if around is None or not isinstance(room, int | float) or band_of(around)[0] - room < WARM_AIR_K:
        return []
    low, high = (round(each - room, 1) for each in band_of(around))
    params: dict[str, Scalar] = {"room_c": room, "warmer_low_k": low, "warmer_high_k": high}
    return [make("cooling.warm_air", evidence.card.uuid, params, [around], weight=KNOWN)]


def _enough(evidence: Evidence, steady: Point, resistance: Point) -> list[Advice]:
    """Nothing to change: only where the band is closed and a limit is known."""
    limit, good_for = steady.extra.get("limit_c"), evidence.last("cooler_good_for")
    if steady.extra.get("closed") is not True or not isinstance(limit, int | float) or good_for is None:
        return []
    params = _told(steady, good_for_w=round(good_for.value), good_for_low_w=round(band_of(good_for)[0]))
    most_w = good_for.extra.get("most_w")
    if isinstance(most_w, int | float) and good_for.value > most_w:
        params |= {"beyond": True, "most_w": most_w}
    return [make("cooling.enough", evidence.card.uuid, params, [steady, resistance, good_for], weight=1.0)]
