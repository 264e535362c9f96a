"""A card as the queue sees it: its memory, the jobs that stand on it, and who else is there."""

from dataclasses import dataclass, replace

from gputuner.model.cards import CPU_CARD
from gputuner.model.jobs import MemoryHolder, Reason
from gputuner.model.readings import Scalar

MARGIN_BYTES = 256 * 2**20
MARGIN_SHARE = 0.01
"""Memory that is never given away: what a driver and its contexts take beside what jobs ask for."""
SETTLED_S = 120.0
"""Where it cannot be told what a job holds, it is taken to hold all that is kept for it after so long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resident:
    """A job of ours on a card.

    ``reserved_bytes`` None: the card is its own. ``used_bytes``: what it holds there now (None: not told).
    """

    job: int
    label: str = ""
    reserved_bytes: int | None = None
    used_bytes: int | None = None
    alone: bool = False
    share: bool = False
    array_id: int | None = None
    age_s: float = 0.0
    ends_in_s: float | None = None

    @property
    def pending_bytes(self) -> int:
        """What is kept for it and not allocated yet."""
        kept = self.reserved_bytes or 0
        if self.used_bytes is None:
            return kept if self.age_s < SETTLED_S else 0
        return max(0, kept - self.used_bytes)

    @property
    def held_bytes(self) -> int:
        """The larger of what it has and what is kept for it."""
        return max(self.reserved_bytes or 0, self.used_bytes or 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """A card at the time of a decision.

    ``free_bytes`` None: the card does not answer. ``others_bytes``: held by processes that are not ours.
    ``start_below_c``: no job starts at or above it. ``slots``: jobs at a time where cores are what is shared.
    """

    uuid: str
    title: str
    index: int
    total_bytes: int
    free_bytes: int | None
    residents: tuple[Resident, ...] = ()
    holders: tuple[MemoryHolder, ...] = ()
    others_bytes: int = 0
    temperature_c: float | None = None
    start_below_c: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    slots: int | None = None
    paused: Reason | None = None

    @property
    def names(self) -> dict[str, Scalar]:
        """How sentences name it; the processor, and slots that are its, have no number."""
        named: dict[str, Scalar] = {"card": self.title, "index": self.index}
        return {**named, "cpu": True} if self.uuid == CPU_CARD or self.slots is not None else named

    @property
    def job_list(self) -> str:
        """The ids of our jobs there."""
        return ", ".join(str(each.job) for each in self.residents)

    @property
    def kept_bytes(self) -> int:
        """Kept for jobs that have not allocated it yet."""
        return sum(each.pending_bytes for each in self.residents)

    @property
    def full(self) -> bool:
        """True if no other job may stand there whatever it needs."""
        if self.slots is not None:
            return len(self.residents) >= self.slots or any(each.alone for each in self.residents)
        return any(each.alone or each.reserved_bytes is None for each in self.residents)

    @property
    def ends_in_s(self) -> float | None:
        """When the last of our jobs there is expected to be over; None: not known of all."""
        ends = [each.ends_in_s for each in self.residents]
        known = [end for end in ends if end is not None]
        return max(known, default=0.0) if len(known) == len(ends) else None

    def with_resident(self, resident: Resident) -> "Room":
        """The card with one job more, which has allocated nothing yet."""
        return replace(self, residents=(*self.residents, replace(resident, used_bytes=resident.used_bytes or 0)))

    def without_residents(self) -> "Room":
        """The card once our jobs are over and have given back what they hold."""
        if not self.residents:
            return self
        returned = sum(
            each.used_bytes if each.used_bytes is not None else (each.reserved_bytes or 0) - each.pending_bytes
            for each in self.residents
        )
        whole = any(each.reserved_bytes is None and each.used_bytes is None for each in self.residents)
        free = self.total_bytes if whole else (self.free_bytes or 0) + returned
        return replace(self, residents=(), free_bytes=min(free, self.total_bytes) - (self.others_bytes if whole else 0))


def margin_bytes(total_bytes: int) -> int:
    """Memory of a card that is never given away."""
    return max(MARGIN_BYTES, int(MARGIN_SHARE * total_bytes))


def most_bytes(room: Room) -> int:
    """The most that one job can ever get on the card."""
    return room.total_bytes - margin_bytes(room.total_bytes)


def available_bytes(room: Room) -> int:
    """What can be given to one job more: free now less what others were promised, and never beyond the card.

    The second bound holds where free memory and process tables were read at different times: what is promised to our
    jobs and held by others is not given twice, however much just happened to be free.
    """
    promised = (room.free_bytes or 0) - room.kept_bytes
    bound = room.total_bytes - sum(each.held_bytes for each in room.residents) - room.others_bytes
    return min(promised, bound) - margin_bytes(room.total_bytes)
