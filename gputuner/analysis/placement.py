"""Which waiting jobs start now and on which cards: a pure decision, with the reason for every job that goes on waiting.

In short: jobs are taken in their order. One starts where memory that is actually free, less what is kept for jobs that
have not allocated it yet, suffices; where nobody is slowed beyond the limit; and where heat and power leave room. One
that only waits for jobs of ours keeps the cards it will get next: a later job passes it there only if it leaves it
room, or is over before. One that waits for somebody else's memory keeps nothing, since nobody knows until when.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from gputuner.analysis.placement_pairs import NO_PAIRS, Pairs
from gputuner.analysis.placement_room import Resident, Room, available_bytes, most_bytes
from gputuner.model.jobs import Needs, Reason
from gputuner.model.readings import Scalar

SLOWDOWN_LIMIT = 1.5
POWER_SHARE = 0.95
"""A card that draws this share of its limit gains nothing from a second job."""
_NEAREST = ("behind", "beside_slow", "beside_unknown", "card_taken", "slots", "heat", "power", "memory", "paused")
"""Reasons, the ones nearest to a start first: of several cards a job is told the reason of the nearest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A waiting job whose dependencies are done."""

    id: int
    needs: Needs
    array_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the user allows: the slowdown of the one who suffers most, and pairs that were never measured."""

    slowdown: float = SLOWDOWN_LIMIT
    share: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """A job starts on these cards with so much memory kept for it on each (None: the cards are its own)."""

    job: int
    cards: tuple[str, ...]
    reserved_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What starts now, and why those that were looked at do not."""

    placements: tuple[Placement, ...] = ()
    reasons: Mapping[int, Reason] = field(default_factory=lambda: {})


class Line:
    """Candidates in their order, prepared once for many decisions: those alike in kind are known as such."""

    def __init__(self, candidates: Iterable[Candidate]) -> None:
        """Sort them into kinds: alike but for the memory they need."""
        self.candidates = tuple(candidates)
        numbers: dict[tuple[object, ...], int] = {}
        self.kinds = tuple(numbers.setdefault(_kind(each.needs), len(numbers)) for each in self.candidates)
        self.memory = tuple(each.needs.memory_bytes or 0 for each in self.candidates)
        self.smallest = _smallest(self.candidates, self.kinds, len(numbers))

    def without(self, jobs: frozenset[int]) -> "Line":
        """The line after these have left it."""
        rest = Line(())
        kept = [place for place, each in enumerate(self.candidates) if each.id not in jobs]
        rest.candidates = tuple(self.candidates[place] for place in kept)
        rest.kinds = tuple(self.kinds[place] for place in kept)
        rest.memory = tuple(self.memory[place] for place in kept)
        rest.smallest = self.smallest  # one that has left may stand for its kind: it bounds the others all the same
        return rest


def _smallest(candidates: Sequence[Candidate], kinds: Sequence[int], count: int) -> tuple[Candidate, ...]:
    """Of each kind the candidate that needs least memory."""
    found: list[Candidate | None] = [None] * count
    for each, kind in zip(candidates, kinds, strict=True):
        known = found[kind]
        if known is None or (each.needs.memory_bytes or 0) < (known.needs.memory_bytes or 0):
            found[kind] = each
    return tuple(each for each in found if each is not None)


def decide(
    line: Line,
    rooms: Sequence[Room],
    pairs: Mapping[str, Pairs] | None = None,
    limits: Limits | None = None,
    *,
    most_reasons: int = 200,
) -> Decision:
    """Place what can be placed.

    Args:
        line: waiting jobs whose dependencies are done, in their order.
        rooms: the cards as they stand.
        pairs: measured slowdowns, by card.
        limits: what the user allows.
        most_reasons: of so many jobs the reason is told.

    Returns:
        The starts, and for the first jobs of the line that do not start the reason.
    """
    table = _Table(rooms, pairs or {}, limits or Limits())
    placements: list[Placement] = []
    reasons: dict[int, Reason] = {}
    refused: list[float] = [inf] * len(line.smallest)
    why: list[Reason | None] = [None] * len(line.smallest)
    for place, (need, kind) in enumerate(zip(line.memory, line.kinds, strict=True)):
        untold = len(reasons) < most_reasons
        if need >= refused[kind]:  # room only shrinks within a decision
            reason = why[kind]
        else:
            placement, reason = table.place(line.candidates[place])
            if placement is not None:
                placements.append(placement)
                continue
            refused[kind], why[kind] = min(need, table.most_bytes(line.candidates[place]) + 1), reason
            if reason is not None and not table.takes(line.smallest[kind]):
                refused[kind] = 0.0
        if untold and reason is not None:
            candidate = line.candidates[place]
            reasons[candidate.id] = _own(reason, candidate)
            if len(reasons) >= most_reasons and not any(_open(table, line, refused)):
                break
    return Decision(placements=tuple(placements), reasons=reasons)


def _open(table: "_Table", line: Line, refused: list[float]) -> Iterator[bool]:
    """Whether each kind that was not refused altogether could have a start; notes those that could not."""
    for kind, smallest in enumerate(line.smallest):
        if refused[kind] > 0.0:
            if table.takes(smallest):
                yield True
            else:
                refused[kind] = 0.0


def never_fits(needs: Needs, rooms: Sequence[Room]) -> Reason | None:
    """Why a job can never start on these cards, were they all empty; None: it can."""
    usable = [room for room in rooms if not needs.pinned or room.uuid in needs.pinned]
    if len(usable) < needs.cards:
        return Reason(code="never_cards", params={"cards": needs.cards, "known": len(usable)})
    if needs.memory_bytes is None:
        return None
    largest = sorted((most_bytes(room) for room in usable), reverse=True)[needs.cards - 1]
    if needs.memory_bytes <= largest:
        return None
    room = max(usable, key=lambda each: each.total_bytes)
    sizes: dict[str, Scalar] = {"need_bytes": needs.memory_bytes, "total_bytes": room.total_bytes}
    return Reason(code="never_memory", params={**sizes, **room.names, "most_bytes": largest, "cards": needs.cards})


def _kind(needs: Needs) -> tuple[object, ...]:
    known = needs.memory_bytes is not None
    return (needs.cards, needs.minutes, needs.alone, needs.share, needs.pinned, needs.label, known)


def _own(reason: Reason, candidate: Candidate) -> Reason:
    """The reason of one alike, with this job's own need."""
    if reason.params.get("need_bytes") in (None, candidate.needs.memory_bytes):
        return reason
    return Reason(code=reason.code, params={**reason.params, "need_bytes": candidate.needs.memory_bytes or 0})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    """A card kept for a job that waits only for ours; ``in_s``: when it can start at the latest (None: not known)."""

    candidate: Candidate
    in_s: float | None


