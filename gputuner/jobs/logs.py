"""The log of a job, read in blocks: it may be of any size, and a terminal shall get no control signs of it."""

import codecs
import os
from collections.abc import Iterator
from contextlib import suppress
from io import SEEK_END
from pathlib import Path

from gputuner.jobs.log_cap import head_of, read_whole

BLOCK_BYTES = 1 << 20
LONGEST_LINE = 1 << 20
"""A line without an end, as of a program that draws its progress, is passed on in pieces of this size."""
_CONTROLS = bytes(sign for sign in (*range(32), 127) if sign not in b"\t\n\r")


def clean(text: str) -> str:
    """A piece of a log without what a terminal would obey; ends of lines, tabs and ``\\r`` stay."""
    if text.isascii():
        return text.encode("ascii").translate(None, _CONTROLS).decode("ascii")
    return "".join(map(_clean_line, text.splitlines(keepends=True)))


def _clean_line(line: str) -> str:
    if line.rstrip("\r\n").isprintable():
        return line
    return "".join(sign for sign in line if sign.isprintable() or sign in "\t\n\r")


def overdrawn(text: str) -> str:
    """Whole lines as they would stand on a terminal at the end: of one drawn again and again, the last drawing."""
    if "\r" not in text:
        return text
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines)


class Follower:
    """Reads on where it was, also in a log that was cut meanwhile; a sign that is not whole yet waits for its rest."""

    def __init__(self, path: Path, start: int = 0) -> None:
        """Begin at byte ``start``."""
        self._path = path
        self._at: int = start
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._head: tuple[int, int] = (0, 0)
        with suppress(OSError), read_whole(path) as file:
            self._head = head_of(file)

    def pieces(self) -> Iterator[str]:
        """What is there now and was not read yet, in blocks."""
        while raw := self._next():
            self._at += len(raw)
            yield clean(self._decoder.decode(raw))

    def _next(self) -> bytes:
        try:
            with read_whole(self._path) as file:
                self._find(head_of(file), file.seek(0, SEEK_END))
                file.seek(self._at)
                return file.read(BLOCK_BYTES)
        except FileNotFoundError:
            return b""

    def _find(self, head: tuple[int, int], size: int) -> None:
        """Where to read on, if the log was cut or emptied: what was read is not read again."""
        if head != self._head:
            (gone, length), read = head, self._head[0] + self._at - self._head[1]
            self._at, self._head = (length + read - gone if read > gone else 0), head
        if size < self._at:
            self._at = 0


def lines(path: Path, start: int = 0, end: int | None = None) -> Iterator[str]:
    """The log from byte ``start`` to ``end`` (None: as it is now) in blocks of whole lines, as one reads them."""
    end = path.stat().st_size if end is None else end
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    kept = ""
    with path.open("rb") as file:
        file.seek(start)
        while start < end and (raw := file.read(min(BLOCK_BYTES, end - start))):
            start += len(raw)
            kept += decoder.decode(raw)
            whole, newline, rest = kept.rpartition("\n")
            if newline or len(rest) > LONGEST_LINE:
                yield clean(overdrawn(whole + newline if newline else rest))
                kept = rest if newline else ""
    yield clean(overdrawn(kept + decoder.decode(b"", final=True)))


def start_of_last(path: Path, count: int, end: int) -> int:
    """Where the last ``count`` lines before byte ``end`` begin; only these are read."""
    with path.open("rb") as file:
        if end and (file.seek(end - 1), file.read(1))[1] == b"\n":
            count += 1
        at = end
        while at > 0:
            size = min(BLOCK_BYTES, at)
            at -= size
            file.seek(at)
            block = file.read(size)
            found = block.count(b"\n")
            if found >= count:
                place = len(block)
                for _ in range(count):
                    place = block.rindex(b"\n", 0, place)
                return at + place + 1
            count -= found
    return 0


def total_bytes(folder: Path) -> int:
    """What all logs in a folder take on the disk."""
    found = 0
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                try:
                    found += entry.stat().st_size
                except OSError:
                    continue
    except OSError:
        return 0
    return found
