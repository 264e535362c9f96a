"""Serves a queue: looks at what runs, gives waiting jobs their cards, and sends for their supervisors.

All that must outlive the runner stands in the database and in the supervisors, so it may be killed at any time; the
next one goes on where it was. One round: settle what was placed → take leave of what has ended → look at the cards →
place.
"""

import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from gputuner.analysis.placement import Limits, decide
from gputuner.analysis.placement_pairs import Pairs
from gputuner.jobs import snapshot
from gputuner.jobs.opening import translated
from gputuner.jobs.placed import Placed, read_placed, rerun_interrupted, settle, try_again
from gputuner.jobs.recovery import PATIENCE_S, Recovery
from gputuner.jobs.rooms import Look, RoomKeeper
from gputuner.jobs.seeing import Cards
from gputuner.jobs.starting import Starter
from gputuner.jobs.store import JobStore
from gputuner.jobs.waiting import WaitingLine
from gputuner.model.errors import StoreError
from gputuner.model.jobs import Job, JobState, NoteKind, Reason, RunnerNote
from gputuner.model.readings import Scalar

POLL_S = 0.1
"""How often it looks whether anybody has written to the queue."""
ROUND_S = 1.0
"""How often it looks at the cards, at least."""
GROWN_BYTES = 64 * 2**20
GROWN_SHARE = 0.02
"""A job is told to have grown when it holds so much more than is kept for it."""
_TOLD_PEAK_BYTES = 16 * 2**20
Tell = Callable[[RunnerNote], None]


