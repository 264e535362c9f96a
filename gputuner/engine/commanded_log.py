"""What a command writes, in a file: its last words, and kept small."""

import re
from contextlib import suppress
from pathlib import Path

MOST_BYTES, KEPT_BYTES = 32 << 20, 1 << 20
"""A log that has grown so long is cut to its last part."""
TAIL_BYTES, TAIL_LINES = 8192, 20
OUT_OF_MEMORY = re.compile(
    r"OutOfMemoryError|CUDA out of memory|DefaultCPUAllocator: can't allocate|^MemoryError", re.M
)


def tail(log: Path) -> str:
    """The last lines of what it wrote; control signs are left out."""
    with suppress(OSError), log.open("rb") as stream:
        stream.seek(max(0, stream.seek(0, 2) - TAIL_BYTES))
        lines = stream.read().decode("utf-8", "replace").replace("\r", "\n").splitlines()
        kept = ["".join(sign for sign in line if sign.isprintable() or sign == "\t") for line in lines if line.strip()]
        return "\n".join(kept[-TAIL_LINES:])
    return ""


def ran_out(words: str) -> bool:
    """Whether its last words are of memory that there was not."""
    return OUT_OF_MEMORY.search(words) is not None


def keep_small(log: Path) -> None:
    """Cut a log that has grown long; what is written in that moment may be lost."""
    with suppress(OSError):
        if log.stat().st_size <= MOST_BYTES:
            return
        with log.open("r+b") as stream:
            stream.seek(-KEPT_BYTES, 2)
            last = stream.read()
            stream.truncate(0)
            stream.seek(0)
            stream.write(last)
