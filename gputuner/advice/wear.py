"""Advice from a card's wear: only where a trend has an interval without zero or a counter grew; else questions."""

from gputuner.advice.making import make
from gputuner.advice.questions import command
from gputuner.analysis.wear import Wear
from gputuner.analysis.wear_changes import ROW_REMAP_FAILED
from gputuner.analysis.wear_trend import Basis, Trend
from gputuner.model.advice import Advice, Question
from gputuner.model.quantities import Limiter, Quantity
from gputuner.model.readings import Scalar

HARDWARE_XIDS = frozenset({48, 64, 74, 79, 95})
"""XIDs that tell of trouble with the card itself (NVIDIA, XID errors: uncorrectable and uncontained ECC errors, a row
remapping that could not be recorded, NVLink, fallen off the bus); others, such as 13, 31 and 43, are mostly a
program's."""
CONTAINED_XIDS = frozenset({63, 92, 94})
"""XIDs of what the card dealt with (the same source): a row or page replaced, many single bits corrected, an error
that hit one program alone."""
WARM_SHARE, WARM_S = 0.01, 600.0
"""Heat that held the clock back for less of the observed time, or shorter, asks nothing."""
WEAR = "wear"
DRIFT, ERRORS, XIDS = f"{WEAR}:resistance_drift", f"{WEAR}:error_counters", f"{WEAR}:xids"
REMAP_FAILED = f"{WEAR}:{ROW_REMAP_FAILED}"
"""What advice of wear refers to as its evidence: parts of the same report."""
ROOM = "C"
"""Stands in a command for what the user reads from a thermometer (the name that the help has for it); a figure here
would be typed as it stands."""
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
    """Replaced rows alone are a repair; that one could not be replaced is what a card is returned for (NVIDIA, GPU
    memory error management, RMA policy).
    """
    found: list[Advice] = []
    if _remap_failed(wear):
        found.append(make("wear.remap_failed", wear.card.uuid, {}, [REMAP_FAILED], weight=URGENT))
    uncorrected, remapped = _grown(wear, Quantity.ECC_UNCORRECTED), _grown(wear, Quantity.REMAPPED_ROWS)
    if uncorrected > 0:
        params: dict[str, Scalar] = {"uncorrected": uncorrected}
        if remapped > 0:
            params["remapped"] = remapped
        found.append(make("wear.errors", wear.card.uuid, params, [ERRORS], weight=URGENT))
    return found


def _remap_failed(wear: Wear) -> bool:
    failed = wear.card.readings.get(ROW_REMAP_FAILED)
    return failed is not None and failed.value is True


def _grown(wear: Wear, quantity: Quantity) -> int:
    return sum(int(counter.grown) for counter in wear.counters if counter.quantity is quantity)


def _xids(wear: Wear) -> list[Advice]:
    told = _told(wear, HARDWARE_XIDS)
    return [make("wear.xid", wear.card.uuid, {"xids": told}, [XIDS], weight=URGENT)] if told else []


def _told(wear: Wear, which: frozenset[int]) -> str:
    own = {xid: count for xid, count in wear.xids.items() if xid in which}
    return ", ".join(f"{xid}" if count == 1 else f"{xid} ({count}×)" for xid, count in own.items())


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
        identity = "wear_alike" if drift.alike else "wear_more"
        found.append(Question(id=identity, card=card.uuid, command=words, params=params))
    elif drift.basis is Basis.NONE:
        found.append(Question(id="wear_room", card=card.uuid, command=command(card, f"cooling --room {ROOM}")))
    warm_s = sum(wear.limited_s.get(each, 0.0) for each in (Limiter.THERMAL_SOFTWARE, Limiter.THERMAL_HARDWARE))
    if warm_s >= WARM_S and warm_s >= WARM_SHARE * wear.observed_s:
        held: dict[str, Scalar] = {"seconds": warm_s}
        found.append(Question(id="wear_heat", card=card.uuid, command=command(card, "cooling"), params=held))
    return found + _memory(wear)


def _memory(wear: Wear) -> list[Question]:
    """What the card mended by itself: nothing is wrong so far, and a test tells whether the memory is sound."""
    words = command(wear.card, "health")
    advised = _remap_failed(wear) or _grown(wear, Quantity.ECC_UNCORRECTED) > 0
    remapped = 0 if advised else _grown(wear, Quantity.REMAPPED_ROWS)
    told: dict[str, tuple[str, Scalar]] = {
        "wear_memory": ("corrected", _grown(wear, Quantity.ECC_CORRECTED)),
        "wear_remapped": ("remapped", remapped),
        "wear_contained": ("xids", _told(wear, CONTAINED_XIDS)),
    }
    return [
        Question(id=identity, card=wear.card.uuid, command=words, params={name: value})
        for identity, (name, value) in told.items()
        if value
    ]


def _percent(fraction: float) -> str:
    return f"{fraction * 100:+.1f} %"
