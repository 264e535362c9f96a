"""Gives a session back: the stream as it was, and the views of it that front ends ask for.

No statement stays open between two calls or two yielded events, so a reader never holds up the writer's checkpoints.
"""

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from gputuner.analysis.faulty import marked
from gputuner.model import codec
from gputuner.model.advice import Advice, Question
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.events import (
    AdviceGiven,
    AlertCleared,
    AlertRaised,
    CommandEnded,
    Event,
    PointMeasured,
    RunFinished,
    RunStarted,
    TelemetrySampled,
    TorchFound,
    Warned,
)
from gputuner.model.fingerprint import TorchFingerprint
from gputuner.model.points import Point
from gputuner.model.quantities import Quantity
from gputuner.model.samples import Gap, Sample, XidSeen
from gputuner.sessions.columns import POSITIONS, QUANTITY_COLUMNS, Missing, decode_missing, decode_sample
from gputuner.sessions.facts import Facts, decode_facts, decode_processes
from gputuner.sessions.failures import translated
from gputuner.sessions.lease import is_running
from gputuner.sessions.opening import open_session
from gputuner.sessions.rollup import NS
from gputuner.sessions.series import Series, Window, empty_series, read
from gputuner.sessions.summary import SessionSummary, read_end_ns, read_finished, read_started, summarise, told

PAGE = 500
"""Rows of the stream fetched at a time."""

_TELEMETRY = "telemetry_sampled"


