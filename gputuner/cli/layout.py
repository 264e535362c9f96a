"""Tables as lines of text: in a pipe as wide as they are, on a terminal so that no cell is cut.

What does not fit is made to, in this order: texts are wrapped, the columns that say least are left out (and told), and
where that is not enough either, each row becomes lines of its own.
"""

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from unicodedata import east_asian_width

from gputuner.language.words import _

GAP = 2
STACK_INDENT = 4
LEAST_TEXT = 12
"""A text is not wrapped into fewer columns than this (or than its longest word)."""
_PARTS = re.compile(r"[!-~]+[，。；：、）？]?\s*|.[，。；：、）？]?\s*")
"""What a line may not be broken within: a word, or one wide character, each with the mark that follows it."""

_WORDS = re.compile(r"\S+\s*")
WHOLE_HEADER = 12
"""A word of a header up to so many columns is not broken, in Chinese either, where no blank tells words apart."""

Row = Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A table in lines. ``left_out``: headers of the columns that did not fit; ``head``: how many lines are headers."""

    lines: tuple[str, ...]
    head: int = 0
    left_out: tuple[str, ...] = ()


def width(text: str) -> int:
    """Columns that ``text`` takes on a terminal (wide characters take two)."""
    return len(text) if text.isascii() else sum(2 if east_asian_width(char) in "WF" else 1 for char in text)


def columns(rows: Sequence[Row], right: Sequence[int] = ()) -> list[str]:
    """Rows as lines of aligned columns, without trailing blanks."""
    if not rows:
        return []
    widths = _widths(rows)
    return [_aligned(row, widths, right) for row in rows]


def wrapped_lines(text: str, room: int) -> list[str]:
    """``text`` in lines of ``room`` columns. Wide characters may break anywhere but before their marks."""
    if width(text) == len(text):
        return textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False) or [""]
    return _joined(_PARTS.findall(text), room)


def _joined(parts: Sequence[str], room: int) -> list[str]:
    """Parts in lines of ``room`` columns, none of them broken."""
    lines: list[str] = []
    line = ""
    for part in parts:
        if line and width(line + part.rstrip()) > room:
            lines.append(line.rstrip())
            line = ""
        line += part
    return [*lines, line.rstrip()]


def drawn(
    headers: Row,
    rows: Sequence[Row],
    room: int,
    right: Sequence[int] = (),
    wraps: Sequence[int] = (),
    least: Sequence[int] = (),
) -> Drawn:
    """A table in ``room`` columns.

    Args:
        headers: names of the columns.
        rows: cells.
        room: columns of the terminal.
        right: columns aligned to the right.
        wraps: columns of text that may be wrapped.
        least: columns that may be left out, the first of them first.
    """
    for dropped in range(len(least) + 1):
        gone = set(least[:dropped])
        kept = [i for i in range(len(headers)) if i not in gone]
        if (widths := _fitted(headers, rows, kept, room, wraps)) is None:
            continue
        inner = [new for new, old in enumerate(kept) if old in right]
        head = _lines([headers[i] for i in kept], widths, inner, heading=True)
        rule = "─" * (sum(widths) + GAP * (len(kept) - 1))
        body = [line for row in rows for line in _lines([row[i] for i in kept], widths, inner)]
        return Drawn(lines=(*head, rule, *body), head=len(head), left_out=tuple(headers[i] for i in sorted(gone)))
    return Drawn(lines=tuple(line for row in rows for line in _stacked(headers, row, room)))


def _widths(rows: Sequence[Row]) -> list[int]:
    return [max(width(row[i]) for row in rows) for i in range(len(rows[0]))]


def _aligned(row: Row, widths: Sequence[int], right: Sequence[int]) -> str:
    cells: list[str] = []
    for i, cell in enumerate(row):
        blank = " " * (widths[i] - width(cell))
        cells.append(blank + cell if i in right else cell + blank)
    return (" " * GAP).join(cells).rstrip()


def _fitted(
    headers: Row, rows: Sequence[Row], kept: Sequence[int], room: int, wraps: Sequence[int]
) -> list[int] | None:
    """Widths of the kept columns that fit; None where none do. Headers wrap between words, texts take what is left."""
    body = [max((width(row[i]) for row in rows), default=0) for i in kept]
    whole = [max(body[new], width(headers[old])) for new, old in enumerate(kept)]
    left = room - GAP * (len(kept) - 1)
    if sum(whole) <= left:
        return whole
    least = [
        max(_longest_of_header(headers[old]), min(body[new], _least_text(rows, old)) if old in wraps else body[new])
        for new, old in enumerate(kept)
    ]
    if sum(least) > left:
        return None
    spare = left - sum(least)
    for new in sorted(range(len(kept)), key=lambda new: whole[new] - least[new]):
        more = min(spare, whole[new] - least[new])
        least[new] += more
        spare -= more
    return least


def _least_text(rows: Sequence[Row], column: int) -> int:
    return max(LEAST_TEXT, *(_longest_word(row[column]) for row in rows), 0)


def _longest_word(text: str) -> int:
    words = text.split() if width(text) == len(text) else _PARTS.findall(text)
    return max((width(word.rstrip()) for word in words), default=0)


def _longest_of_header(text: str) -> int:
    return max((width(part.rstrip()) for part in _header_parts(text)), default=0)


def _header_parts(text: str) -> list[str]:
    """What a header's line may not be broken within: words up to a length, and the parts of longer ones."""
    words = _WORDS.findall(text)
    return [
        part
        for word in words
        for part in ([word] if width(word.rstrip()) <= WHOLE_HEADER or word.isascii() else _PARTS.findall(word))
    ]


def _lines(row: Row, widths: Sequence[int], right: Sequence[int], *, heading: bool = False) -> list[str]:
    """One row in as many lines as its longest cell takes."""
    cells = [
        [cell] if width(cell) <= room else _joined(_header_parts(cell), room) if heading else wrapped_lines(cell, room)
        for cell, room in zip(row, widths, strict=True)
    ]
    high = max(len(cell) for cell in cells)
    padded = [cell + [""] * (high - len(cell)) for cell in cells]
    return [_aligned(line, widths, right) for line in zip(*padded, strict=True)]


def _stacked(headers: Row, row: Row, room: int) -> list[str]:
    """A row as lines: what it is of, then its other cells under their headers' names, empty ones left out."""
    filled = [i for i, cell in enumerate(row) if cell]
    if not filled:
        return []
    first, *rest = filled
    lines = wrapped_lines(row[first], room)
    for i in rest:
        cell = _("{what}: {of}").format(what=headers[i], of=row[i])
        pieces = wrapped_lines(cell, max(1, room - STACK_INDENT))
        lines += [" " * STACK_INDENT + piece for piece in pieces]
    return lines
