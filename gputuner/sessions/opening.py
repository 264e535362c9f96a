"""Opens a session file for reading, wherever it lies and however its writer ended.

A file whose writer is gone (``kill -9``, power cut) still has its WAL beside it; SQLite needs to write a little to
read that. On read-only media it is opened as immutable instead: what never left the WAL is not seen, and the reader
says so (note ``session_tail_missing``).
"""

import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from gputuner.model.errors import StoreError
from gputuner.sessions import schema
from gputuner.sessions.failures import failure, of_sqlite, translated
from gputuner.sessions.files import companions
from gputuner.sessions.lease import is_running
from gputuner.sessions.migrations import STEPS, check_version, upgrade, version_of

TAIL_MISSING = "session_tail_missing"
"""Note: the file is unfinished and on read-only media; its last seconds could not be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A connection for reading, and what a reader should be told of it (a code, or None)."""

    connection: sqlite3.Connection
    note: str | None = None


def _connect(path: Path, query: str) -> sqlite3.Connection:
    uri = f"file:{quote(str(path.resolve()))}?{query}"
    return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=5.0)


def _probe(connection: sqlite3.Connection) -> int:
    """The file's application id; touches the file, so that trouble shows here."""
    connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return int(connection.execute("PRAGMA application_id").fetchone()[0])


def _open(path: Path) -> tuple[sqlite3.Connection, int, str | None]:
    connection = _connect(path, "mode=ro")
    try:
        return connection, _probe(connection), None
    except sqlite3.OperationalError as error:
        connection.close()
        if (error.sqlite_errorcode & 0xFF) not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            raise
    connection = _connect(path, "mode=ro&immutable=1")
    wal = companions(path)[0]
    note = TAIL_MISSING if os.path.exists(wal) and wal.stat().st_size > 0 else None
    try:
        return connection, _probe(connection), note
    except sqlite3.Error:
        connection.close()
        raise


def open_session(path: Path) -> Opened:
    """A connection to read the session in ``path``; an older file is brought to this version first.

    Raises:
        StoreError: ``file_not_found``, ``file_unreadable``, ``session_malformed`` (also: not a session at all),
            ``session_newer``, ``session_too_old``.
    """
    try:
        with path.open("rb"):
            pass
    except FileNotFoundError as error:
        raise StoreError("file_not_found", f"there is no file {path}", path=str(path)) from error
    except OSError as error:
        raise StoreError(
            "file_unreadable", f"{path} cannot be read: {error.strerror}", path=str(path), message=str(error.strerror)
        ) from error
    with translated(path):
        connection, application, note = _open(path)
    try:
        if application != schema.APPLICATION_ID:
            raise failure("session_malformed", path, "not written by gputuner")
        version = version_of(connection)
        check_version(path, version)
        if version < schema.VERSION:
            connection.close()
            _upgrade(path)
            return open_session(path)
    except BaseException:
        connection.close()
        raise
    return Opened(connection=connection, note=note)


def _upgrade(path: Path) -> None:
    if is_running(path):
        raise failure("store_busy", path)
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        upgrade(connection, path, STEPS)
    except sqlite3.Error as error:
        raise of_sqlite(error, path) from error
    finally:
        connection.close()
