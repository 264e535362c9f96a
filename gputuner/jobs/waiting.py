"""The waiting line as its rows tell it, read anew only when it has changed, and which of it may start at all."""

import time
from collections.abc import Iterable
from dataclasses import dataclass

from gputuner.analysis.placement import Candidate, Line
from gputuner.jobs.rows import needs_of, numbers, reason_text
from gputuner.jobs.store import JobStore
from gputuner.model.jobs import JobState, Reason

_COLUMNS = (
    "id, memory_bytes, cards_wanted, minutes, need_source, alone, share, pinned, label, after, array_id, "
    "start_within_s, waiting_since"
)
_FAILED = (JobState.FAILED, JobState.CANCELLED, JobState.TIMED_OUT, JobState.INTERRUPTED)
_AT_ONCE = 500
"""Jobs asked for in one query."""
REFRESH_S = 15.0
"""Amounts in a reason that has not changed in kind are written again at most so often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Waiting:
    candidate: Candidate
    after: tuple[int, ...]
    gives_up_unix_s: float | None
    not_before_unix_s: float
    """It failed soon after a start; so long it waits before the next."""


class WaitingLine:
    """The jobs that wait."""

    def __init__(self, store: JobStore) -> None:
        """Nothing read yet."""
        self._store = store
        self._read_at: int | None = None
        self._all: tuple[_Waiting, ...] = ()
        self._limited: tuple[_Waiting, ...] = ()
        self._after: tuple[_Waiting, ...] = ()
        self._early: tuple[_Waiting, ...] = ()
        self._ended_at: int | None = None
        self._line: Line | None = None
        self._blocked: dict[int, Reason] = {}
        self._told: dict[int, tuple[Reason, float]] = {}

    @property
    def count(self) -> int:
        """How many wait."""
        return len(self._all)

    @property
    def only_stuck(self) -> bool:
        """True if nothing waits but what follows a job that will not be done."""
        return all(
            each.candidate.id in self._blocked and self._blocked[each.candidate.id].code == "after_failed"
            for each in self._all
        )

    def line(self) -> Line:
        """Those whose dependencies are done, in their order."""
        line, ended = self._facts()
        now = time.time()
        changed = line != self._read_at or self._line is None
        changed |= any(each.not_before_unix_s <= now for each in self._early)
        if changed:
            self._read()
            self._read_at = line
        if changed or (self._after and ended != self._ended_at):
            self._ended_at = ended
            blocked = self._after_others() | {each.candidate.id: Reason(code="failed_soon") for each in self._early}
            if self._line is None or blocked.keys() != self._blocked.keys():
                self._line = Line(each.candidate for each in self._all if each.candidate.id not in blocked)
            self._blocked = blocked
        assert self._line is not None
        return self._line

    def left(self, jobs: frozenset[int]) -> None:
        """These have just been given their cards; where nothing else has changed, the line need not be read anew."""
        for job in jobs:
            self._told.pop(job, None)
        line, _ended = self._facts()
        if self._line is None or self._read_at is None or line != self._read_at + len(jobs):
            self._read_at = None
            return
        self._read_at = line
        self._all = tuple(each for each in self._all if each.candidate.id not in jobs)
        self._after = tuple(each for each in self._after if each.candidate.id not in jobs)
        self._line = self._line.without(jobs)

    def _facts(self) -> tuple[int, int]:
        found = dict(self._store.connection.execute("SELECT key, value FROM facts").fetchall())
        return int(found["line"]), int(found["ended"])

    def overdue(self) -> tuple[int, ...]:
        """Jobs that have waited longer than their owners allow."""
        now = time.time()
        return tuple(each.candidate.id for each in self._limited if (each.gives_up_unix_s or now) < now)

    def tell(self, reasons: Iterable[tuple[int, Reason]]) -> None:
        """Write down why jobs wait; what has not changed is not written again."""
        now = time.monotonic()
        changed: list[tuple[str | None, int]] = []
        for job, reason in (*self._blocked.items(), *reasons):
            told = self._told.get(job)
            if told is not None and (told[0] == reason or (_alike(told[0], reason) and now - told[1] < REFRESH_S)):
                continue
            self._told[job] = (reason, now)
            changed.append((reason_text(reason), job))
        if len(self._told) > 2 * len(self._all) + _AT_ONCE:
            waiting = {each.candidate.id for each in self._all}
            self._told = {job: told for job, told in self._told.items() if job in waiting}
        if changed:
            with self._store.writing() as connection:
                connection.executemany("UPDATE jobs SET reason = ? WHERE id = ? AND state = 'waiting'", changed)

    def _read(self) -> None:
        found = self._store.connection.execute(
            f"SELECT {_COLUMNS} FROM jobs WHERE state = 'waiting' ORDER BY priority DESC, position, id"
        ).fetchall()
        self._line = None
        self._all = tuple(
            _Waiting(
                candidate=Candidate(id=row["id"], needs=needs_of(row), array_id=row["array_id"]),
                after=numbers(row["after"]),
                gives_up_unix_s=None if row["start_within_s"] is None else row["waiting_since"] + row["start_within_s"],
                not_before_unix_s=row["waiting_since"],
            )
            for row in found
        )
        self._after = tuple(sorted((each for each in self._all if each.after), key=lambda each: each.candidate.id))
        now = time.time()
        self._early = tuple(each for each in self._all if each.not_before_unix_s > now)
        self._limited = tuple(each for each in self._all if each.gives_up_unix_s is not None)

    def _after_others(self) -> dict[int, Reason]:
        """Jobs that wait for others to be done; what follows a job that will not be done will not start either."""
        wanted = sorted({job for each in self._after for job in each.after})
        states: dict[int, JobState] = {}
        for first in range(0, len(wanted), _AT_ONCE):
            some = wanted[first : first + _AT_ONCE]
            marks = ", ".join("?" * len(some))
            found = self._store.connection.execute(f"SELECT id, state FROM jobs WHERE id IN ({marks})", some)
            states |= {row[0]: JobState(row[1]) for row in found.fetchall()}
        blocked: dict[int, Reason] = {}
        for each in self._after:
            open_ones = [job for job in each.after if states.get(job) is not JobState.DONE]
            if open_ones:
                failed = [job for job in open_ones if states.get(job) in _FAILED or _stuck(blocked.get(job))]
                code, named = ("after_failed", failed) if failed else ("after", open_ones)
                blocked[each.candidate.id] = Reason(code=code, params={"jobs": ", ".join(map(str, named))})
        return blocked


def _stuck(reason: Reason | None) -> bool:
    return reason is not None and reason.code == "after_failed"


def _alike(one: Reason, other: Reason) -> bool:
    """The same but for amounts."""
    return one.code == other.code and all(
        one.params.get(name) == value for name, value in other.params.items() if not isinstance(value, float | int)
    )
