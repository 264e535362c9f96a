"""The cards as the runner saw them last, kept so that a list or a window need not ask the driver."""

import json
import time
from collections.abc import Sequence
from contextlib import suppress

from gputuner.analysis.placement_room import Room
from gputuner.jobs.rows import reason_of, reason_text
from gputuner.jobs.store import JobStore
from gputuner.model.jobs import MemoryHolder, QueueCard

MOST_HOLDERS = 8
FRESH_S = 600.0
"""An older picture of the cards is not trusted to say which there are."""


def keep(store: JobStore, rooms: Sequence[Room]) -> None:
    """Write the cards down if anything has changed that is worth a look."""
    now = time.time()
    told = {room.uuid: _text(room, now) for room in rooms}
    known = {row[0]: row[1] for row in store.connection.execute("SELECT uuid, json FROM cards").fetchall()}
    if known.keys() == told.keys() and all(_same(known[uuid], told[uuid]) for uuid in told):
        return
    with store.writing() as connection:
        connection.execute("DELETE FROM cards")
        connection.executemany("INSERT INTO cards(uuid, json) VALUES(?, ?)", list(told.items()))


def cards(store: JobStore) -> tuple[QueueCard, ...]:
    """The cards as they were seen last, by display index."""
    found: list[QueueCard] = []
    for (text,) in store.connection.execute("SELECT json FROM cards").fetchall():
        with suppress(ValueError, KeyError, TypeError):
            found.append(_card(text))
    return tuple(sorted(found, key=lambda card: card.index))


def _text(room: Room, now: float) -> str:
    holders = [[each.pid, each.name, each.memory_bytes, each.idle_s] for each in room.holders[:MOST_HOLDERS]]
    return json.dumps(
        {
            "uuid": room.uuid,
            "title": room.title,
            "index": room.index,
            "total_bytes": room.total_bytes,
            "free_bytes": room.free_bytes,
            "reserved_bytes": sum(each.reserved_bytes or 0 for each in room.residents),
            "jobs": [each.job for each in room.residents],
            "holders": holders,
            "temperature_c": room.temperature_c,
            "paused": reason_text(room.paused),
            "slots": room.slots,
            "seen_unix_s": now,
        }
    )


def _same(old: str, new: str) -> bool:
    """Whether a picture need not be replaced: nothing but small amounts differs, and it is not old."""
    before, after = json.loads(old), json.loads(new)
    names = ("jobs", "paused", "title", "index", "total_bytes", "reserved_bytes")
    if any(before.get(name) != after[name] for name in names) or after["seen_unix_s"] - before["seen_unix_s"] > 10.0:
        return False
    return len(before["holders"]) == len(after["holders"]) and _near(before.get("free_bytes"), after["free_bytes"])


def _near(before: int | None, after: int | None) -> bool:
    if before is None or after is None:
        return before == after
    return abs(before - after) < 64 * 2**20


def _card(text: str) -> QueueCard:
    found = json.loads(text)
    holders = tuple(
        MemoryHolder(pid=pid, name=name, memory_bytes=memory, idle_s=idle)
        for pid, name, memory, idle in found["holders"]
    )
    return QueueCard(
        uuid=found["uuid"],
        title=found["title"],
        index=found["index"],
        total_bytes=found["total_bytes"],
        free_bytes=found["free_bytes"],
        reserved_bytes=found["reserved_bytes"],
        jobs=tuple(found["jobs"]),
        holders=holders,
        temperature_c=found["temperature_c"],
        paused=reason_of(found["paused"]),
        slots=found["slots"],
        seen_unix_s=found["seen_unix_s"],
    )
