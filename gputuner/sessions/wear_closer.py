"""What a step of a session's roll-up blurs, from the rows of the next finer one: sampled limits, fast temperatures."""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from gputuner.analysis.wear_hours import CLASSES_K, HOLDING
from gputuner.analysis.wear_trace import Finer, Flags, Floats, Heat, Ints
from gputuner.model.quantities import Limiter, Quantity
from gputuner.sessions.columns import POSITIONS, QUANTITY_COLUMNS, SCALES
from gputuner.sessions.schema import rollup_columns, rollup_table

FINER_S: dict[int, int] = {10: 1, 60: 10}
"""Width of the roll-up that is read for a step of so many seconds."""
_CORE = Quantity.CORE_TEMPERATURE_C
_COLUMNS = (*rollup_columns(Quantity.LIMIT_BITS), f"{_CORE}_min", f"{_CORE}_max")
_SCALE_C = SCALES[QUANTITY_COLUMNS.index(_CORE)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Closer:
    """Rows of the finer roll-up. ``step``: int64 (m,), that each lies in; ``bits``: (m, 4); ``low``, ``high``: °C (m,).

    ``bits``: samples that had a mask, the bits that were always set, the most frequent mask, the bits ever set.
    """

    step: Ints
    bits: Floats
    low: Floats
    high: Floats


def closer(connection: sqlite3.Connection, card: int, width_s: int, numbers: Ints, wanted: Flags) -> Closer:
    """The finer rows of those steps that are ``wanted``.

    Args:
        connection: of an open session.
        card: its number there.
        width_s: width of a step.
        numbers: of each step's row, which is its time over its width, (n,).
        wanted: which steps, (n,).
    """
    ratio = width_s // FINER_S[width_s]
    asked = (
        f"SELECT {', '.join(_COLUMNS)} FROM {rollup_table(FINER_S[width_s])} "
        f"WHERE id IN ({', '.join('?' * ratio)}) ORDER BY id"
    )
    found: list[tuple[float | None, ...]] = []
    for step in np.flatnonzero(wanted).tolist():
        first = int(numbers[step]) * ratio
        ids = [number * POSITIONS + card for number in range(first, first + ratio)]
        found += [(step, *row) for row in connection.execute(asked, ids)]
    table = np.array(found, dtype=np.float64).reshape(-1, 1 + len(_COLUMNS))
    return Closer(
        step=table[:, 0].astype(np.int64),
        bits=table[:, 1:5],
        low=table[:, 5] / _SCALE_C,
        high=table[:, 6] / _SCALE_C,
    )


def blurred(bits: Floats, limiters: Iterable[Limiter], core: Heat | None) -> Flags:
    """Which steps are to be seen closer by: those only partly in one of the limits, and where the core moved fast.

    A step in which it moved by less than the smallest cycle that is told cannot hold one.
    """
    asked = 0
    for limiter in limiters:
        asked |= HOLDING[limiter]
    always, ever = _masks(bits[:, 1]), _masks(bits[:, 3])
    partly = ((always ^ ever) & asked) != 0
    return partly if core is None else partly | (core.high - core.low >= CLASSES_K[0])


def limited_shares(bits: Floats, limiter: Limiter, near: Closer) -> Floats:
    """Share of each step's samples in a limit, (n,); NaN where none had a mask."""
    told = _share(bits, HOLDING[limiter])
    close = _share(near.bits, HOLDING[limiter])
    known = np.isfinite(close)
    count = np.bincount(near.step[known], weights=near.bits[known, 0], minlength=told.size)
    inside = np.bincount(near.step[known], weights=(near.bits[:, 0] * close)[known], minlength=told.size)
    return np.where(count > 0, inside / np.maximum(count, 1.0), told)


def _share(bits: Floats, bit: int) -> Floats:
    """Share of samples with ``bit``: 1 or 0 where all or none had it, else the middle of what its masks allow.

    Where the most frequent mask has the bit at least half of n samples have it, and not all: right for n of 2 and 3.
    """
    count = bits[:, 0]
    half = 0.5 * (np.ceil(0.5 * count) + count - 1.0) / np.maximum(count, 1.0)
    always, mode, ever = ((_masks(bits[:, place]) & bit) != 0 for place in (1, 2, 3))
    share = np.where(always, 1.0, np.where(ever, np.where(mode, half, 1.0 - half), 0.0))
    return np.where(count > 0, share, np.nan)


def _masks(values: Floats) -> Ints:
    return np.nan_to_num(values, nan=0.0).astype(np.int64)


def with_finer(heat: Heat, near: Closer) -> Heat:
    """A temperature with the finer rows of those steps that have any."""
    read = np.isfinite(near.low)
    if not read.any():
        return heat
    own = np.flatnonzero(~np.isin(np.arange(heat.low.size), near.step[read]))
    step = np.concatenate([own, near.step[read]])
    order = np.argsort(step, kind="stable")
    low, high = np.concatenate([heat.low[own], near.low[read]]), np.concatenate([heat.high[own], near.high[read]])
    return replace(heat, finer=Finer(step=step[order], low=low[order], high=high[order]))
