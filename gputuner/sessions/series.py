"""Series for plots: min, mean and max of a quantity over time, from raw rows or a roll-up that is fine enough."""

import sqlite3
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gputuner.model.quantities import QUANTITIES, Quantity
from gputuner.model.samples import Gap
from gputuner.sessions.columns import POSITIONS, QUANTITY_COLUMNS, SCALES, Missing
from gputuner.sessions.rollup import NS
from gputuner.sessions.schema import LEVELS_S, rollup_columns, rollup_table

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SILENCE = 2.5
"""Two points further apart than this many usual distances are not joined by a line."""

_SCALE = dict(zip(QUANTITY_COLUMNS, SCALES, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """A quantity of a card over time, in its unit; arrays of one length n, without NaN.

    ``t_ns``: int64 (n,), the sample's time or the middle of its bucket. ``minimum``, ``mean``, ``maximum``: float64
    (n,); the same three for raw rows and for counters (last value of the bucket). For ``limit_bits`` they are the bits
    always set, the most frequent mask and the bits ever set. ``breaks``: int64, indices of points before which the
    line is broken (silence, a gap, or a value missing with a reason). ``bucket_s``: width of a point; 0 for raw rows.
    """

    t_ns: Ints
    minimum: Floats
    mean: Floats
    maximum: Floats
    breaks: Ints
    bucket_s: int

    def segments(self) -> tuple[slice, ...]:
        """Slices of the arrays between breaks."""
        edges = [0, *self.breaks.tolist(), len(self.t_ns)]
        return tuple(slice(a, b) for a, b in pairwise(edges) if b > a)


def empty_series() -> Series:
    """A series without points."""
    none = np.empty(0)
    ints = np.empty(0, dtype=np.int64)
    return Series(t_ns=ints, minimum=none, mean=none, maximum=none, breaks=ints, bucket_s=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """What to read: cards (number in the file → UUID), quantities, time from ``t0_ns`` to ``t1_ns`` (both included)."""

    cards: dict[int, str]
    quantities: tuple[Quantity, ...]
    t0_ns: int
    t1_ns: int
    at_most_points: int

    def keys(self, width_s: int) -> tuple[int, int]:
        """First and last key of a roll-up level that can lie in the window."""
        first, last = self.t0_ns // (NS * width_s), self.t1_ns // (NS * width_s)
        return first * POSITIONS, last * POSITIONS + POSITIONS - 1


Found = dict[tuple[str, Quantity], Series]


def read(connection: sqlite3.Connection, window: Window, gaps: Sequence[Gap], patterns: dict[int, Missing]) -> Found:
    """The series of every card and quantity of the window, each of at most ``at_most_points`` points."""
    coarsest = rollup_table(LEVELS_S[-1])
    first, last = window.keys(LEVELS_S[-1])
    counts = connection.execute(
        f"SELECT id & {POSITIONS - 1}, sum(rows) FROM {coarsest} WHERE id BETWEEN ? AND ? GROUP BY 1", (first, last)
    ).fetchall()
    most = max((n for card, n in counts if card in window.cards), default=0)
    if most <= window.at_most_points:
        return _raw(connection, window, gaps, patterns)
    span_s = (window.t1_ns - window.t0_ns) // NS + 1
    width = next((w for w in reversed(LEVELS_S) if span_s // w >= window.at_most_points), LEVELS_S[0])
    return _rolled(connection, window, gaps, width)


def _raw(connection: sqlite3.Connection, window: Window, gaps: Sequence[Gap], patterns: dict[int, Missing]) -> Found:
    first, last = window.keys(LEVELS_S[0])
    low, high = connection.execute(
        f"SELECT min(first_id), max(last_id) FROM {rollup_table(LEVELS_S[0])} WHERE id BETWEEN ? AND ?", (first, last)
    ).fetchone()
    columns = ", ".join(window.quantities)
    rows = connection.execute(
        f"SELECT card, t_ns, pattern, {columns} FROM samples WHERE id BETWEEN ? AND ? AND t_ns BETWEEN ? AND ?",
        (low or 0, high if high is not None else -1, window.t0_ns, window.t1_ns),
    ).fetchall()
    by_card: dict[int, list[Any]] = {number: [] for number in window.cards}
    for row in rows:
        if row[0] in by_card:
            by_card[row[0]].append(row)
    out: Found = {}
    for number, uuid in window.cards.items():
        mine = sorted(by_card[number], key=lambda row: row[1])
        for place, quantity in enumerate(window.quantities, start=3):
            out[uuid, quantity] = _raw_series(mine, place, quantity, _of_card(gaps, uuid), patterns)
    return out


def _raw_series(
    rows: list[Any], place: int, quantity: Quantity, gaps: Sequence[Gap], patterns: dict[int, Missing]
) -> Series:
    times: list[int] = []
    values: list[float] = []
    breaks: set[int] = set()
    for row in rows:
        if row[place] is not None:
            times.append(row[1])
            values.append(row[place] / _SCALE[quantity])
        elif quantity in patterns.get(row[2], {}):
            breaks.add(len(times))
    t_ns = np.array(times, dtype=np.int64)
    mean = np.array(values, dtype=np.float64)
    return Series(t_ns=t_ns, minimum=mean, mean=mean, maximum=mean, breaks=_breaks(t_ns, 0, gaps, breaks), bucket_s=0)


def _rolled(connection: sqlite3.Connection, window: Window, gaps: Sequence[Gap], width: int) -> Found:
    first, last = window.keys(width)
    columns = [column for quantity in window.quantities for column in rollup_columns(quantity)]
    sql = f"SELECT id, {', '.join(columns)} FROM {rollup_table(width)} WHERE id BETWEEN ? AND ? ORDER BY id"
    rows = connection.execute(sql, (first, last)).fetchall()
    table = np.array(rows, dtype=np.float64) if rows else np.empty((0, 1 + len(columns)))
    keys = np.array([row[0] for row in rows], dtype=np.int64)
    bucket, number = keys // POSITIONS, keys % POSITIONS
    out: Found = {}
    for card, uuid in window.cards.items():
        mine = number == card
        part, buckets = table[mine], bucket[mine]
        factor = _factor(buckets, window.at_most_points)
        place = 1
        for quantity in window.quantities:
            cells = part[:, place : place + len(rollup_columns(quantity))]
            place += cells.shape[1]
            out[uuid, quantity] = _rolled_series(window, quantity, buckets, cells, factor, width, _of_card(gaps, uuid))
    return out


def _factor(buckets: Ints, at_most: int) -> int:
    """How many buckets make one point, so that there are at most ``at_most`` (groups start at multiples of it)."""
    if len(buckets) == 0:
        return 1
    factor = max(1, int(buckets[-1] - buckets[0] + 1) // at_most)
    while buckets[-1] // factor - buckets[0] // factor + 1 > at_most:
        factor += 1
    return factor


def _rolled_series(
    window: Window, quantity: Quantity, buckets: Ints, cells: Floats, factor: int, width: int, gaps: Sequence[Gap]
) -> Series:
    there = ~np.isnan(cells[:, 0])
    groups, cells = buckets[there] // factor, cells[there]
    if len(groups) == 0:
        return empty_series()
    starts = np.flatnonzero(np.diff(groups, prepend=groups[0] - 1))
    scale = _SCALE[quantity]
    if QUANTITIES[quantity].counter:
        ends = np.append(starts[1:], len(groups)) - 1
        low = mean = high = cells[ends, 0] / scale
    elif quantity is Quantity.LIMIT_BITS:
        bits = cells.astype(np.int64)
        low = np.bitwise_and.reduceat(bits[:, 1], starts).astype(np.float64)
        high = np.bitwise_or.reduceat(bits[:, 3], starts).astype(np.float64)
        mean = _most_frequent(bits, starts)
    else:
        low = np.minimum.reduceat(cells[:, 1], starts) / scale
        high = np.maximum.reduceat(cells[:, 3], starts) / scale
        mean = np.add.reduceat(cells[:, 2], starts) / np.add.reduceat(cells[:, 0], starts) / scale
    point_ns = width * factor * NS
    t_ns = np.clip(groups[starts] * point_ns + point_ns // 2, window.t0_ns, window.t1_ns)
    breaks = _breaks(t_ns, point_ns, gaps, set())
    return Series(t_ns=t_ns, minimum=low, mean=mean, maximum=high, breaks=breaks, bucket_s=width * factor)


def _most_frequent(bits: Ints, starts: Ints) -> Floats:
    """The mask with the most samples in each group of roll-up rows (n, and, mask, or)."""
    counts, masks = bits[:, 0].tolist(), bits[:, 2].tolist()
    out: list[int] = []
    for a, b in pairwise([*starts.tolist(), len(masks)]):
        weights: Counter[int] = Counter()
        for mask, count in zip(masks[a:b], counts[a:b], strict=True):
            weights[mask] += count
        out.append(weights.most_common(1)[0][0])
    return np.array(out, dtype=np.float64)


def _of_card(gaps: Sequence[Gap], uuid: str) -> list[Gap]:
    return [gap for gap in gaps if gap.card is None or gap.card == uuid]


def _breaks(t_ns: Ints, point_ns: int, gaps: Sequence[Gap], known: set[int]) -> Ints:
    """Where the line is broken: at known places, in told gaps, and where nothing came for unusually long."""
    found = set(known)
    if len(t_ns) > 2:
        steps = np.diff(t_ns)
        usual = max(float(np.median(steps)), float(point_ns))
        found.update((np.flatnonzero(steps > SILENCE * usual) + 1).tolist())
    for gap in gaps:
        if gap.t1_ns - gap.t0_ns >= point_ns:
            found.add(int(np.searchsorted(t_ns, gap.t1_ns - point_ns // 2, side="left")))
    return np.array(sorted(place for place in found if 0 < place < len(t_ns)), dtype=np.int64)