class _Table:
    """The cards while a decision is made."""

    def __init__(self, rooms: Sequence[Room], pairs: Mapping[str, Pairs], limits: Limits) -> None:
        self._rooms = {room.uuid: room for room in rooms}
        self._pairs, self._limits = pairs, limits
        self._held: dict[str, _Held] = {}

    def takes(self, candidate: Candidate) -> bool:
        """Whether enough cards would take the job now; keeps nothing for it."""
        needs = candidate.needs
        usable = [room for room in self._rooms.values() if not needs.pinned or room.uuid in needs.pinned]
        return sum(self._against(candidate, room) is None for room in usable) >= needs.cards

    def most_bytes(self, candidate: Candidate) -> int:
        """What a job of this kind can get now at the very most, whatever else may stand in its way."""
        needs = candidate.needs
        rooms = [room for room in self._rooms.values() if not needs.pinned or room.uuid in needs.pinned]
        free = sorted((available_bytes(room) for room in rooms), reverse=True)
        return max(0, free[needs.cards - 1]) if len(free) >= needs.cards else 0

    def place(self, candidate: Candidate) -> tuple[Placement | None, Reason | None]:
        """Give the job its cards, or say why not and keep those it will get next."""
        needs = candidate.needs
        usable = [room for room in self._rooms.values() if not needs.pinned or room.uuid in needs.pinned]
        if not usable:
            return None, Reason(code="not_served")
        against = {room.uuid: self._against(candidate, room) for room in usable}
        open_rooms = [room for room in usable if against[room.uuid] is None]
        if len(open_rooms) >= needs.cards:
            chosen = sorted(open_rooms, key=lambda room: self._order(candidate, room))[: needs.cards]
            for room in chosen:
                self._rooms[room.uuid] = room.with_resident(_resident(candidate))
            uuids = tuple(room.uuid for room in chosen)
            return Placement(job=candidate.id, cards=uuids, reserved_bytes=needs.memory_bytes), None
        self._keep(candidate, usable, {room.uuid for room in open_rooms})
        reasons = [reason for reason in against.values() if reason is not None]
        if not reasons:
            return None, Reason(code="too_few_cards", params={"cards": needs.cards, "known": len(usable)})
        return None, min(reasons, key=_nearness)

    def _order(self, candidate: Candidate, room: Room) -> tuple[float, ...]:
        """Balanced over the cards: least of its own array, least slowdown, then most memory."""
        own = sum(
            1 for each in room.residents if candidate.array_id is not None and each.array_id == candidate.array_id
        )
        labels = [candidate.needs.label, *(each.label for each in room.residents)]
        slowdown = self._pairs.get(room.uuid, NO_PAIRS).worst(labels) or float(len(labels))
        return (own, len(room.residents) if room.slots else slowdown, -available_bytes(room), room.index)

    def _against(self, candidate: Candidate, room: Room) -> Reason | None:
        """What keeps the job from this card; None: nothing."""
        needs = candidate.needs
        if room.paused is not None:
            return room.paused
        if room.free_bytes is None:
            return Reason(code="card_silent", params=room.names)
        return (
            _taken(needs, room)
            or self._slowed(needs, room)
            or _too_full(needs, room)
            or _too_hot(room)
            or _too_much_power(room)
            or self._behind(candidate, room)
        )

    def _behind(self, candidate: Candidate, room: Room) -> Reason | None:
        held = self._held.get(room.uuid)
        if held is None:
            return None
        minutes = candidate.needs.minutes
        if minutes is not None and held.in_s is not None and minutes * 60.0 <= held.in_s:
            return None
        if self._leaves_room(candidate, held.candidate, room):
            return None
        return Reason(code="behind", params={"job": held.candidate.id, **room.names})

    def _leaves_room(self, candidate: Candidate, first: Candidate, room: Room) -> bool:
        """Whether ``first`` would still fit beside the candidate once our other jobs are over."""
        needs, other = candidate.needs, first.needs
        if room.slots is not None:
            return False
        empty = room.without_residents().with_resident(_resident(candidate))
        return not (_taken(other, empty) or self._slowed(other, empty) or _lacks(other, empty)) and not needs.alone

    def _slowed(self, needs: Needs, room: Room) -> Reason | None:
        if not room.residents or room.slots is not None:
            return None
        worst = self._pairs.get(room.uuid, NO_PAIRS).worst([needs.label, *(each.label for each in room.residents)])
        params = {**room.names, "jobs": room.job_list}
        if worst is None:
            both = needs.share and all(each.share for each in room.residents)
            return None if both or self._limits.share else Reason(code="beside_unknown", params=params)
        if worst <= self._limits.slowdown:
            return None
        return Reason(code="beside_slow", params={**params, "slowdown": worst, "limit": self._limits.slowdown})

    def _keep(self, candidate: Candidate, usable: Sequence[Room], open_now: set[str]) -> None:
        """Keep the cards that the job gets once jobs of ours are over."""
        coming = [room for room in usable if self._comes_free(candidate, room)]
        if len(coming) < candidate.needs.cards:
            return
        coming.sort(key=lambda room: (room.uuid not in open_now, room.ends_in_s is None, room.ends_in_s or 0.0))
        for room in coming[: candidate.needs.cards]:
            self._held[room.uuid] = _Held(candidate=candidate, in_s=room.ends_in_s)

    def _comes_free(self, candidate: Candidate, room: Room) -> bool:
        if room.paused is not None or room.free_bytes is None or room.uuid in self._held:
            return False
        return not _lacks(candidate.needs, room.without_residents())


