"""Older session files brought to the present version, one step per version, all or nothing."""

import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path

from gputuner.model.errors import StoreError
from gputuner.sessions.schema import VERSION

Step = Callable[[sqlite3.Connection], None]

STEPS: Mapping[int, Step] = {}
"""``STEPS[n]`` turns a file of version n into one of version n + 1. Version 1 is the first, so there is none yet."""


def version_of(connection: sqlite3.Connection) -> int:
    """The version a file says it has."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def check_version(path: Path, found: int, target: int = VERSION) -> None:
    """Refuse a file written by a newer program; the file is left as it is.

    Raises:
        StoreError: ``session_newer``.
    """
    if found > target:
        raise StoreError(
            "session_newer",
            f"{path} was written by a newer gputuner (format {found}; this one reads up to {target}); update gputuner",
            path=str(path),
            found=found,
            supported=target,
        )


def upgrade(
    connection: sqlite3.Connection, path: Path, steps: Mapping[int, Step] = STEPS, target: int = VERSION
) -> None:
    """Bring an open file to ``target`` in one transaction; on any failure it stays as it was.

    Args:
        connection: in autocommit mode (``isolation_level=None``), opened for writing.
        path: of the file, for messages.
        steps: version → step to the next version.
        target: the version to reach.

    Raises:
        StoreError: ``session_newer``, or ``session_too_old`` if no step leads on from its version.
        sqlite3.Error: a step failed.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        found = version_of(connection)
        check_version(path, found, target)
        for version in range(found, target):
            if version not in steps:
                raise StoreError(
                    "session_too_old",
                    f"{path} has format {version}, which this gputuner no longer reads",
                    path=str(path),
                    found=version,
                    supported=target,
                )
            steps[version](connection)
            connection.execute(f"PRAGMA user_version = {version + 1}")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
