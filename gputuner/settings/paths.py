"""Folders and files of the program: all under one data folder (``--data-dir``, else the platform's own)."""

from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_data_path

from gputuner.model.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Paths:
    """Where things lie. Nothing is made by asking."""

    data_dir: Path

    @property
    def sessions(self) -> Path:
        """Folder of the session files."""
        return self.data_dir / "sessions"

    @property
    def preferences(self) -> Path:
        """File of the preferences."""
        return self.data_dir / "preferences.json"

    @property
    def journal(self) -> Path:
        """File with what must be put back on the cards."""
        return self.data_dir / "journal.json"

    @property
    def locks(self) -> Path:
        """Folder of the locks that tell that a card is in use."""
        return self.data_dir / "locks"

    @property
    def log(self) -> Path:
        """Folder of logs and of tracebacks of bugs."""
        return self.data_dir / "log"


def paths(data_dir: Path | None = None) -> Paths:
    """The paths under ``data_dir``; None: the platform's own folder for the user's data.

    Raises:
        UsageError: the system does not know the user's own folder.
    """
    return Paths(data_dir=data_dir if data_dir is not None else _own())


def _own() -> Path:
    try:
        found = user_data_path("gputuner", appauthor=False)
    except (RuntimeError, KeyError) as error:  # no HOME, and no such user in the system's list
        raise UsageError("home_unknown", "the home folder is not known") from error
    if not found.is_absolute():
        raise UsageError("home_unknown", "the home folder is not known")
    return found