class Runner:
    """Serves one queue from one thread."""

    def __init__(
        self,
        data_dir: Path,
        cards: Cards,
        child: Sequence[str],
        *,
        limits: Limits | None = None,
        pairs: Callable[[], Mapping[str, Pairs]] = dict,
        tell: Tell = lambda note: None,
        patience_s: float = PATIENCE_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Open the queue; nothing starts yet.

        Args:
            data_dir: whose queue.
            cards: the cards to place on.
            child: how this program starts a child of itself.
            limits: what the user allows.
            pairs: measured slowdowns by card, asked for now and then.
            tell: gets every note, in this thread.
            patience_s: so long memory of a failed job may stay away before the card is told to be paused.
            clock: seconds that only go forward.

        Raises:
            StoreError: the queue cannot be opened.
        """
        self.store = JobStore(data_dir)
        self._limits = limits or Limits()
        self._pairs = pairs
        self._tell = tell
        self._clock = clock
        self._recovery = Recovery(patience_s)
        self._rooms = RoomKeeper(cards, self._recovery, clock)
        self._starter = Starter(child, data_dir)
        self._line = WaitingLine(self.store)
        self._placed: dict[str, Placed] = {}
        self._grown: set[str] = set()
        self._paused: dict[str, Reason] = {}
        self._head: tuple[int, str] | None = None
        self._version: int | None = None
        self._full = False
        self.failed: list[int] = []
        """Jobs that failed or timed out for good while this runner served."""

    def close(self) -> None:
        """Leave the jobs that run to their supervisors, and close the queue; idempotent."""
        self._starter.leave()
        self.store.close()

    def jobs_on(self, card: str) -> tuple[int, ...]:
        """The jobs that hold a place on a card, by its UUID; from any thread."""
        return tuple(placed.job for placed in tuple(self._placed.values()) if card in placed.cards)

    def serve(self, stop: threading.Event, *, until_empty: bool = False) -> None:
        """Serve until ``stop``, or (``until_empty``) until nothing runs and nothing that waits can start any more.

        Raises:
            StoreError: the queue cannot be read any more.
        """
        self._resume()
        due = 0.0
        while not stop.is_set():
            now = time.monotonic()
            if now >= due or self._touched():
                again = self.round()
                due = now if again else now + ROUND_S
                if until_empty and not self._placed and self._line.only_stuck:
                    return
            stop.wait(POLL_S)

    def _resume(self) -> None:
        """Let those wait again that a reboot ended, or that failed while nobody served."""
        for placed in read_placed(self.store):
            self._placed[placed.ticket] = placed
        for job in self.store.jobs("WHERE state = 'failed' AND failures <= retries"):
            if try_again(self.store, job.id):
                self._note(NoteKind.TRIED_AGAIN, job.id)
        self._settle()
        for job_id in rerun_interrupted(self.store):
            self._note(NoteKind.TRIED_AGAIN, job_id)

    def round(self) -> bool:
        """One round; True if something ended or started, so that another is worth its while at once."""
        try:
            with translated(self.store.path):
                again = self._round()
        except StoreError as error:
            if error.code not in ("store_busy", "store_full"):
                raise
            if error.code == "store_full" and not self._full:
                self._full = True
                self._note(NoteKind.PAUSED, None, Reason(code="disk_full", params={"path": str(self.store.path)}))
            return False  # others write, or space is short: nothing is lost by waiting
        self._full = False
        return again

    def _touched(self) -> bool:
        with suppress(sqlite3.Error):
            version = int(self.store.connection.execute("PRAGMA data_version").fetchone()[0])
            changed, self._version = version != self._version, version
            return changed
        return False

    def _round(self) -> bool:
        settled = self._settle()
        ended = self._take_leave()
        look = self._rooms.look(tuple(self._placed.values()))
        self._note_use(look)
        self._note_pauses(look)
        for job in self._line.overdue():
            self._give_up(job)
        started = self._place(look)
        if started:
            look = self._rooms.look(tuple(self._placed.values()))
        snapshot.keep(self.store, look.rooms)
        return settled or ended or started

    def _settle(self) -> bool:
        """See what has become of the jobs that hold places; those of an earlier runner are adopted by this."""
        changed = False
        for placed in read_placed(self.store):
            ours = self._starter.sent_for(placed.ticket)
            changed |= settle(
                self.store, placed, ours=ours, supervisor_ended=ours and self._starter.ended(placed.ticket)
            )
        return changed

    def _take_leave(self) -> bool:
        """Note which jobs have lost their places since the last round, and let failed ones be tried again."""
        now = {placed.ticket: placed for placed in read_placed(self.store)}
        self._starter.reap(frozenset(now))
        gone = [placed for ticket, placed in self._placed.items() if ticket not in now]
        self._placed = now
        for placed in gone:
            job = self.store.job(placed.job)
            well = job.state is JobState.DONE
            self._recovery.ended(placed.ticket, placed.job, placed.cards, well=well, now=self._clock())
            self._grown.discard(placed.ticket)
            if job.state is JobState.WAITING:
                continue  # nobody had claimed the start
            self._note(NoteKind.INTERRUPTED if job.state is JobState.INTERRUPTED else NoteKind.ENDED, job)
            if job.state is JobState.FAILED and try_again(self.store, job.id):
                self._note(NoteKind.TRIED_AGAIN, job.id)
            elif job.state in (JobState.FAILED, JobState.TIMED_OUT):
                self.failed.append(job.id)
        return bool(gone)

    def _note_use(self, look: Look) -> None:
        """Write down what jobs hold, and tell of those that have outgrown what is kept for them."""
        changed: list[tuple[int, int, str]] = []
        for ticket, placed in self._placed.items():
            used = look.used.get(placed.job)
            if used is None:
                continue
            peak = max(used, placed.peak_bytes or 0)
            if abs(used - (placed.used_bytes or 0)) >= _TOLD_PEAK_BYTES or peak > (placed.peak_bytes or 0):
                changed.append((used, peak, ticket))
            kept = placed.reserved_bytes
            grown = kept is not None and peak > kept + max(GROWN_BYTES, int(GROWN_SHARE * kept))
            if kept is not None and grown and ticket not in self._grown:
                self._grown.add(ticket)
                params: dict[str, Scalar] = {"kept_bytes": kept, "used_bytes": peak}
                self._note(NoteKind.GREW, placed.job, Reason(code="grown", params=params))
        if changed:
            with self.store.writing() as connection:
                connection.executemany(
                    "UPDATE jobs SET used_bytes = ?, peak_bytes = ? WHERE ticket = ? AND state = 'running'", changed
                )

    def _note_pauses(self, look: Look) -> None:
        paused = {
            room.uuid: room.paused for room in look.rooms if room.paused and room.paused.code == "memory_not_back"
        }
        for uuid, reason in paused.items():
            if uuid not in self._paused:
                self._note(NoteKind.PAUSED, None, reason)
        for uuid, reason in self._paused.items():
            if uuid not in paused:
                self._note(NoteKind.RESUMED, None, reason)
        self._paused = paused

    def _give_up(self, job: int) -> None:
        reason = '{"code": "waited_too_long", "params": {}}'
        with self.store.writing() as connection:
            changed = connection.execute(
                "UPDATE jobs SET state = 'cancelled', ended = ?, reason = ? WHERE id = ? AND state = 'waiting'",
                (time.time(), reason, job),
            ).rowcount
        if changed:
            self._note(NoteKind.GIVEN_UP, job)

    def _place(self, look: Look) -> bool:
        line = self._line.line()
        if not self._line.count:
            return False
        decision = decide(line, look.rooms, self._pairs(), self._limits)
        self._line.tell(decision.reasons.items())
        placed = self._starter.place(self.store, decision.placements)
        if placed:
            self._line.left(frozenset(placement.job for placement, _ticket in placed))
        for placement, ticket in placed:
            for uuid in placement.cards:
                self._recovery.started(ticket, uuid, look.memory.get(uuid))
            self._starter.send(placement.job, ticket)
            self._note(NoteKind.STARTED, placement.job)
        self._note_head(decision.reasons)
        if decision.placements:
            self._placed = {placed.ticket: placed for placed in read_placed(self.store)}
        return bool(decision.placements)

    def _note_head(self, reasons: Mapping[int, Reason]) -> None:
        """Tell why the first of the line waits, when that changes."""
        head = next(iter(reasons.items()), None)
        told = None if head is None else (head[0], head[1].code)
        if head is not None and told != self._head:
            self._note(NoteKind.WAITS, head[0], head[1])
        self._head = told

    def _note(self, kind: NoteKind, job: Job | int | None, reason: Reason | None = None) -> None:
        found = self.store.job(job) if isinstance(job, int) else job
        self._tell(RunnerNote(kind=kind, job=found, reason=reason))
