"""A memory in NumPy whose cells fail as a test wants: shared cells, stuck bits, cells that forget when hot."""

import itertools

import numpy as np

from gputuner.workloads.bodies.vram_patterns import ROW_WORDS, WORD, WORD_BYTES, signed


class FaultyMemory:
    """``aliases``: word → word whose cell it really is. ``stuck``: word → (bits that are always 1, always 0).

    ``forgets``: words that lose a bit while ``hot`` is set at the time of reading.
    """

    def __init__(self, rows_of_blocks, aliases=None, stuck=None, forgets=(), misread=()):
        starts = np.cumsum([0, *rows_of_blocks])
        self.blocks = tuple(range(int(a), int(b)) for a, b in itertools.pairwise(starts))
        count = int(starts[-1]) * ROW_WORDS
        self.cells = np.zeros(count, np.int64)
        self.cell = np.arange(count)
        for word, other in (aliases or {}).items():
            self.cell[word] = other
        self.stuck = stuck or {}
        self.forgets = np.array(sorted(forgets), dtype=np.int64)
        self.misread = set(misread)
        self.hot = False
        self.prepared = None
        self.wrong = []
        self.moved = 0

    def prepare(self, pattern):
        rows = np.arange(self.blocks[-1].stop, dtype=np.int64)
        template = np.array([signed(word) for word in pattern.template()], dtype=np.int64)
        self.prepared = template, pattern.keys_in_place(rows)

    def _words(self, block):
        span = self.blocks[block]
        return slice(span.start * ROW_WORDS, span.stop * ROW_WORDS)

    def fill(self, block):
        template, keys = self.prepared
        span = self.blocks[block]
        values = (template[None, :] + keys[span.start : span.stop, None]).reshape(-1)
        self.cells[self.cell[self._words(block)]] = values
        for word, (ones, zeros) in self.stuck.items():
            cell = self.cell[word]
            self.cells[cell] = signed((int(self.cells[cell]) | ones) & ~zeros & WORD)
        self.moved += values.size * WORD_BYTES

    def _read(self, words):
        found = self.cells[self.cell[words]]
        if self.hot and self.forgets.size:
            inside = self.forgets[(self.forgets >= words.start) & (self.forgets < words.stop)] - words.start
            found[inside] ^= 1 << 17
        return found

    def settle(self):
        """Everything is done at once."""

    def check(self, block):
        template, keys = self.prepared
        span = self.blocks[block]
        self.moved += len(span) * ROW_WORDS * WORD_BYTES
        with np.errstate(over="ignore"):
            sums = self._read(self._words(block)).reshape(-1, ROW_WORDS).sum(axis=1)
            expected = template.sum() + ROW_WORDS * keys[span.start : span.stop]
        self.wrong += [span.start + int(row) for row in np.flatnonzero(sums != expected)]
        self.wrong += [row for row in span if row in self.misread]
        self.misread -= set(span)

    def found(self):
        found, self.wrong = self.wrong, []
        return found

    def row(self, row):
        return [int(word) & WORD for word in self._read(slice(row * ROW_WORDS, (row + 1) * ROW_WORDS))]
