"""Readings and figures as documents in JSON have them: ``null`` where nothing was reported."""

from collections.abc import Mapping

from gputuner.model.points import Conditions, Point
from gputuner.model.readings import Reading

Json = dict[str, object]


def reading(entry: Reading) -> Json:
    """A value with its unit, or its reason."""
    return {
        "value": entry.value,
        "unit": entry.unit or None,
        "reason": None if entry.reason is None else entry.reason.value,
    }


def readings(entries: Mapping[str, Reading]) -> dict[str, Json]:
    """Readings by name."""
    return {name: reading(entry) for name, entry in entries.items()}


def point(entry: Point) -> Json:
    """A figure with its spread, conditions and flags."""
    spread = entry.spread
    known = spread is not None and spread.ci95_low is not None and spread.ci95_high is not None
    return {
        "id": entry.id,
        "card": entry.card,
        "origin": entry.origin.value,
        "metric": entry.metric,
        "workload": entry.workload,
        "params": dict(entry.params),
        "value": entry.value,
        "unit": entry.unit,
        "n": spread.n if spread else None,
        "median": spread.median if spread else None,
        "iqr": spread.iqr if spread else None,
        "ci95": [spread.ci95_low, spread.ci95_high] if spread and known else None,
        "block_length": spread.block_length if spread else None,
        "conditions": None if entry.conditions is None else conditions(entry.conditions),
        "flags": [flag.value for flag in entry.flags],
        "extra": dict(entry.extra),
    }


def conditions(entry: Conditions) -> Json:
    """What the card did meanwhile."""
    from gputuner.model.codec import to_builtins

    return dict(to_builtins(entry))
