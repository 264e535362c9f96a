"""Where session files lie and what lies beside them."""

import shutil
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


def output_folder(path: Path) -> Path:
    """The folder beside a session file that holds what the user's commands wrote; there is one where any ran."""
    return path.with_suffix(".output")


def remove(path: Path) -> None:
    """Remove a session file and what lies beside it, as far as it can be removed."""
    shutil.rmtree(output_folder(path), ignore_errors=True)
    for file in (*companions(path), path):
        with suppress(OSError):
            file.unlink(missing_ok=True)
