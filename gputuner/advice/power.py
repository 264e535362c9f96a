"""What a power sweep gives advice on: the cap worth setting, one that only saves, heat that makes more watts slower.

Nothing is advised above what stands: more watts are the owner's own risk. A saving is told where its interval shows
one; else it is a question.
"""

from gputuner.advice.evidence import Evidence
from gputuner.advice.making import make
from gputuner.advice.questions import command
from gputuner.model.advice import Advice, Question
from gputuner.model.cards import Origin
from gputuner.model.points import Point
from gputuner.model.readings import Scalar

POWER = "power"
CLOCK = "sm_clock_lock"
LEAST_SAVED = 0.02
"""Of the energy per sample: less is not worth a setting."""
FREE, WORTH, EXTRA, KNOWN = 11.0, 10.0, 5.0, 1.0
"""Importance, in per cent, of what has no gain in rate: what costs nothing comes before what costs a little."""
_MONEY = ("money_saved", "money_saved_low", "money_saved_high", "price_per_kwh", "hours_per_year")


def is_power(evidence: Evidence) -> bool:
    """Whether the figures are those of a power sweep."""
    return evidence.command.split(" ")[0] == POWER or bool(evidence.of("power_rate"))


def power_rules(evidence: Evidence) -> list[Advice]:
    """All advice of a sweep, or of what was seen without one."""
    knee, best = evidence.last("power_knee"), evidence.last("power_best_energy")
    plateau = evidence.last("power_plateau")
    found = [*_hot(evidence, knee), *_cap(evidence, knee), *_best(evidence, knee, best)]
    found += _plateau(evidence, plateau, lonely=knee is None)
    if not found and knee is not None:
        found.append(make("power.leave", evidence.card.uuid, _told(knee), [knee], weight=KNOWN))
    return found


def power_questions(evidence: Evidence) -> tuple[Question, ...]:
    """What would make the answer surer, and what would allow a sweep."""
    card, words = evidence.card, evidence.command if evidence.command.startswith(POWER) else POWER
    knee = evidence.last("power_knee")
    if knee is None or knee.extra.get("how") != "sweep":
        if any(point.params.get("null") is True for point in evidence.of("power_rate")):
            return ()
        again = command(card, f"{words}{_rights(evidence)}")
        asked = "power_allow" if knee is None else "power_anew"
        return (Question(id=asked, card=card.uuid, command=again),)
    found: list[Question] = []
    width = float(knee.extra["high95"]) - float(knee.extra["low95"])
    if width > 0.1 * knee.value:
        params: dict[str, Scalar] = {"low": knee.extra["low95"], "high": knee.extra["high95"], "unit": knee.unit}
        again = command(card, f"{words} --minutes 20")
        found.append(Question(id="power_longer", card=card.uuid, command=again, params=params))
    if "price_per_kwh" not in knee.extra:
        again = command(card, f"{words} --price 0.30 --hours 4000")
        found.append(Question(id="power_money", card=card.uuid, command=again))
    return tuple(found)


def set_command(evidence: Evidence, point: Point, setting: float | None = None) -> str:
    """What sets the cap (or lock) that a figure tells; on a real card with the rights that it takes."""
    at = point.value if setting is None else setting
    rights = _rights(evidence)
    if point.params.get("dial") == CLOCK:
        low = min(float(point.extra.get("floor", at)), at)
        return command(evidence.card, f"control set lock-clocks {low:.0f},{at:.0f}{rights}")
    return command(evidence.card, f"control set power-limit {at:.0f}{rights}")


def _rights(evidence: Evidence) -> str:
    """Setting needs rights, except on a simulated card."""
    return "" if evidence.card.origin is Origin.SIMULATED else " --with sudo"


def _told(point: Point) -> dict[str, Scalar]:
    """The figures of an answer as the words need them."""
    extra = point.extra
    told: dict[str, Scalar] = {"workload": point.workload, "at": round(point.value), "top": round(float(extra["top"]))}
    told |= {name: round(float(extra[name]), 2) for name in _MONEY if name in extra}
    told |= _per_cent(extra, "rate_change") | _per_cent(extra, "energy_change")
    even = host_even_w(extra)
    if even is not None:
        told["host_even_w"] = round(even)
    low, high = round(float(extra["low95"])), round(float(extra["high95"]))
    if low < high:
        told |= {"low": low, "high": high}
    told |= _stored(point)
    if "loss" in point.params:
        told["loss"] = point.params["loss"]
    if "draw_change_w" in extra:
        told["draw_saved_w"] = round(-float(extra["draw_change_w"]))
    if point.params.get("dial") == CLOCK:
        told["clock"] = True
    return told


