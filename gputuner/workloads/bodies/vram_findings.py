"""What a pass of the VRAM test found wrong: places, bits, and words that belong elsewhere. No library."""

from dataclasses import dataclass, field

from gputuner.workloads.bodies.body import Fact
from gputuner.workloads.bodies.vram_patterns import ROW_BYTES, ROW_WORDS, WORD, WORD_BYTES, Pattern

MOST_ROWS = 256
"""Rows of one pass that are looked at word by word; further ones are counted as one wrong word each."""
MOST_PER_BLOCK = 32
MOST_SPANS = 48
MOST_FAR = 2
"""Words of a row whose source is looked for in other columns too."""


@dataclass
class Seen:
    """Everything wrong of one pass; offsets in bytes, in the order in which blocks were taken."""

    rows: "set[int]" = field(default_factory=set)
    words: int = 0
    unseen_rows: int = 0
    transient: int = 0
    """Words that were right when they were read again."""
    stale: int = 0
    """Words that still held what stood there before: the write was lost."""
    up: int = 0
    """Bits that were 1 and should be 0."""
    down: int = 0
    aliases: "list[tuple[int, int, int]]" = field(default_factory=list)
    """Runs of words that belong elsewhere: offset, where they belong, bytes."""
    aliased: int = 0
    examples: "list[tuple[int, int, int]]" = field(default_factory=list)

    def take(
        self, row: int, found: "list[int]", again: "list[int]", pattern: Pattern, before: "Pattern | None", rows: int
    ) -> None:
        """Judge one row whose sum was wrong.

        Args:
            row: its number.
            found: its words, unsigned [2048].
            again: the same, read once more.
            pattern: what was written.
            before: what stood there earlier; None: nothing of ours.
            rows: how many rows are tested.
        """
        template, key = pattern.template(), pattern.key(row)
        old = before.template() if before is not None else None
        old_key = before.key(row) if before is not None else 0
        self.rows.add(row)
        wrong = 0
        far = MOST_FAR
        for j, word in enumerate(found):
            expected = (template[j] + key) & WORD
            if word == expected:
                continue
            wrong += 1
            offset = row * ROW_BYTES + j * WORD_BYTES
            if again[j] == expected:
                self.transient += 1
            if old is not None and word == (old[j] + old_key) & WORD:
                self.stale += 1
            elif (source := _source(word, j, pattern, rows, far > 0)) is not None:
                self._alias(offset, source)
            else:
                far -= 1
                self.up |= word & ~expected & WORD
                self.down |= expected & ~word & WORD
            if len(self.examples) < 8:
                self.examples.append((offset, expected, word))
        if not wrong:  # the sum was wrong once and no word is: it was read wrongly
            self.transient += 1
        self.words += max(1, wrong)

    def _alias(self, offset: int, source: int) -> None:
        self.aliased += 1
        if self.aliases:
            start, first, length = self.aliases[-1]
            if start + length == offset and first + length == source:
                self.aliases[-1] = (start, first, length + WORD_BYTES)
                return
        self.aliases.append((offset, source, WORD_BYTES))

    def leave(self, count: int) -> None:
        """``count`` more rows have a wrong sum and are not looked at."""
        self.unseen_rows += count
        self.words += count

    def notes(self) -> "dict[str, Fact]":
        """As it crosses the wire; hexadecimal offsets and masks."""
        told: dict[str, Fact] = {"errors": self.words}
        if not self.words:
            return told
        spans = _spans(sorted(self.rows))
        told |= {
            "bad_rows": len(self.rows) + self.unseen_rows,
            "unseen_rows": self.unseen_rows,
            "transient": self.transient,
            "stale": self.stale,
            "aliased": self.aliased,
            "bits_up": f"{self.up:016x}",
            "bits_down": f"{self.down:016x}",
            "spans": " ".join(f"{start:x}+{length:x}" for start, length in spans[:MOST_SPANS]),
            "aliases": " ".join(f"{o:x}<{s:x}+{n:x}" for o, s, n in self.aliases[:MOST_SPANS]),
            "examples": " ".join(f"{o:x}:{e:016x}:{f:016x}" for o, e, f in self.examples),
        }
        return told


def _source(word: int, column: int, pattern: Pattern, rows: int, everywhere: bool) -> "int | None":
    """Offset in bytes of the place that a word, or its turned one, was written to; None: to none that is tested."""
    if pattern.constant is not None:
        return None
    for each in (pattern, pattern.turned()):
        template = each.template()
        for j in (column, *(range(ROW_WORDS) if everywhere else ())):
            row = each.row_at(word, template[j])
            if row is not None and row < rows:
                return row * ROW_BYTES + j * WORD_BYTES
    return None


def _spans(rows: "list[int]") -> "list[tuple[int, int]]":
    """Rows that follow each other, as offset and length in bytes."""
    spans: list[tuple[int, int]] = []
    for row in rows:
        if spans and spans[-1][0] + spans[-1][1] == row * ROW_BYTES:
            spans[-1] = (spans[-1][0], spans[-1][1] + ROW_BYTES)
        else:
            spans.append((row * ROW_BYTES, ROW_BYTES))
    return spans
