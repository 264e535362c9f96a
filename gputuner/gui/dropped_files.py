"""Files that are dropped on the window."""

from pathlib import Path

from PySide6.QtCore import QMimeData

SESSION_SUFFIX = ".sqlite"
"""Files that may be dropped on the window."""


def dropped_sessions(data: QMimeData) -> list[Path]:
    """The session files among what is dragged."""
    paths = [Path(url.toLocalFile()) for url in data.urls() if url.isLocalFile()]
    return [path for path in paths if path.suffix == SESSION_SUFFIX and path.is_file()]