def _stored(point: Point) -> dict[str, Scalar]:
    """Of how many stored sessions the other settings are; empty where this run visited them."""
    count = point.extra.get("stored_sessions")
    return {"stored_sessions": count} if isinstance(count, int) and count else {}


def host_even_w(extra: dict[str, Scalar]) -> float | None:
    """Watts of the machine around the card above which the same work needs more energy in all; None: never, or unknown.

    With P the card's draw and r, e the changes of rate and of energy per sample (both below 0), the machine's energy
    (P + H) / rate is the same at both settings where H = P (1 + r) e / r. Told at the careful end of both intervals.
    """
    told = [extra.get(name) for name in ("draw_w", "draw_change_w", "rate_change_low", "energy_change_high")]
    draw, change, rate, energy = (float(each) if isinstance(each, int | float) else None for each in told)
    if draw is None or change is None or rate is None or energy is None or rate >= 0.0:
        return None
    return max((draw - change) * (1.0 + rate) * energy / rate, 0.0)


def _per_cent(extra: dict[str, Scalar], name: str) -> dict[str, Scalar]:
    """A change with its interval, in per cent; empty where it is not told."""
    return {f"{n}_pct": round(100.0 * float(extra[n]), 1) for n in (name, f"{name}_low", f"{name}_high") if n in extra}


def _saves(point: Point) -> bool:
    """Surely less energy per sample, and enough of it; or, where energy is not told, less draw."""
    change, high = point.extra.get("energy_change"), point.extra.get("energy_change_high")
    if isinstance(change, int | float) and isinstance(high, int | float):
        return change <= -LEAST_SAVED and high < 0.0
    draw = point.extra.get("draw_change_w")
    return isinstance(draw, int | float) and draw < -LEAST_SAVED * float(point.extra["top"])


def _cap(evidence: Evidence, knee: Point | None) -> list[Advice]:
    if knee is None or knee.value >= float(knee.extra["top"]) or not _saves(knee):
        return []
    snippet = set_command(evidence, knee)
    return [
        make("power.cap", evidence.card.uuid, _told(knee), [knee, *_rates(evidence)], weight=WORTH, snippet=snippet)
    ]


def _best(evidence: Evidence, knee: Point | None, best: Point | None) -> list[Advice]:
    """Only where it is lower than the knee and saves more: slower than was asked for."""
    if knee is None or best is None or best.value >= knee.value or not _saves(best):
        return []
    ours, its = best.extra.get("energy_change"), knee.extra.get("energy_change")
    if not isinstance(ours, int | float) or not isinstance(its, int | float) or ours > its - LEAST_SAVED:
        return []
    snippet = set_command(evidence, best)
    return [make("power.best_energy", evidence.card.uuid, _told(best), [best], weight=EXTRA, snippet=snippet)]


def _hot(evidence: Evidence, knee: Point | None) -> list[Advice]:
    above = None if knee is None else knee.extra.get("falls_above")
    if knee is None or not isinstance(above, int | float):
        return []
    params = _told(knee) | _per_cent(knee.extra, "fall")
    params |= {"above": round(above), "by_heat": knee.extra.get("by_heat") is True}
    fastest = evidence.last("power_fastest")
    snippet = set_command(evidence, fastest or knee)
    points = [knee, *([fastest] if fastest else [])]
    return [make("power.heat_limited", evidence.card.uuid, params, points, weight=WORTH + 2.0, snippet=snippet)]


def _plateau(evidence: Evidence, plateau: Point | None, *, lonely: bool) -> list[Advice]:
    """A cap that costs nothing, before caps that cost a little; of clocks it says only where more changes nothing."""
    if plateau is None or plateau.value >= float(plateau.extra["top"]):
        return []
    params: dict[str, Scalar] = {
        "workload": plateau.workload,
        "at": round(plateau.value),
        "top": round(float(plateau.extra["top"])),
        **_stored(plateau),
    }
    if plateau.params.get("dial") == CLOCK:
        params["clock"] = True
    if lonely and "peak_w" in plateau.extra:
        params |= {"unswept": True, "peak_w": round(float(plateau.extra["peak_w"]))}
    snippet = None if "clock" in params else set_command(evidence, plateau)
    weight = KNOWN if snippet is None else EXTRA if lonely else FREE
    return [make("power.plateau", evidence.card.uuid, params, [plateau], weight=weight, snippet=snippet)]


def _rates(evidence: Evidence) -> list[Point]:
    """The rates at the highest setting, which the knee is compared with."""
    rates = [point for point in evidence.of("power_rate") if "visit" in point.params]
    key = "clock_mhz" if rates and "clock_mhz" in rates[0].params else "cap_w"
    top = max((float(point.params[key]) for point in rates if key in point.params), default=0.0)
    return [point for point in rates if point.params.get(key) == top][:2]
