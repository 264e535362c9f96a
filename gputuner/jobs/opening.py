"""Opens the queue of a data folder: private to its user, brought to this version, and errors in the store's words."""

import os
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from gputuner.jobs.claims import BUSY_S, LOGS, connect, database
from gputuner.jobs.schema import APPLICATION_ID, NewerQueue, bring_up
from gputuner.model.errors import StoreError
from gputuner.sessions.failures import of_sqlite, of_system

_BUSY = "store_busy"


@contextmanager
def translated(path: Path) -> Generator[None]:
    """Turn errors of SQLite and of the system into ``StoreError``.

    Raises:
        StoreError: ``store_full``, ``store_readonly``, ``store_busy``, ``store_failed``, ``queue_malformed``,
            ``queue_newer``.
    """
    try:
        yield
    except NewerQueue as error:
        raise StoreError("queue_newer", f"{path} was written by a newer gputuner", path=str(path)) from error
    except sqlite3.Error as error:
        found = of_sqlite(error, path)
        if found.code == "session_malformed":
            raise StoreError("queue_malformed", f"{path}: {error}", path=str(path), message=str(error)) from error
        raise found from error
    except OSError as error:
        raise of_system(error, path) from error


def open_queue(data_dir: Path) -> sqlite3.Connection:
    """A connection to the queue, which is made where there is none.

    Raises:
        StoreError: as ``translated``.
    """
    path = database(data_dir)
    with translated(path):
        if not path.exists():
            _make(path)
        connection = connect(path)
        try:
            connection.row_factory = sqlite3.Row
            connection.execute(f"PRAGMA busy_timeout = {int(BUSY_S * 1000)}")
            application = int(connection.execute("PRAGMA application_id").fetchone()[0])
            if application not in (0, APPLICATION_ID):
                raise StoreError("queue_malformed", f"{path} is no queue", path=str(path), message="")
            if application == 0:
                connection.execute("PRAGMA journal_mode = WAL")
            bring_up(connection)
        except BaseException:
            connection.close()
            raise
    return connection


def exists(data_dir: Path) -> bool:
    """Whether the folder has a queue."""
    return database(data_dir).is_file()


def _make(path: Path) -> None:
    """An empty file that only its user can read: the environments of jobs hold secrets. Its journals follow it."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    (path.parent / LOGS).mkdir(exist_ok=True, mode=0o700)
    with suppress(OSError):
        path.parent.chmod(0o700)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
