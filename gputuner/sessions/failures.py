"""SQLite's and the file system's errors, translated once into ``StoreError`` with a code that has words."""

import errno
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from gputuner.model.errors import StoreError, StoreForbidden

_FULL = {errno.ENOSPC, errno.EDQUOT}
_READ_ONLY = {errno.EROFS, errno.EACCES, errno.EPERM}
_TEXTS = {
    "store_full": "the disk that holds {path} is full; free some space or choose another folder with --data-dir",
    "store_readonly": "{path} cannot be written (read-only folder or no permission); choose another folder with "
    "--data-dir",
    "store_busy": "{path} is in use by another program; try again when that has ended",
    "store_failed": "{path} could not be written or read: {message}",
    "session_malformed": "{path} is not a session of gputuner, or it is damaged: {message}",
}
_RECORDS = frozenset({"event_malformed", "record_malformed"})
"""What the codec says of a record, without knowing its file."""
_CODES: tuple[tuple[set[int], str], ...] = (
    ({sqlite3.SQLITE_FULL}, "store_full"),
    ({sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}, "store_readonly"),
    ({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}, "store_busy"),
    ({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT}, "session_malformed"),
)


def failure(code: str, path: Path, message: str = "") -> StoreError:
    """The error ``code`` (one of this module's) for a file."""
    kind = StoreForbidden if code == "store_readonly" else StoreError
    return kind(code, _TEXTS[code].format(path=path, message=message), path=str(path), message=message)


def of_sqlite(error: sqlite3.Error, path: Path) -> StoreError:
    """The store's word for an error of SQLite."""
    primary = getattr(error, "sqlite_errorcode", None)
    if primary is None:
        return failure(
            "session_malformed" if isinstance(error, sqlite3.DatabaseError) else "store_failed", path, str(error)
        )
    for codes, code in _CODES:
        if primary & 0xFF in codes:
            return failure(code, path, str(error))
    # "no such table/column": it is SQLite, but not what a session file holds
    code = "session_malformed" if primary & 0xFF == sqlite3.SQLITE_ERROR else "store_failed"
    return failure(code, path, str(error))


def of_system(error: OSError, path: Path) -> StoreError:
    """The store's word for an error of the operating system."""
    if error.errno in _FULL:
        return failure("store_full", path, str(error))
    if error.errno in _READ_ONLY:
        return failure("store_readonly", path, str(error))
    return failure("store_failed", path, error.strerror or str(error))


@contextmanager
def translated(path: Path) -> Generator[None, None, None]:
    """Turn errors of SQLite and of the operating system into ``StoreError`` while something is done with ``path``."""
    try:
        yield
    except sqlite3.Error as error:
        raise of_sqlite(error, path) from error
    except OSError as error:
        raise of_system(error, path) from error
    except StoreError as error:
        if error.code not in _RECORDS:
            raise
        raise StoreError("session_record", str(error), path=str(path), session=path.stem) from error
