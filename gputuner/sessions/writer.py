"""Writes the event stream of one run into its session file as it comes.

The file is in WAL mode with ``synchronous=FULL`` while the run lasts: readers in other processes see every commit, and
a power cut costs at most what came since the last one, under a second. After ``close`` it is one file without WAL.
"""

import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import RLock

from gputuner.model import codec
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.errors import StoreError
from gputuner.model.events import Event, RunFinished, RunStarted, TelemetrySampled
from gputuner.model.samples import Sample
from gputuner.sessions import schema
from gputuner.sessions.columns import POSITIONS, QUANTITY_COLUMNS, Cell, encode_missing, encode_values
from gputuner.sessions.facts import Facts, encode_facts
from gputuner.sessions.failures import of_sqlite, of_system
from gputuner.sessions.files import remove, session_file
from gputuner.sessions.lease import Lease
from gputuner.sessions.rollup import Rollups

COMMIT_EVERY_S = 0.8
"""Age at which a transaction is committed by the next call; with a call every 0.2 s nothing is older than a second."""

CHECKPOINT_PAGES = 256
"""WAL pages (1 MiB) after which they move into the main file, so that it never lies far behind."""


class SessionWriter:
    """One run's file. States: open → (failed →) closed.

    Every call may come from any thread. After an error every later ``write`` raises the same error; ``close`` always
    works and keeps what was committed. A file into which nothing was committed is removed again.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, lease: Lease, now: Callable[[], float]) -> None:
        """Use ``create``."""
        self.path = path
        self._connection = connection
        self._lease = lease
        self._now = now
        self._lock = RLock()
        self._rollups = Rollups(connection)
        self._cards: dict[str, int] = {}
        self._patterns: dict[frozenset[tuple[str, str]], int] = {}
        self._origin = Origin.MEASURED
        self._last_seq: int | None = None
        self._since: float | None = None
        self._kept = False
        self._error: StoreError | None = None
        self._closed = False
        marks = ", ".join("?" * (4 + len(QUANTITY_COLUMNS)))
        self._insert_sample = f"INSERT INTO samples VALUES ({marks})"

    @classmethod
    def create(cls, data_dir: Path, run_id: str, now: Callable[[], float] = time.monotonic) -> "SessionWriter":
        """A new session file ``<data_dir>/sessions/<run_id>.sqlite``; nothing is left behind if that fails.

        Args:
            data_dir: made if it is not there.
            run_id: unique; becomes the file's name.
            now: seconds on the clock that paces commits.

        Raises:
            StoreError: ``store_full``, ``store_readonly``, ``session_exists``, ``store_failed``.
        """
        path = session_file(data_dir, run_id)
        made = [folder for folder in (path.parent, *path.parent.parents) if not os.path.exists(folder)]
        lease: Lease | None = None
        connection: sqlite3.Connection | None = None
        ours = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
            ours = True
            lease = Lease(path)
            connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=5.0)
            schema.create(connection)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        except (OSError, sqlite3.Error) as error:
            if connection is not None:
                connection.close()
            if lease is not None:
                lease.release()
            if ours:
                remove(path)
            for folder in made:
                with suppress(OSError):
                    folder.rmdir()
            if isinstance(error, FileExistsError) and not ours:
                raise StoreError("session_exists", f"{path} is there already", path=str(path)) from error
            raise (of_sqlite(error, path) if isinstance(error, sqlite3.Error) else of_system(error, path)) from error
        return cls(path, connection, lease, now)

    def write(self, event: Event) -> None:
        """Keep one event. The start of a run is committed at once; its end also closes the file.

        Raises:
            StoreError: ``store_full``, ``store_readonly``, ``store_failed``, ``store_closed``, or
                ``store_out_of_order`` if ``seq`` does not grow.
        """
        with self._lock:
            self._check()
            if self._last_seq is not None and event.seq <= self._last_seq:
                raise StoreError("store_out_of_order", f"event {event.seq} came after {self._last_seq}", seq=event.seq)
            self._last_seq = event.seq
            try:
                self._begin()
                self._put(event)
                self._commit_if_due()
                if isinstance(event, RunStarted):
                    self._commit()
                    # So that even a copy without its WAL says which run it is
                    self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
            except sqlite3.Error as error:
                raise self._fail(error) from error
            if isinstance(event, RunFinished):
                self.close()

    def tick(self) -> None:
        """Commit if it is time; to be called now and then (5 Hz) when no events come.

        Raises:
            StoreError: as ``write``.
        """
        with self._lock:
            self._check()
            try:
                self._commit_if_due()
            except sqlite3.Error as error:
                raise self._fail(error) from error

    def flush(self) -> None:
        """Commit all that was written.

        Raises:
            StoreError: as ``write``.
        """
        with self._lock:
            self._check()
            try:
                self._commit()
            except sqlite3.Error as error:
                raise self._fail(error) from error

    def close(self) -> None:
        """Commit, move everything into the one file and let it go; idempotent, from any thread.

        Raises:
            StoreError: the last commit failed (the file is closed all the same).
        """
        with self._lock:
            if self._closed:
                return
            self._closed = True
            failed: StoreError | None = None
            try:
                if self._error is None:
                    self._commit()
            except sqlite3.Error as error:
                failed = self._fail(error)
            # A reader may hold the WAL, or the disk be full: then the file stays as it is, which also opens.
            with suppress(sqlite3.Error):
                self._connection.execute("PRAGMA busy_timeout = 200")
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                self._connection.execute("PRAGMA journal_mode = DELETE")
            self._connection.close()
            if not self._kept:
                remove(self.path)
            self._lease.release()
            if failed is not None:
                raise failed

    def _check(self) -> None:
        if self._error is not None:
            raise self._error
        if self._closed:
            raise StoreError("store_closed", f"{self.path} is closed", path=str(self.path))

    def _fail(self, error: sqlite3.Error) -> StoreError:
        self._error = of_sqlite(error, self.path)
        self._since = None
        with suppress(sqlite3.Error):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        return self._error

    def _begin(self) -> None:
        if self._since is None:
            self._connection.execute("BEGIN IMMEDIATE")
            self._since = self._now()

    def _commit_if_due(self) -> None:
        if self._since is not None and self._now() - self._since >= COMMIT_EVERY_S:
            self._commit()

    def _commit(self) -> None:
        if self._since is not None:
            self._rollups.flush()
            self._connection.execute("COMMIT")
            self._since = None
            self._kept = True

    def _put(self, event: Event) -> None:
        if isinstance(event, TelemetrySampled):
            self._put_tick(event)
            return
        if isinstance(event, RunStarted):
            self._origin = event.origin
            self._meet(event.cards)
        self._connection.execute(
            "INSERT INTO events VALUES (?, ?, ?, ?)", (event.seq, event.kind, event.t_ns, codec.encode(event).decode())
        )

    def _put_tick(self, event: TelemetrySampled) -> None:
        if len(event.samples) > POSITIONS:
            raise StoreError("store_failed", f"more than {POSITIONS} samples in one event", path=str(self.path))
        processes = codec.encode(event.processes).decode() if event.processes else None
        facts = encode_facts(Facts.of(event))
        self._meet(event.cards)
        self._connection.execute("INSERT INTO ticks VALUES (?, ?, ?, ?)", (event.seq, event.t_ns, processes, facts))
        first = event.seq * POSITIONS
        rows = [self._row(first + place, sample) for place, sample in enumerate(event.samples)]
        self._connection.executemany(self._insert_sample, rows)

    def _row(self, row_id: int, sample: Sample) -> list[Cell]:
        card = self._cards.get(sample.card) or self._card(sample.card, self._origin)
        cells = encode_values(sample.values)
        self._rollups.add(card, sample.t_ns, row_id, cells)
        return [row_id, card, sample.t_ns, self._pattern(sample), *cells]

    def _meet(self, cards: tuple[CardInfo, ...]) -> None:
        for card in cards:
            if card.uuid not in self._cards:
                self._card(card.uuid, card.origin)

    def _card(self, uuid: str, origin: Origin) -> int:
        number = len(self._cards) + 1
        self._connection.execute("INSERT INTO cards VALUES (?, ?, ?)", (number, uuid, str(origin)))
        self._cards[uuid] = number
        return number

    def _pattern(self, sample: Sample) -> int | None:
        if not sample.missing:
            return None
        key = frozenset(sample.missing.items())
        number = self._patterns.get(key)
        if number is None:
            number = len(self._patterns) + 1
            self._connection.execute("INSERT INTO patterns VALUES (?, ?)", (number, encode_missing(sample.missing)))
            self._patterns[key] = number
        return number