class SessionReader:
    """An open session file; also while it is being written, and then each call sees what is committed by then.

    Use as a context manager or call ``close``. May be used from any thread, by one at a time.
    """

    def __init__(self, path: Path) -> None:
        """Open ``path`` for reading.

        Raises:
            StoreError: as ``opening.open_session``, or ``session_empty`` if it holds no run.
        """
        self.path = path
        opened = open_session(path)
        self._connection = opened.connection
        self.note = opened.note
        """Code of what a reader should be told (``session_tail_missing``), or None."""
        try:
            with translated(path):
                self.started: RunStarted = read_started(self._connection, path)
                """The start of the run (spec, fingerprint, cards, origin)."""
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self) -> "SessionReader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the file go; idempotent."""
        self._connection.close()

    @property
    def connection(self) -> sqlite3.Connection:
        """The open database, for this room's own modules."""
        return self._connection

    @property
    def origin(self) -> Origin:
        """Whether the numbers were measured, simulated or replayed."""
        return self.started.origin

    @property
    def source(self) -> str:
        """Who read the telemetry."""
        return self.started.source

    @property
    def finished(self) -> RunFinished | None:
        """The end of the run, or None if it runs still or was cut off."""
        with translated(self.path):
            return read_finished(self._connection)

    def summary(self) -> SessionSummary:
        """What the list of sessions shows.

        Raises:
            StoreError: the file is damaged.
        """
        with translated(self.path):
            return summarise(self._connection, self.path, is_running(self.path))

    def end_ns(self) -> int:
        """Time of the last event (ns on the run's clock)."""
        with translated(self.path):
            end = read_end_ns(self._connection)
        return self.started.t_ns if end is None else end

    def events(self, kinds: Collection[str] | None = None, after_seq: int | None = None) -> Iterator[Event]:
        """The stream in its order, telemetry rebuilt; up to what is committed when the iteration begins.

        Args:
            kinds: only these (``point_measured`` …); None: all.
            after_seq: only what came after this place in the stream.

        Raises:
            StoreError: the file is damaged.
        """
        with translated(self.path):
            last = self._last_seq()
        begin = -(2**62) if after_seq is None else after_seq
        others = [kind for kind in codec.KINDS if kind != _TELEMETRY and (kinds is None or kind in kinds)]
        telemetry = kinds is None or _TELEMETRY in kinds
        while telemetry:
            with translated(self.path):
                ticks = self._fetch(
                    "SELECT * FROM ticks WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?", begin, last, PAGE
                )
                if not ticks:
                    break
                page: list[Event] = [*self._rebuild(ticks), *self._kept(others, begin, ticks[-1][0])]
            yield from sorted(page, key=lambda event: event.seq)
            begin = ticks[-1][0]
        with translated(self.path):
            rest = self._kept(others, begin, last)
        yield from rest

    def cards(self) -> tuple[CardInfo, ...]:
        """Every card as last told, in the order of the run."""
        found = {card.uuid: card for card in self.started.cards}
        for facts in self._facts():
            found.update({card.uuid: card for card in facts.cards})
        return tuple(found.values())

    def gaps(self) -> tuple[Gap, ...]:
        """All gaps in the telemetry, in the order they were told."""
        return tuple(gap for facts in self._facts() for gap in facts.gaps)

    def xids(self) -> tuple[XidSeen, ...]:
        """All XID errors, in the order they were seen."""
        return tuple(xid for facts in self._facts() for xid in facts.xids)

    def torch(self) -> TorchFingerprint | None:
        """The torch that was measured; None where none was asked, or the run ended before it answered."""
        return next((e.torch for e in self.events({"torch_found"}) if isinstance(e, TorchFound)), None)

    def points(self) -> tuple[Point, ...]:
        """All figures, in the order they were measured; those above what the card can do are flagged, however old."""
        return marked(e.point for e in self.events({"point_measured"}) if isinstance(e, PointMeasured))

    def advice(self) -> tuple[tuple[Advice, ...], tuple[Question, ...]]:
        """All advice, best first, and all questions left to measure; of a rule that spoke twice of a card the later."""
        advices: list[Advice] = []
        questions: dict[tuple[str, str], Question] = {}
        for event in self.events({"advice_given"}):
            if isinstance(event, AdviceGiven):
                again = {(advice.card, advice.id) for advice in event.advice}
                advices = [*(advice for advice in advices if (advice.card, advice.id) not in again), *event.advice]
                questions.update({(question.card, question.id): question for question in event.questions})
        return tuple(sorted(advices, key=lambda advice: -advice.rank)), tuple(questions.values())

    def warnings(self) -> tuple[Warned, ...]:
        """All warnings, in order."""
        return tuple(event for event in self.events({"warned"}) if isinstance(event, Warned))

    def alerts(self) -> tuple[AlertRaised | AlertCleared, ...]:
        """What the user's alerts told, in order."""
        found = self.events({"alert_raised", "alert_cleared"})
        return tuple(event for event in found if isinstance(event, (AlertRaised, AlertCleared)))

    def command_ended(self) -> CommandEnded | None:
        """What was seen of the command that was watched; None where none was, or its end was not seen."""
        return next((e for e in self.events({"command_ended"}) if isinstance(e, CommandEnded)), None)

    def series(
        self,
        card: str,
        quantity: str,
        t0_ns: int | None = None,
        t1_ns: int | None = None,
        at_most_points: int = 1000,
    ) -> Series:
        """One quantity (a ``Quantity``) of one card over time; see ``overview``. An unknown card has no points."""
        wanted = Quantity(quantity)
        return self.overview((wanted,), (card,), t0_ns, t1_ns, at_most_points).get((card, wanted), empty_series())

    def overview(
        self,
        quantities: Sequence[Quantity],
        cards: Collection[str] | None = None,
        t0_ns: int | None = None,
        t1_ns: int | None = None,
        at_most_points: int = 1000,
    ) -> dict[tuple[str, Quantity], Series]:
        """Series of several quantities and cards in one pass.

        Args:
            quantities: which (at least one).
            cards: UUIDs; None: all.
            t0_ns: begin of the window (ns on the run's clock); None: begin of the session.
            t1_ns: its end, included; None: end of the session.
            at_most_points: per series (2 or more); raw rows if they are no more than this, else roll-ups.

        Raises:
            StoreError: the file is damaged.
        """
        with translated(self.path):
            numbers = {
                n: uuid for n, uuid in self._fetch("SELECT id, uuid FROM cards") if cards is None or uuid in cards
            }
            low, high = self._span()
            window = Window(
                cards=numbers,
                quantities=tuple(quantities),
                t0_ns=low if t0_ns is None else t0_ns,
                t1_ns=high if t1_ns is None else t1_ns,
                at_most_points=max(2, at_most_points),
            )
            return read(self._connection, window, self.gaps(), self._patterns())

    def _span(self) -> tuple[int, int]:
        """The run from its first to its last second that has samples or events."""
        first, last = self._fetch("SELECT (SELECT min(id) FROM rollup_1s), (SELECT max(id) FROM rollup_1s)")[0]
        start, end = self.started.t_ns, self.end_ns()
        if first is None:
            return start, end
        return min(start, first // POSITIONS * NS), max(end, (last // POSITIONS + 1) * NS - 1)

    def _fetch(self, sql: str, *parameters: int | str) -> list[Any]:
        return self._connection.execute(sql, parameters).fetchall()

    def _last_seq(self) -> int:
        found = self._fetch("SELECT max(seq) FROM events UNION ALL SELECT max(seq) FROM ticks")
        return max((row[0] for row in found if row[0] is not None), default=-(2**62))

    def _kept(self, kinds: list[str], after: int, up_to: int) -> list[Event]:
        marks = ", ".join("?" * len(kinds))
        rows = self._fetch(
            f"SELECT json FROM events WHERE seq > ? AND seq <= ? AND kind IN ({marks}) ORDER BY seq",
            after,
            up_to,
            *kinds,
        )
        found = [codec.decode_event(row[0].encode()) for row in rows]
        return [told(event) if isinstance(event, RunStarted) else event for event in found]

    def _patterns(self) -> dict[int, Missing]:
        return {number: decode_missing(text) for number, text in self._fetch("SELECT id, missing FROM patterns")}

    def _facts(self) -> list[Facts]:
        with translated(self.path):
            rows = self._fetch("SELECT facts FROM ticks WHERE facts IS NOT NULL ORDER BY seq")
            return [decode_facts(row[0]) for row in rows]

    def _rebuild(self, ticks: list[Any]) -> list[TelemetrySampled]:
        cards = dict(self._fetch("SELECT id, uuid FROM cards"))
        patterns = self._patterns()
        first, last = ticks[0][0] * POSITIONS, ticks[-1][0] * POSITIONS + POSITIONS - 1
        columns = ", ".join(QUANTITY_COLUMNS)
        rows = self._fetch(
            f"SELECT id, card, t_ns, pattern, {columns} FROM samples WHERE id BETWEEN ? AND ?", first, last
        )
        samples: dict[int, list[Sample]] = {tick[0]: [] for tick in ticks}
        for row_id, card, t_ns, pattern, *cells in rows:
            samples[row_id // POSITIONS].append(decode_sample(cards[card], t_ns, tuple(cells), patterns.get(pattern)))
        return [self._tick(tick, tuple(samples[tick[0]])) for tick in ticks]

    def _tick(self, tick: Any, samples: tuple[Sample, ...]) -> TelemetrySampled:
        seq, t_ns, processes, text = tick
        facts = decode_facts(text)
        return TelemetrySampled(
            run_id=self.started.run_id,
            seq=seq,
            t_ns=t_ns,
            samples=samples,
            processes=decode_processes(processes),
            gaps=facts.gaps,
            xids=facts.xids,
            cards=facts.cards,
        )
