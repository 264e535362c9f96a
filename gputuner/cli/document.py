"""The one JSON document of ``--json``. ``null`` where nothing was reported; never NaN or infinities."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from gputuner.analysis.telemetry_quality import QualityNote
from gputuner.language import sentences
from gputuner.model.advice import Advice, Question
from gputuner.model.cards import CardInfo, MigInstance, Origin
from gputuner.model.change import Change
from gputuner.model.document_parts import Json, conditions, point, reading, readings
from gputuner.model.errors import ExitCode, GputunerError
from gputuner.model.events import Outcome, Warned
from gputuner.model.points import Point
from gputuner.model.quantities import QUANTITIES
from gputuner.model.readings import Reading
from gputuner.model.samples import CardProcesses, Sample

__all__ = [
    "Json", "advice", "card", "change", "conditions", "failure", "head", "point", "processes", "question", "reading",
    "readings", "sample", "warning", "write",
]  # fmt: skip


def head(
    command: str,
    origin: Origin | None,
    *,
    outcome: Outcome = Outcome.COMPLETED,
    session_id: str | None = None,
    session_path: Path | None = None,
) -> Json:
    """The part that every document begins with."""
    return {
        "schema": f"gputuner.{command}/1",
        "origin": None if origin is None else origin.value,
        "simulated": origin is Origin.SIMULATED,
        "session_id": session_id,
        "session_path": None if session_path is None else str(session_path),
        "outcome": outcome.value,
    }


def failure(command: str, error: GputunerError) -> Json:
    """The document of a command that ended with an error."""
    outcome = Outcome.CANCELLED if error.exit_code is ExitCode.INTERRUPTED else Outcome.FAILED
    document = head(command, None, outcome=outcome)
    if isinstance(error.params.get("path"), Path) and outcome is Outcome.CANCELLED:
        document |= {"session_id": error.params.get("session_id"), "session_path": str(error.params["path"])}
    document["error"] = {"code": error.code, "message": sentences.error(error), "exit_code": int(error.exit_code)}
    return document


def write(document: Mapping[str, object], stream: TextIO) -> None:
    """Write the document in ASCII, so that every terminal's encoding can carry it."""
    text = json.dumps(document, indent=2, allow_nan=False)
    stream.write(f"{text}\n")
    stream.flush()


def sample(entry: Sample) -> dict[str, Json]:
    """What one tick told of a card: each quantity that was due."""
    found = {
        quantity.value: reading(Reading(value=value, unit=QUANTITIES[quantity].unit))
        for quantity, value in entry.values.items()
    }
    absent = {
        quantity.value: reading(Reading(unit=QUANTITIES[quantity].unit, reason=why))
        for quantity, why in entry.missing.items()
    }
    return found | absent


def card(entry: CardInfo, now: Mapping[str, Json] | None = None) -> Json:
    """A card: identity, limits, link, features, and what is read of it now."""
    match = entry.catalog
    return {
        "uuid": entry.uuid,
        "index": entry.index,
        "name": entry.name,
        "title": entry.title,
        "pci_bus_id": entry.pci_bus_id,
        "state": entry.state.value,
        "origin": entry.origin.value,
        "memory_total_bytes": entry.memory_total_bytes,
        "sm_count": entry.sm_count,
        "compute_capability": entry.compute_capability,
        "architecture": match.architecture if match else None,
        "catalog_id": match.catalog_id if match else None,
        "modded": bool(match and match.modded),
        "base_name": match.base_name if match else None,
        "catalog_note": match.note if match else None,
        "features": {name: support.value for name, support in match.features.items()} if match else {},
        "mig": [_mig(instance) for instance in entry.mig],
        "limits": readings(entry.readings),
        "readings": dict(now or {}),
    }


def processes(entry: CardProcesses | None) -> Json:
    """Who is on a card, as two keys of its object; null where it is not known."""
    if entry is None:
        return {"processes": None, "unowned_bytes": None}
    known = [
        {
            "pid": p.pid,
            "name": p.name,
            "user": p.user,
            "compute": p.compute,
            "memory_bytes": p.memory_bytes,
            "memory_reason": p.memory_reason.value if p.memory_reason else None,
            "sm_utilisation": p.sm_utilisation,
        }
        for p in entry.processes
    ]
    return {"processes": None if entry.reason else known, "unowned_bytes": entry.unowned_bytes}


def _mig(entry: MigInstance) -> Json:
    return {
        "uuid": entry.uuid,
        "profile": entry.profile,
        "memory_total_bytes": entry.memory_total_bytes,
        "memory_used_bytes": entry.memory_used_bytes,
    }


def advice(entry: Advice) -> Json:
    """An advice in words, with its evidence by reference."""
    gain = entry.gain
    return {
        "id": entry.id,
        "card": entry.card,
        "title": sentences.advice_title(entry),
        "action": sentences.advice_action(entry),
        "why": sentences.advice_why(entry),
        "params": dict(entry.params),
        "gain": None if gain is None else {"value": gain.value, "unit": gain.unit, "low": gain.low, "high": gain.high},
        "confidence": entry.confidence.value,
        "evidence": list(entry.evidence),
        "risk": entry.risk,
        "snippet": entry.snippet,
        "change": None if entry.change is None else change(entry.change),
    }


def change(entry: Change) -> Json:
    """What an advice changes of a training, so that it can be tried."""
    from gputuner.model.codec import to_builtins

    return dict(to_builtins(entry))


def question(entry: Question) -> Json:
    """What to measure next."""
    return {"id": entry.id, "card": entry.card, "question": sentences.question(entry), "command": entry.command}


def warning(entry: Warned | QualityNote) -> Json:
    """A warning in words."""
    return {
        "code": entry.code,
        "params": dict(entry.params),
        "message": sentences.warning(entry.code, entry.params),
    }


def found(
    points: Iterable[Point],
    advices: Sequence[Advice],
    questions: Sequence[Question],
    warnings: Iterable[Warned | QualityNote],
) -> Json:
    """The parts of a document that hold what was measured."""
    return {
        "points": [point(entry) for entry in points],
        "advice": [advice(entry) for entry in advices],
        "to_measure": [question(entry) for entry in questions],
        "warnings": [warning(entry) for entry in warnings],
    }
