"""Memory that a failed job has left behind: its card takes no other before it is back, so that a list is not burnt up.

States of a card: *clear* → *recovering* (a job ended badly, more memory is in use than anybody there explains, or
processes of it live on) → *paused* (that has lasted ``PATIENCE_S``; told) → *clear* again, by itself, once it is back.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from gputuner.model.jobs import Reason

PATIENCE_S = 120.0
TOLERANCE_BYTES = 256 * 2**20
TOLERANCE_SHARE = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class CardMemory:
    """Memory of a card in use, by who explains it (bytes).

    ``unexplained``: in use, and of no process that is known. ``left``: of processes of jobs that have ended.
    """

    title: str
    index: int
    total: int
    unexplained: int
    left: int = 0


@dataclass(slots=True, kw_only=True)
class _Debt:
    job: int
    since: float
    before: int
    told: bool = False


class Recovery:
    """Follows what is owed on each card; times are seconds of any clock that only goes forward."""

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        """Nothing is owed."""
        self._patience_s = patience_s
        self._before: dict[tuple[str, str], int] = {}
        self._debts: dict[str, _Debt] = {}

    def started(self, ticket: str, uuid: str, memory: CardMemory | None) -> None:
        """Note what is unexplained on a card before a job starts there."""
        if memory is not None:
            self._before[(ticket, uuid)] = memory.unexplained

    def ended(self, ticket: str, job: int, cards: tuple[str, ...], *, well: bool, now: float) -> None:
        """A job has ended; ``well``: by itself and with 0, so that nothing is suspected."""
        for uuid in cards:
            before = self._before.pop((ticket, uuid), None)
            if before is not None and not well:
                owed = self._debts.get(uuid)
                least = before if owed is None else min(before, owed.before)
                self._debts[uuid] = _Debt(job=job, since=now, before=least)

    def look(self, cards: Mapping[str, CardMemory], now: float) -> dict[str, Reason]:
        """Why cards take no job now, by UUID; what is paid back is forgotten."""
        reasons: dict[str, Reason] = {}
        for uuid, debt in list(self._debts.items()):
            memory = cards.get(uuid)
            if memory is None:
                continue
            owed = memory.left + max(0, memory.unexplained - debt.before)
            if owed <= max(TOLERANCE_BYTES, int(TOLERANCE_SHARE * memory.total)):
                del self._debts[uuid]
                continue
            waited = now - debt.since
            code = "memory_not_back" if waited >= self._patience_s else "recovering"
            reasons[uuid] = Reason(
                code=code,
                params={
                    "job": debt.job,
                    "owed_bytes": owed,
                    "waited_s": round(waited),
                    "card": memory.title,
                    "index": memory.index,
                },
            )
        return reasons
