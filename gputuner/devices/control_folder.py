"""Where root's journal may lie: in a folder in which nobody but root can put, change or replace a file.

Whoever can write there could have values of his own "put back" by root, or keep a change from ever being put back.
"""

import os
import stat
from pathlib import Path

from gputuner.model.errors import StoreError

ROOT = 0
OTHERS_WRITE, GROUP_WRITES = stat.S_IWOTH, stat.S_IWGRP


def owned_by_root(folder: Path) -> Path:
    """``folder`` without links, if root alone rules it and all above it; as anybody but root ``folder`` as it is.

    Of folders above it a sticky one (``/tmp``) is no danger, unless what lies in it has yet to be made.

    Raises:
        StoreError: ``control_folder_foreign``: somebody else could change what lies there.
    """
    if os.name != "posix" or os.geteuid() != ROOT:
        return folder
    real = Path(os.path.realpath(folder))
    nearest = True
    for part in (real, *real.parents):
        try:
            seen = part.lstat()
        except FileNotFoundError:
            continue
        except OSError as err:
            raise _refused(folder, part) from err
        sticky = bool(seen.st_mode & stat.S_ISVTX) and not nearest
        others = seen.st_mode & OTHERS_WRITE or (seen.st_mode & GROUP_WRITES and seen.st_gid != ROOT)
        if not stat.S_ISDIR(seen.st_mode) or seen.st_uid != ROOT or (others and not sticky):
            raise _refused(folder, part)
        nearest = False
    return real


def _refused(folder: Path, part: Path) -> StoreError:
    text = f"{part} can be changed by others than root"
    return StoreError("control_folder_foreign", text, path=str(folder), part=str(part))
