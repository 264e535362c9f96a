"""Jobs and cards of the queue as parts of the JSON document; commands as they may be told, never an environment."""

from collections.abc import Iterable

from gputuner.cli import document
from gputuner.language import jobs as words
from gputuner.model.jobs import ENDED, Job, QueueCard, QueueView, Reason


def job(entry: Job) -> document.Json:
    """One job."""
    needs = entry.needs
    return {
        "id": entry.id,
        "name": entry.name,
        "command": list(entry.whole or entry.command),
        "folder": entry.folder,
        "state": entry.state.value,
        "reason": _reason(entry.reason, words.reason(entry)),
        "needs": {
            "memory_bytes": needs.memory_bytes,
            "cards": needs.cards,
            "minutes": needs.minutes,
            "source": needs.source.value,
            "alone": needs.alone,
            "share": needs.share,
            "pinned": list(needs.pinned),
            "workload": needs.label,
        },
        "priority": entry.priority,
        "after": list(entry.after),
        "retries": entry.retries,
        "timeout_s": entry.timeout_s,
        "start_within_s": entry.start_within_s,
        "on_reboot": entry.on_reboot.value,
        "array_id": entry.array_id,
        "array_index": entry.array_index,
        "attempt": entry.attempt,
        "cards": list(entry.cards),
        "reserved_bytes": entry.reserved_bytes,
        "used_bytes": entry.used_bytes,
        "peak_bytes": entry.peak_bytes,
        "grown_bytes": entry.grown_bytes if entry.state not in ENDED else 0,
        "pid": entry.pid if entry.state not in ENDED else None,
        "added_unix_s": entry.added_unix_s,
        "waiting_since_unix_s": entry.waiting_since_unix_s,
        "started_unix_s": entry.started_unix_s,
        "ended_unix_s": entry.ended_unix_s,
        "exit_code": entry.exit_code,
        "log": entry.log or None,
        "tail": entry.tail or None,
    }


def jobs(entries: Iterable[Job]) -> list[document.Json]:
    """Jobs."""
    return [job(entry) for entry in entries]


def view(entry: QueueView) -> document.Json:
    """All of a queue but its jobs: cards, who serves it, how many jobs stand how."""
    return {
        "cards": [_card(card) for card in entry.cards],
        "runner": None
        if entry.runner is None
        else {"pid": entry.runner.pid, "since_unix_s": entry.runner.since_unix_s},
        "paused": None if entry.paused is None else _reason(entry.paused, words.told(entry.paused)),
        "left_processes": {str(job): list(pids) for job, pids in entry.left.items()},
        "counts": {state.value: number for state, number in entry.counts.items()},
    }


def _reason(entry: Reason | None, text: str) -> document.Json | None:
    if entry is None:
        return None if not text else {"code": None, "params": {}, "message": text}
    return {"code": entry.code, "params": dict(entry.params), "message": text}


def _card(entry: QueueCard) -> document.Json:
    return {
        "uuid": entry.uuid,
        "title": entry.title,
        "index": entry.index,
        "total_bytes": entry.total_bytes,
        "free_bytes": entry.free_bytes,
        "reserved_bytes": entry.reserved_bytes,
        "slots": entry.slots,
        "jobs": list(entry.jobs),
        "holders": [
            {"pid": each.pid, "name": each.name, "memory_bytes": each.memory_bytes, "idle_s": each.idle_s}
            for each in entry.holders
        ],
        "temperature_c": entry.temperature_c,
        "paused": None if entry.paused is None else _reason(entry.paused, words.told(entry.paused)),
        "seen_unix_s": entry.seen_unix_s,
    }
