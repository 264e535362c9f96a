"""Where the traceback of a bug is kept, so that the terminal shows one line only."""

import tempfile
import time
import traceback
from pathlib import Path

from gputuner.model.errors import UsageError


def keep_traceback(error: BaseException, data_dir: Path | None) -> Path:
    """Write the traceback to the log folder of the data folder (else the temporary folder); the file's path."""
    return keep_text("".join(traceback.format_exception(error)), data_dir)


def keep_text(text: str, data_dir: Path | None) -> Path:
    """Write a traceback that is already text; the file's path."""
    name = f"gputuner-{time.strftime('%Y%m%d-%H%M%S')}-error.log"
    for folder in (_log_folder(data_dir), Path(tempfile.gettempdir())):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / name
            path.write_text(text, encoding="utf-8")
        except OSError:
            continue
        return path
    return Path(name)


def _log_folder(data_dir: Path | None) -> Path:
    if data_dir is not None:
        return data_dir / "log"
    from gputuner.settings.paths import paths

    try:
        return paths().log
    except UsageError:
        return Path(tempfile.gettempdir())
