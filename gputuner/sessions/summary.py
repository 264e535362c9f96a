"""What the list of sessions shows of one, read without its telemetry."""

import os
import sqlite3
from dataclasses import dataclass, replace
from pathlib import Path

from gputuner.model import codec
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.errors import StoreError
from gputuner.model.events import Outcome, RunFinished, RunStarted
from gputuner.model.steps import told_spec
from gputuner.sessions.files import companions


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    """One stored session. ``outcome`` is None while it runs and if it never ended (``kill -9``, power cut)."""

    run_id: str
    path: Path
    experiment: str
    started_unix_s: float
    duration_s: float
    outcome: Outcome | None
    running: bool
    origin: Origin
    source: str = "nvml"
    """Who read the telemetry."""
    cards: tuple[CardInfo, ...]
    """The cards of the run as it found them, in its order."""
    point_count: int
    advice_count: int
    size_bytes: int
    """Of the file and what SQLite keeps beside it."""

    @property
    def simulated(self) -> bool:
        """True if the numbers come from a model, not a card."""
        return self.origin is Origin.SIMULATED


def read_started(connection: sqlite3.Connection, path: Path) -> RunStarted:
    """The start of the run.

    Raises:
        StoreError: ``session_empty`` if the file holds none.
    """
    event = _one(connection, "run_started", "ASC")
    if not isinstance(event, RunStarted):
        raise StoreError("session_empty", f"{path} holds no run", path=str(path))
    return told(event)


def told(event: RunStarted) -> RunStarted:
    """The same start; sessions of old also kept where a recipe lies, which is told no more."""
    return replace(event, spec=told_spec(event.spec))


def read_finished(connection: sqlite3.Connection) -> RunFinished | None:
    """The end of the run, or None if it has not ended or was cut off."""
    event = _one(connection, "run_finished", "DESC")
    return event if isinstance(event, RunFinished) else None


def read_end_ns(connection: sqlite3.Connection) -> int | None:
    """Time of the last event in nanoseconds on the run's clock; None for an empty file."""
    found = [
        connection.execute(f"SELECT t_ns FROM {table} ORDER BY seq DESC LIMIT 1").fetchone()
        for table in ("events", "ticks")
    ]
    return max((row[0] for row in found if row), default=None)


def summarise(connection: sqlite3.Connection, path: Path, running: bool) -> SessionSummary:
    """The summary of an open session.

    Raises:
        StoreError: the file holds no run or is damaged.
    """
    started = read_started(connection, path)
    finished = read_finished(connection)
    end_ns = read_end_ns(connection)
    points = connection.execute("SELECT count(*) FROM events WHERE kind = 'point_measured'").fetchone()[0]
    advice = connection.execute(
        "SELECT count(DISTINCT json_extract(a.value, '$.card') || ' ' || json_extract(a.value, '$.id')) "
        "FROM events, json_each(events.json, '$.advice') AS a WHERE events.kind = 'advice_given'"
    ).fetchone()[0]
    return SessionSummary(
        run_id=started.run_id,
        path=path,
        experiment=started.experiment,
        started_unix_s=started.unix_s,
        duration_s=max(0.0, (end_ns - started.t_ns) / 1e9) if end_ns is not None else 0.0,
        outcome=finished.outcome if finished else None,
        running=running,
        origin=started.origin,
        source=started.source,
        cards=started.cards,
        point_count=points,
        advice_count=advice,
        size_bytes=sum(file.stat().st_size for file in (path, *companions(path)) if os.path.exists(file)),
    )


def _one(connection: sqlite3.Connection, kind: str, order: str) -> object:
    row = connection.execute(f"SELECT json FROM events WHERE kind = ? ORDER BY seq {order} LIMIT 1", (kind,)).fetchone()
    return codec.decode_event(row[0].encode()) if row else None
