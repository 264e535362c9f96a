"""Small files written whole or not at all."""

import errno
import os
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp

from gputuner.model.errors import StoreError, StoreForbidden

_FULL = {errno.ENOSPC, errno.EDQUOT}
_FORBIDDEN = {errno.EROFS, errno.EACCES, errno.EPERM}


def write_whole(path: Path, data: bytes) -> None:
    """Replace ``path`` by ``data``; after a power cut it holds the old or the new, never a part.

    Raises:
        StoreError: ``store_full`` or ``store_readonly``; the file is as it was and nothing lies beside it.
    """
    part: str | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, part = mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(part).replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        if part is not None:
            with suppress(OSError):
                Path(part).unlink(missing_ok=True)
        if error.errno in _FULL:
            raise StoreError("store_full", f"the disk that holds {path} is full", path=str(path)) from error
        message = error.strerror or str(error)
        kind = StoreForbidden if error.errno in _FORBIDDEN else StoreError
        raise kind("store_readonly", f"{path} cannot be written: {message}", path=str(path)) from error


def _sync_folder(folder: Path) -> None:
    """Make a rename durable where the system can (POSIX)."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)
