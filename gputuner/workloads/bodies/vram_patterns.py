"""What the VRAM test writes: 64-bit words that follow from their place, and what a wrong word says. No library.

Memory is rows of 2048 words (16 KiB). The word at column j of row r is ``template[j] + key(r)`` modulo 2^64, so that
one fused addition writes a block (nothing but the block crosses the memory bus), and one sum of each row reads it back:
the sum must be Σ template + 2048 · key(r). A sum misses errors of one row that cancel exactly; other data in the next
pass take that from them. Rows whose sum is wrong are then compared word by word.

Hashed patterns take ``key`` from a bijective mixer (the finaliser of SplitMix64, Steele et al., OOPSLA 2014), so that a
word which stands at the wrong place tells where it was written to.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

ROW_WORDS = 2048
WORD_BYTES = 8
ROW_BYTES = ROW_WORDS * WORD_BYTES
WORD = (1 << 64) - 1
FIRST, SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
FIRST_BACK, SECOND_BACK = pow(FIRST, -1, 1 << 64), pow(SECOND, -1, 1 << 64)
GOLDEN = 0x9E3779B97F4A7C15
CHECKERS = (0xAAAAAAAAAAAAAAAA, 0x5555555555555555)


def signed(word: int) -> int:
    """The 64-bit word as a library's int64 has it."""
    word &= WORD
    return word - (1 << 64) if word >> 63 else word


def mix(word: int) -> int:
    """A bijection of 64-bit words whose bits all depend on all."""
    word = ((word ^ (word >> 30)) * FIRST) & WORD
    word = ((word ^ (word >> 27)) * SECOND) & WORD
    return word ^ (word >> 31)


def unmix(word: int) -> int:
    """The inverse of :func:`mix`."""
    word = ((word ^ (word >> 31) ^ (word >> 62)) * SECOND_BACK) & WORD
    word = ((word ^ (word >> 27) ^ (word >> 54)) * FIRST_BACK) & WORD
    return word ^ (word >> 30) ^ (word >> 60)


def mix_in_place(words: Any) -> Any:
    """:func:`mix` of an int64 array or tensor of any library, in place; its one-dimensional words come back."""
    for shift, factor in ((30, FIRST), (27, SECOND), (31, 1)):
        words ^= (words >> shift) & ((1 << (64 - shift)) - 1)
        words *= signed(factor)
    return words


@dataclass(frozen=True)
class Pattern:
    """One kind of contents of all rows.

    ``seed`` of hashed words; with ``constant`` all words are that one. ``inverted``: all bits turned.
    """

    seed: int = 0
    constant: "int | None" = None
    inverted: bool = False

    def turned(self) -> "Pattern":
        """The same with all bits turned."""
        return Pattern(self.seed, self.constant, not self.inverted)

    def template(self) -> "tuple[int, ...]":
        """The words of a row without its key, unsigned, [2048]."""
        return _template(self)

    def key(self, row: int) -> int:
        """What a row adds to the template, unsigned; ~(t + k) = ~t − k."""
        if self.constant is not None:
            return 0
        key = mix((row + self._salt()) & WORD)
        return (-key) & WORD if self.inverted else key

    def keys_in_place(self, rows: Any) -> Any:
        """:meth:`key` of an int64 vector of row numbers, in place."""
        if self.constant is not None:
            rows *= 0
            return rows
        rows += signed(self._salt())
        mix_in_place(rows)
        if self.inverted:
            rows *= -1
        return rows

    def row_at(self, word: int, template: int) -> "int | None":
        """The row to whose column with this ``template`` the word belongs; None: constant words belong to all."""
        if self.constant is not None:
            return None
        key = (word - template) & WORD
        key = (-key) & WORD if self.inverted else key
        return (unmix(key) - self._salt()) & WORD

    def _salt(self) -> int:
        return mix((self.seed + GOLDEN) & WORD)


@lru_cache(maxsize=8)
def _template(pattern: Pattern) -> "tuple[int, ...]":
    if pattern.constant is not None:
        words = [pattern.constant] * ROW_WORDS
    else:
        words = [mix((mix(pattern.seed) + GOLDEN * (j + 1)) & WORD) for j in range(ROW_WORDS)]
    return tuple(word ^ WORD for word in words) if pattern.inverted else tuple(words)


def passes(cycle: int, seed: int) -> "Iterator[tuple[str, tuple[Pattern, ...]]]":
    """The passes of a cycle: name, and the patterns that are written one after the other.

    ``address`` first: hashes of the place everywhere, all written before any is read. ``inversions`` turns the words
    block by block upwards and back downwards. ``retention`` waits between writing and reading.
    """
    first = mix((seed + 64 * cycle) & WORD)
    yield "address", (Pattern(seed=first),)
    yield "inversions", (Pattern(seed=first + 1),)
    yield "checkerboard", tuple(Pattern(constant=word) for word in CHECKERS)
    yield "inversions", (Pattern(constant=0),)
    yield "random", (Pattern(seed=first + 2),)
    yield "retention", (Pattern(seed=first + 3, inverted=bool(cycle % 2)),)


TRAFFIC = {"address": 2, "random": 2, "retention": 2, "inversions": 6, "checkerboard": 4}
"""Times that a pass moves every tested byte over the memory bus, written and read."""
