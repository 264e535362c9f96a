"""A session as one JSON document (all but telemetry), with the names that the command line's documents have."""

from typing import Any

from gputuner.language import sentences
from gputuner.model import codec
from gputuner.model.advice import Advice, Question
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.events import Warned
from gputuner.model.points import Point
from gputuner.sessions.reader import SessionReader

SCHEMA = "gputuner.session/1"

Json = dict[str, Any]


def session(reader: SessionReader) -> Json:
    """The document of a session: head, devices, figures, advice, questions, warnings, and every event but telemetry."""
    finished = reader.finished
    advices, questions = reader.advice()
    kinds = [kind for kind in codec.KINDS if kind != "telemetry_sampled"]
    return {
        "schema": SCHEMA,
        "origin": str(reader.origin),
        "simulated": reader.origin is Origin.SIMULATED,
        "source": reader.source,
        "session_id": reader.started.run_id,
        "session_path": str(reader.path),
        "outcome": str(finished.outcome) if finished else None,
        "experiment": reader.started.experiment,
        "started_unix_s": reader.started.unix_s,
        "devices": [_device(card) for card in reader.cards()],
        "points": [_point(point) for point in reader.points()],
        "advice": [_advice(entry) for entry in advices],
        "to_measure": [_question(entry) for entry in questions],
        "warnings": [_warning(entry) for entry in reader.warnings()],
        "events": [codec.to_builtins(event) for event in reader.events(kinds)],
    }


def _device(card: CardInfo) -> Json:
    return {**codec.to_builtins(card), "title": card.title}


def _point(point: Point) -> Json:
    out: Json = codec.to_builtins(point)
    del out["spread"]
    spread = point.spread
    known = spread is not None and spread.ci95_low is not None and spread.ci95_high is not None
    return {
        **out,
        "n": spread.n if spread else None,
        "median": spread.median if spread else None,
        "iqr": spread.iqr if spread else None,
        "ci95": [spread.ci95_low, spread.ci95_high] if spread and known else None,
    }


def _advice(entry: Advice) -> Json:
    out: Json = codec.to_builtins(entry)
    del out["rank"]
    return {**out, "title": sentences.advice_title(entry), "action": sentences.advice_action(entry)}


def _question(entry: Question) -> Json:
    return {"id": entry.id, "card": entry.card, "question": sentences.question(entry), "command": entry.command}


def _warning(entry: Warned) -> Json:
    message = sentences.warning(entry.code, entry.params)
    return {"code": entry.code, "params": dict(entry.params), "message": message}
