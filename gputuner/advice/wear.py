"""Advice from a card's wear: only where a trend has an interval without zero or a counter grew; else questions."""

from gputuner.advice.making import make
from gputuner.advice.questions import command
from gputuner.analysis.wear import Wear
from gputuner.analysis.wear_trend import Basis, Trend
from gputuner.model.advice import Advice, Question
from gputuner.model.quantities import Limiter, Quantity
from gputuner.model.readings import Scalar

HARDWARE_XIDS = frozenset({48, 63, 64, 74, 79, 92, 94, 95})
"""XIDs that tell of the card itself (NVIDIA, XID errors: ECC, row remapping, NVLink, fallen off the bus); others, such
as 13, 31 and 43, are mostly a program's."""
WARM_SHARE, WARM_S = 0.01, 600.0
"""Heat that held the clock back for less of the observed time, or shorter, asks nothing."""
WEAR = "wear"
DRIFT, ERRORS, XIDS = f"{WEAR}:resistance_drift", f"{WEAR}:error_counters", f"{WEAR}:xids"
"""What advice of wear refers to as its evidence: parts of the same report."""
KNOWN, URGENT = 4.0, 12.0


def wear_advice(wear: Wear) -> tuple[tuple[Advice, ...], tuple[Question, ...]]:
    """Advice, best first, and what is still to be measured."""
    found = [*_resistance(wear), *_errors(wear), *_xids(wear)]
    return tuple(sorted(found, key=lambda each: (-each.rank, each.id))), tuple(_questions(wear))


def _resistance(wear: Wear) -> list[Advice]:
    drift = wear.drift
    if drift.verdict is not Trend.RISING or drift.per_month is None or drift.low is None or drift.high is None:
        return []
    params: dict[str, Scalar] = {
        "low": _percent(drift.low),
        "high": _percent(drift.high),
        "degrees": round(drift.degrees_per_month or 0.0, 1),
        "power_w": round(drift.power_w or 0.0),
        "sessions": drift.sessions,
        "days": drift.days,
        "span_days": round(drift.span_days),
    }
    fanless = drift.fan_fraction is None and drift.basis is not Basis.NONE
    params["fanless_percent" if fanless else "percent"] = _percent(drift.per_month)
    if drift.fan_fraction is not None:
        params["fan"] = round(drift.fan_fraction, 2)
    begin, end = (min(p[0] for p in drift.shown), max(p[0] for p in drift.shown)) if drift.shown else (0.0, 0.0)
    names = dict.fromkeys(change.name for change in wear.changes if begin <= change.unix_s <= end)
    if names:
        params["changed"] = ", ".join(names)
    evidence = [DRIFT, *(f"{WEAR}:change:{name}" for name in names)]
    if drift.basis is Basis.NONE:
        return [make("wear.hotter", wear.card.uuid, params, evidence, weight=KNOWN)]
    return [make("wear.resistance", wear.card.uuid, params, evidence, weight=KNOWN)]


def _errors(wear: Wear) -> list[Advice]:
    grown = {counter.quantity: int(counter.grown) for counter in wear.counters}
    params: dict[str, Scalar] = {}
    for name, quantity in (("uncorrected", Quantity.ECC_UNCORRECTED), ("remapped", Quantity.REMAPPED_ROWS)):
        if grown.get(quantity, 0) > 0:
            params[name] = grown[quantity]
    return [make("wear.errors", wear.card.uuid, params, [ERRORS], weight=URGENT)] if params else []


def _xids(wear: Wear) -> list[Advice]:
    own = {xid: count for xid, count in wear.xids.items() if xid in HARDWARE_XIDS}
    if not own:
        return []
    told = ", ".join(f"{xid}" if count == 1 else f"{xid} ({count}×)" for xid, count in own.items())
    return [make("wear.xid", wear.card.uuid, {"xids": told}, [XIDS], weight=URGENT)]


def _questions(wear: Wear) -> list[Question]:
    card, drift = wear.card, wear.drift
    found: list[Question] = []
    if drift.missing:
        words = command(card, "record")
        params: dict[str, Scalar] = {
            "sessions": drift.sessions,
            "days": drift.days,
            "span_days": round(drift.span_days),
        }
        found.append(Question(id="wear_more", card=card.uuid, command=words, params=params))
    elif drift.basis is Basis.NONE:
        found.append(Question(id="wear_room", card=card.uuid, command=command(card, "cooling --room 25")))
    warm_s = sum(wear.limited_s.get(each, 0.0) for each in (Limiter.THERMAL_SOFTWARE, Limiter.THERMAL_HARDWARE))
    if warm_s >= WARM_S and warm_s >= WARM_SHARE * wear.observed_s:
        held: dict[str, Scalar] = {"seconds": warm_s}
        found.append(Question(id="wear_heat", card=card.uuid, command=command(card, "cooling"), params=held))
    corrected = sum(int(c.grown) for c in wear.counters if c.quantity is Quantity.ECC_CORRECTED)
    if corrected > 0:
        counted: dict[str, Scalar] = {"corrected": corrected}
        found.append(Question(id="wear_memory", card=card.uuid, command=command(card, "health"), params=counted))
    return found


def _percent(fraction: float) -> str:
    return f"{fraction * 100:+.1f} %"
