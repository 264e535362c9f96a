# pyright: standard
"""From what the hooks noted, in order, to sums. The hooks only note, since a training's step leaves the caches cold."""

from __future__ import annotations

from . import tally as tallies

BEGIN, STEP, DRAWN, SCALED = range(4)
"""Kinds of notes. Each is a tuple whose first entries are kind, clock (s) and thread:

- ``BEGIN`` … id of the optimizer
- ``STEP`` … id of the optimizer, autograd's sequence number, whether the card was behind (None: not known)
- ``DRAWN`` … seconds waited, hidden part of it (s), processor seconds (None: not looked at), kind of draw, samples
- ``SCALED`` … clock as the scaler's step was entered
"""
OPENED, FIRST, BATCH, EVALUATION = range(4)
"""Kinds of draws: a loader's workers started, an epoch's first batch, any other, one without gradients."""
LOST_AFTER = 20
"""Steps of other optimizers after which the one that was counted is taken to be gone."""
STEPLESS = 50
"""Batches without any optimizer step after which batches are taken for steps: a compiled optimizer shows none."""
THREADS = 16
"""Threads whose waiting is kept apart; of more the oldest is forgotten."""


class Folding:
    """What must be known of the past to understand the next note."""

    def __init__(self) -> None:
        self.thread: int | None = None
        """The thread whose optimizer steps count."""
        self._waits: dict[int, tallies.Waits] = {}
        self._pace = tallies.Pace()
        self._counted: int | None = None
        self._outer: int | None = None
        self._begun_s: float | None = None
        self._ended_s: float | None = None
        self._strangers = 0
        self._stepped_s: float | None = None
        self._number = 0
        self._loading_cpu_s = 0.0
        self._stepless = 0
        self._drawn_s: dict[int, float] = {}

    def fold(self, notes: list, tally: tallies.Tally) -> None:
        """Add the notes to the sums."""
        for note in notes:
            kind = note[0]
            if kind == DRAWN:
                self._drawn(note, tally)
            elif kind == BEGIN:
                self._begin(note)
            elif kind == STEP:
                self._step(note, tally)
            else:
                self._scaled(note, tally)
        for thread in [each for each in self._waits if each != self.thread]:
            tally.unstepped(self._waits.pop(thread))

    def _begin(self, note: tuple) -> None:
        """An optimizer within another's step is no step of its own; without these notes the inner one's step counts."""
        if self._outer is None:
            self._outer, self._begun_s = note[3], note[1]

    def _step(self, note: tuple, tally: tallies.Tally) -> None:
        _, now, thread, optimizer, number, behind = note
        self._ended_s = now
        if self._outer is not None and self._outer != optimizer:
            self._strange()  # the outer one ends yet, unless it raised and never comes back
            return
        self._outer = None
        if self._counted is None:
            self._counted = optimizer
        if self._counted != optimizer:
            tally.others += 1
            self._strange()
            return
        self._strangers, self._stepless = 0, -1
        tally.seen += 1
        if behind is not None:
            tally.asked += 1
            tally.behind += behind
        waits = self._waits.pop(thread, None)
        if self._stepped_s is not None and thread == self.thread:
            self._interval(now - self._stepped_s, waits, max(0, number - self._number), tally)
        self._stepped_s, self.thread, self._number = now, thread, number

    def _strange(self) -> None:
        self._strangers += 1
        if self._strangers > LOST_AFTER:
            self._outer, self._counted, self._strangers = None, None, 0

    def _interval(self, seconds: float, waits: tallies.Waits | None, operations: int, tally: tallies.Tally) -> None:
        if waits is not None and (waits.evaluation or self._pace.held_evaluation(waits.batches)):
            tally.paused(seconds, waits)
            return
        tally.stepped(seconds, waits)
        tally.operations += operations

    def _drawn(self, note: tuple, tally: tallies.Tally) -> None:
        _, _, thread, waited, hidden, cpu, draw, samples = note
        self._outer = None  # nobody draws within a step: that one raised
        waits = self._waits.get(thread)
        if waits is None:
            while len(self._waits) >= THREADS:
                self._waits.pop(next(iter(self._waits)))
            waits = self._waits[thread] = tallies.Waits()
        waits.waited_s += waited
        waits.hidden_s += hidden
        if cpu is not None:
            self._loading_cpu_s = cpu
        if draw <= FIRST:
            waits.first_s += waited
        else:
            waits.cpu_s += self._loading_cpu_s
        if draw == EVALUATION:
            waits.evaluation += 1
        elif draw != OPENED:
            waits.batches += 1
            if samples is not None:
                waits.samples += samples
                tally.saw(samples)
            if self._stepless >= 0:
                self._instead_of_a_step(note, tally)

    def _instead_of_a_step(self, note: tuple, tally: tallies.Tally) -> None:
        """Where no optimizer is seen to step, a step lasts from batch to batch."""
        now, thread = note[1], note[2]
        self._stepless += 1
        before = self._drawn_s.get(thread)
        if len(self._drawn_s) < THREADS or thread in self._drawn_s:
            self._drawn_s[thread] = now
        waits = self._waits.pop(thread, None)
        if self._stepless > STEPLESS and before is not None:
            tally.seen += 1
            tally.by_batches = True
            self._interval(now - before, waits, 0, tally)
        elif waits is not None:
            tally.drawn(waits)

    def _scaled(self, note: tuple, tally: tallies.Tally) -> None:
        """The scaler's step has ended; where its optimizer did not step meanwhile, it was skipped."""
        entered = note[3]
        tally.scaled += 1
        if self._ended_s is None or self._ended_s < entered:
            tally.skipped += 1
        elif self._begun_s is not None and self._begun_s >= entered:
            tally.scaler_s += self._begun_s - entered
