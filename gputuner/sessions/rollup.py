"""Live roll-ups: n, min, sum and max per card, quantity and bucket of 1, 10 and 60 s.

A counter (energy, nanoseconds in a limit) keeps its last value. The mask of limit reasons is no number: its ``min``
holds the bits that were always set, its ``max`` the bits that were ever set, its ``sum`` the most frequent mask.
Each level is made from the closed buckets of the one below, so a sample costs the same however many levels there are.
"""

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from gputuner.model.quantities import QUANTITIES, Quantity
from gputuner.sessions.columns import POSITIONS, QUANTITY_COLUMNS, Cell
from gputuner.sessions.schema import LEVELS_S, rollup_columns, rollup_table

NS = 1_000_000_000
Aggregate = list[Any]
"""rows, first id, last id, then the cells of every quantity in the order of the table."""

_HEAD = 3
_BITS = QUANTITY_COLUMNS.index(Quantity.LIMIT_BITS)
_COUNTER = tuple(QUANTITIES[q].counter for q in QUANTITY_COLUMNS)
_WIDTH = _HEAD + sum(len(rollup_columns(q)) for q in QUANTITY_COLUMNS)
_BITS_AT = _HEAD + sum(len(rollup_columns(q)) for q in QUANTITY_COLUMNS[:_BITS])


def _last(cells: Sequence[Any]) -> Any:
    return cells[-1]


def _sum(cells: Iterable[Any]) -> int | float:
    total = sum(cells)
    return total if -(2**63) <= total < 2**63 else float(total)


def _all_bits(cells: Iterable[int]) -> int:
    return reduce(int.__and__, cells)


def _any_bits(cells: Iterable[int]) -> int:
    return reduce(int.__or__, cells)


def _operations() -> tuple[Callable[[Sequence[Any]], Any], ...]:
    operations: list[Callable[[Sequence[Any]], Any]] = [_sum, min, max]
    for place, counter in enumerate(_COUNTER):
        if counter:
            operations.append(_last)
        elif place == _BITS:
            operations += [_sum, _all_bits, _last, _any_bits]
        else:
            operations += [_sum, min, _sum, max]
    return tuple(operations)


_OPERATIONS = _operations()


def of_rows(ids: Sequence[int], rows: Sequence[Sequence[Cell]]) -> Aggregate:
    """The aggregate of samples of one card (at least one), in the order they came."""
    out: Aggregate = [len(rows), min(ids), max(ids)]
    for place, column in enumerate(zip(*rows, strict=True)):
        cells = [cell for cell in column if cell is not None]
        if place == _BITS:
            cells = [cell for cell in cells if isinstance(cell, int)]
        if _COUNTER[place]:
            out.append(cells[-1] if cells else None)
        elif not cells:
            out += (None, None, None, None)
        elif place == _BITS:
            (mode, _), *_ = Counter(cells).most_common(1)
            out += (len(cells), _all_bits(cells), mode, _any_bits(cells))
        else:
            out += (len(cells), min(cells), _sum(cells), max(cells))
    return out


def combine(parts: Sequence[Aggregate]) -> Aggregate:
    """The aggregate of several (at least one), in the order of time."""
    if len(parts) == 1:
        return parts[0]
    out: Aggregate = []
    for operation, column in zip(_OPERATIONS, zip(*parts, strict=True), strict=True):
        cells = [cell for cell in column if cell is not None]
        out.append(operation(cells) if cells else None)
    if out[_BITS_AT] is not None:
        weights: Counter[int] = Counter()
        for part in parts:
            if part[_BITS_AT] is not None:
                weights[part[_BITS_AT + 2]] += part[_BITS_AT]
        out[_BITS_AT + 2] = weights.most_common(1)[0][0]
    return out


@dataclass(slots=True)
class _Bucket:
    """An open bucket. ``base`` is what the file already held of it, if time went back to a closed one."""

    number: int
    base: Aggregate | None
    parts: list[Aggregate] = field(default_factory=lambda: [])
    ids: list[int] = field(default_factory=lambda: [])
    rows: list[Sequence[Cell]] = field(default_factory=lambda: [])

    def own(self, below: Aggregate | None) -> Aggregate | None:
        """What came since the bucket was opened, with what the open bucket below holds."""
        parts = [*self.parts, *([below] if below else ())]
        if self.rows:
            parts.append(of_rows(self.ids, self.rows))
        return combine(parts) if parts else None

    def whole(self, own: Aggregate) -> Aggregate:
        """What the file should hold."""
        return combine([self.base, own]) if self.base else own


class Rollups:
    """Fed row by row; writes closed buckets as they close and open ones at ``flush``. Not thread-safe."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Start with no open bucket on a connection whose transactions the caller rules."""
        self._connection = connection
        self._open: dict[int, list[_Bucket]] = {}
        self._highest: dict[tuple[int, int], int] = {}
        marks = ", ".join("?" * (1 + _WIDTH))
        self._insert = [f"INSERT OR REPLACE INTO {rollup_table(w)} VALUES ({marks})" for w in LEVELS_S]
        self._select = [f"SELECT * FROM {rollup_table(w)} WHERE id = ?" for w in LEVELS_S]

    def add(self, card: int, t_ns: int, row_id: int, row: Sequence[Cell]) -> None:
        """Count one sample in."""
        second = t_ns // NS
        buckets = self._open.get(card)
        if buckets is None or buckets[0].number != second:
            buckets = self._turn(card, second, buckets)
        bucket = buckets[0]
        bucket.ids.append(row_id)
        bucket.rows.append(row)

    def flush(self) -> None:
        """Write all open buckets as they stand (they stay open)."""
        for card, buckets in self._open.items():
            below: Aggregate | None = None
            for level, bucket in enumerate(buckets):
                below = bucket.own(below)
                if below is not None:
                    self._write(level, card, bucket, below)

    def _turn(self, card: int, second: int, buckets: list[_Bucket] | None) -> list[_Bucket]:
        """Close what ``second`` does not fall into and open what it does."""
        below: Aggregate | None = None
        fresh: list[_Bucket] = []
        for level, width in enumerate(LEVELS_S):
            number = second // width
            old = buckets[level] if buckets else None
            if old is not None and old.number == number:
                if below:
                    old.parts.append(below)
                below = None
                fresh.append(old)
                continue
            if old is not None:
                below = old.own(below)
                if below is not None:
                    self._write(level, card, old, below)
            fresh.append(_Bucket(number, self._found(level, card, number)))
        self._open[card] = fresh
        return fresh

    def _found(self, level: int, card: int, number: int) -> Aggregate | None:
        highest = self._highest.get((level, card))
        self._highest[level, card] = number if highest is None else max(highest, number)
        if highest is None or number > highest:
            return None
        row = self._connection.execute(self._select[level], (number * POSITIONS + card,)).fetchone()
        return list(row[1:]) if row else None

    def _write(self, level: int, card: int, bucket: _Bucket, own: Aggregate) -> None:
        key = bucket.number * POSITIONS + card
        self._connection.execute(self._insert[level], (key, *bucket.whole(own)))
