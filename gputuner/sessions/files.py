"""Where session files lie and what lies beside them."""

from contextlib import suppress
from pathlib import Path

FOLDER = "sessions"
SUFFIX = ".sqlite"


def session_file(data_dir: Path, run_id: str) -> Path:
    """Where the session of a run lies."""
    return data_dir / FOLDER / f"{run_id}{SUFFIX}"


def companions(path: Path) -> tuple[Path, ...]:
    """SQLite's own files beside a session file: WAL, its index, rollback journal."""
    return tuple(path.with_name(path.name + suffix) for suffix in ("-wal", "-shm", "-journal"))


def remove(path: Path) -> None:
    """Remove a session file and SQLite's own files beside it, as far as they can be removed."""
    for file in (*companions(path), path):
        with suppress(OSError):
            file.unlink(missing_ok=True)