def _resident(candidate: Candidate) -> Resident:
    needs = candidate.needs
    return Resident(
        job=candidate.id,
        label=needs.label,
        reserved_bytes=needs.memory_bytes,
        alone=needs.alone,
        share=needs.share,
        array_id=candidate.array_id,
        ends_in_s=None if needs.minutes is None else needs.minutes * 60.0,
    )


def _taken(needs: Needs, room: Room) -> Reason | None:
    """Jobs that want no neighbour, or of which nobody knows what they need."""
    params = {**room.names, "jobs": room.job_list}
    if room.slots is not None and len(room.residents) >= room.slots:
        return Reason(code="slots", params={**params, "slots": room.slots})
    lone = needs.alone or (needs.memory_bytes is None and room.slots is None)
    if room.residents and (lone or room.full):
        return Reason(code="card_taken", params=params)
    return None


def _lacks(needs: Needs, room: Room) -> bool:
    if needs.memory_bytes is None:
        return room.slots is None and bool(room.holders) and available_bytes(room) < room.total_bytes // 2
    return needs.memory_bytes > available_bytes(room)


def _too_full(needs: Needs, room: Room) -> Reason | None:
    if not _lacks(needs, room):
        return None
    largest = max(room.holders, key=lambda each: each.memory_bytes or 0, default=None)
    params: dict[str, Scalar] = {
        **room.names,
        "need_bytes": needs.memory_bytes or room.total_bytes // 2,
        "free_bytes": max(0, available_bytes(room)),
        "total_bytes": room.total_bytes,
        "others_bytes": room.others_bytes,
        "kept_bytes": room.kept_bytes,
        "jobs": room.job_list,
    }
    if largest is not None:
        params |= {"holder": largest.name, "pid": largest.pid, "holders": len(room.holders)}
        params |= {} if largest.memory_bytes is None else {"holder_bytes": largest.memory_bytes}
        params |= {} if largest.idle_s is None else {"idle_s": largest.idle_s}
    return Reason(code="memory", params=params)


def _too_hot(room: Room) -> Reason | None:
    if room.temperature_c is None or room.start_below_c is None or room.temperature_c < room.start_below_c:
        return None
    params = {**room.names, "temperature_c": room.temperature_c, "limit_c": room.start_below_c}
    return Reason(code="heat", params=params)


def _too_much_power(room: Room) -> Reason | None:
    if not room.residents or room.power_w is None or not room.power_limit_w:
        return None
    if room.power_w < POWER_SHARE * room.power_limit_w:
        return None
    return Reason(code="power", params={**room.names, "power_w": room.power_w, "limit_w": room.power_limit_w})


def _nearness(reason: Reason) -> tuple[int, float]:
    rank = _NEAREST.index(reason.code) if reason.code in _NEAREST else len(_NEAREST)
    free = reason.params.get("free_bytes")
    return (rank, -float(free) if isinstance(free, (int, float)) else 0.0)
