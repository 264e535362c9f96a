"""From what is seen of the cards, and the jobs that stand on them, to the rooms that placement decides on."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from gputuner.analysis.placement_room import Resident, Room
from gputuner.jobs.owners import IdleTally, Owners, Sorted, Standing, host_bytes, sorted_out
from gputuner.jobs.placed import Placed
from gputuner.jobs.recovery import CardMemory, Recovery
from gputuner.jobs.seeing import Cards, Seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One look at all cards."""

    rooms: tuple[Room, ...]
    used: dict[int, int] = field(default_factory=lambda: {})
    """Most that each job holds on one of its cards, where that is told."""
    memory: dict[str, CardMemory] = field(default_factory=lambda: {})


class RoomKeeper:
    """Looks at the cards; remembers whose processes are whose, and since when they idle."""

    def __init__(self, cards: Cards, recovery: Recovery, clock: Callable[[], float] = time.monotonic) -> None:
        """Look at ``cards``."""
        self._cards = cards
        self._recovery = recovery
        self._owners = Owners()
        self._idle = IdleTally()
        self._clock = clock

    def look(self, placed: Sequence[Placed]) -> Look:
        """The cards as they stand, with the jobs ``placed`` on them."""
        now = self._clock()
        standing = [each.standing for each in placed]
        rooms: list[Room] = []
        used: dict[int, int] = {}
        memory: dict[str, CardMemory] = {}
        for seen in self._cards.look():
            here = [each for each in placed if seen.uuid in each.cards]
            found = self._sorted(seen, standing, here)
            residents = tuple(_resident(each, found) for each in here)
            for each in residents:
                if each.used_bytes is not None:
                    used[each.job] = max(used.get(each.job, 0), each.used_bytes)
            room = self._room(seen, residents, found, now)
            rooms.append(room)
            if seen.slots is None and seen.free_bytes is not None:
                memory[seen.uuid] = _memory(room, found)
        reasons = self._recovery.look(memory, now)
        rooms = [replace(room, paused=reasons.get(room.uuid)) for room in rooms]
        return Look(rooms=tuple(rooms), used=used, memory=memory)

    def _sorted(self, seen: Seen, standing: list[Standing], here: Sequence[Placed]) -> Sorted | None:
        """The card's processes by whose they are; None: nobody tells."""
        if seen.slots is not None:
            return Sorted(held=host_bytes(each.standing for each in here))
        if seen.processes is None or any(each.name is None for each in seen.processes):
            return None  # without a name, a number is not one of this container's
        return sorted_out(self._owners, seen.processes, standing)

    def _room(self, seen: Seen, residents: tuple[Resident, ...], found: Sorted | None, now: float) -> Room:
        others = () if found is None else (*found.left, *found.strangers)
        return Room(
            uuid=seen.uuid,
            title=seen.title,
            index=seen.index,
            total_bytes=seen.total_bytes,
            free_bytes=seen.free_bytes,
            residents=residents,
            holders=self._idle.holders(seen.uuid, others, seen.computes if not residents else None, now),
            others_bytes=sum(process.memory_bytes or 0 for process in others),
            temperature_c=seen.temperature_c,
            start_below_c=seen.start_below_c,
            power_w=seen.power_w,
            power_limit_w=seen.power_limit_w,
            slots=seen.slots,
        )


def _resident(placed: Placed, found: Sorted | None) -> Resident:
    age_s = max(0.0, time.time() - placed.since_unix_s)
    ends_in = None if placed.minutes is None else placed.minutes * 60.0 - age_s
    return Resident(
        job=placed.job,
        label=placed.label,
        reserved_bytes=placed.reserved_bytes,
        used_bytes=None if found is None else found.held.get(placed.job, 0),
        alone=placed.alone,
        share=placed.share,
        array_id=placed.array_id,
        age_s=age_s,
        ends_in_s=ends_in if ends_in is None or ends_in > 0.0 else None,
    )


def _memory(room: Room, found: Sorted | None) -> CardMemory:
    """Who explains what is in use; a job that does not tell what it holds is taken to hold what is kept for it."""
    in_use = room.total_bytes - (room.free_bytes or 0)
    ours = sum(
        (each.reserved_bytes or 0) - each.pending_bytes if each.used_bytes is None else each.used_bytes
        for each in room.residents
    )
    return CardMemory(
        title=room.title,
        index=room.index,
        total=room.total_bytes,
        unexplained=max(0, in_use - ours - room.others_bytes),
        left=0 if found is None else sum(process.memory_bytes or 0 for process in found.left),
    )
