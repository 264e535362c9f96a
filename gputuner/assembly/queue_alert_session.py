"""The session that alerts of the queue make: they, and the telemetry around them. Without one nothing is stored."""

import time
from collections import deque
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

from gputuner.engine.fingerprints import fingerprint
from gputuner.experiments.record import Record
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.codec import to_builtins
from gputuner.model.events import ClockKind, Event, Outcome, RunFinished, RunStarted, TelemetrySampled
from gputuner.model.fingerprint import HostFingerprint
from gputuner.sessions.writer import SessionWriter
from gputuner.telemetry.feed import Feed, Tick

NS = 1_000_000_000
AROUND_NS = 60 * NS
"""So much telemetry is kept before the first alert and after the last has ended."""
MOST_NS = 600 * NS
"""So long after the newest alert telemetry is kept, though it still stands: one of days fills no disk."""


class AlertSession:
    """States: *waiting* (a minute of telemetry is remembered) → *open* at an alert → *waiting*, a minute after all."""

    def __init__(self, create: Callable[[], SessionWriter], host: Callable[[], HostFingerprint], feed: Feed) -> None:
        """Store nothing yet; ``create`` makes the file."""
        self._create, self._host, self._feed = create, host, feed
        self._recent: deque[Tick] = deque()
        self._writer: SessionWriter | None = None
        self._seq = 0
        self._last_ns = 0
        """When something was told last."""

    @property
    def run_id(self) -> str:
        """The session that is open; empty while there is none."""
        return "" if self._writer is None else self._writer.path.stem

    def take(self, tick: Tick, cards: Mapping[str, CardInfo], *, standing: bool) -> None:
        """Keep or remember a tick of ``cards``; ``standing``: an alert that was told is not over yet.

        Raises:
            StoreError: it cannot be kept.
        """
        if self._writer is None:
            self._recent.append(tick)
            while tick.t_ns - self._recent[0].t_ns > AROUND_NS:
                self._recent.popleft()
            return
        if tick.t_ns - self._last_ns <= (MOST_NS if standing else AROUND_NS):
            self._sample(tick, cards)
        elif not standing:
            self.close()

    def tell(self, kind: type[Any], t_ns: int, fields: Mapping[str, object], cards: Mapping[str, CardInfo]) -> None:
        """Keep an alert, or what is said of it; opens the session.

        Raises:
            StoreError: it cannot be kept.
        """
        if self._writer is None:
            self._open(t_ns, cards)
        self._last_ns = t_ns
        self._write(kind, t_ns, **fields)
        if self._writer is not None:
            self._writer.flush()

    def close(self) -> None:
        """Finish the session, if one is open; idempotent.

        Raises:
            StoreError: it cannot be kept.
        """
        if self._writer is not None:
            self._write(RunFinished, time.monotonic_ns(), outcome=Outcome.COMPLETED, exit_code=0)
            self.drop()

    def drop(self) -> None:
        """Let the file go as it is."""
        writer, self._writer = self._writer, None
        self._recent.clear()
        if writer is not None:
            writer.close()

    def _open(self, t_ns: int, cards: Mapping[str, CardInfo]) -> None:
        begins_ns = min([t_ns, *(tick.t_ns for tick in self._recent)])
        chosen = tuple(cards.values())
        origin = chosen[0].origin
        found = fingerprint(self._host(), tuple((card, self._feed.processes(card.uuid)) for card in chosen), None)
        self._writer, self._seq = self._create(), 0
        self._write(
            RunStarted,
            begins_ns,
            experiment=Record.name,
            spec=to_builtins(Record()),
            fingerprint=found,
            cards=chosen,
            clock=ClockKind.WALL,
            origin=origin,
            source="simulated" if origin is Origin.SIMULATED else "host" if chosen[0].is_cpu else "nvml",
            unix_s=time.time() - (time.monotonic_ns() - begins_ns) / NS,
            version=version("gputuner"),
        )
        while self._recent:
            self._sample(self._recent.popleft(), cards)

    def _sample(self, tick: Tick, cards: Mapping[str, CardInfo]) -> None:
        self._write(
            TelemetrySampled,
            tick.t_ns,
            samples=tuple(sample for sample in tick.samples if sample.card in cards),
            processes=tuple(table for table in tick.processes if table.card in cards),
            gaps=tuple(gap for gap in tick.gaps if gap.card is None or gap.card in cards),
            xids=tuple(xid for xid in tick.xids if xid.card in cards),
            cards=tuple(card for card in tick.cards if card.uuid in cards),
        )

    def _write(self, kind: type[Any], t_ns: int, **fields: object) -> None:
        assert self._writer is not None
        self._seq += 1
        event: Event = kind(run_id=self.run_id, seq=self._seq, t_ns=t_ns, **fields)
        self._writer.write(event)
