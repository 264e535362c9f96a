"""Reads what a stored session tells of a card's wear from its roll-up of 10 s, a session of weeks from that of 60 s.

Ten million samples are some hundred thousand rows there. The lowest and highest reading of each row are kept, so no
peak is lost; what the rows blur is when within the step it was.
"""

from collections.abc import Sequence

import numpy as np

from gputuner.analysis.wear_changes import ERROR_COUNTERS
from gputuner.analysis.wear_hours import LIMIT_COUNTERS
from gputuner.analysis.wear_trace import SENSORS, Floats, Heat, WearTrace, observed_seconds
from gputuner.model.quantities import QUANTITIES, Quantity
from gputuner.model.samples import Gap
from gputuner.sessions.columns import POSITIONS, QUANTITY_COLUMNS, SCALES
from gputuner.sessions.failures import translated
from gputuner.sessions.reader import SessionReader
from gputuner.sessions.rollup import NS
from gputuner.sessions.schema import rollup_columns, rollup_table

STEP_S, LONG_STEP_S, MOST_STEPS = 10, 60, 200_000
"""Width of a step, that of sessions of more steps, and how many these are (23 days)."""
PAGE = 20_000
"""Rows fetched at a time."""
COUNTERS: tuple[Quantity, ...] = (*LIMIT_COUNTERS, *ERROR_COUNTERS)
MEANS: tuple[Quantity, ...] = (
    Quantity.POWER_AVERAGE_W,
    Quantity.POWER_INSTANT_W,
    Quantity.FAN_FRACTION,
    Quantity.GPU_UTILISATION,
    Quantity.MEMORY_UTILISATION,
)
_READ: tuple[Quantity, ...] = (*SENSORS.values(), *MEANS, Quantity.LIMIT_BITS, *COUNTERS)
_SCALE = dict(zip(QUANTITY_COLUMNS, SCALES, strict=True))
_COLUMNS = ("rows", *(name for quantity in _READ for name in rollup_columns(quantity)))
_AT = {name: place for place, name in enumerate(_COLUMNS, start=1)}


def wear_trace(reader: SessionReader, uuid: str) -> WearTrace | None:
    """The steps of a card in an open session, at unix times; None where the session holds no sample of it.

    Raises:
        StoreError: the file is damaged.
    """
    with translated(reader.path):
        connection = reader.connection
        number = connection.execute("SELECT id FROM cards WHERE uuid = ?", (uuid,)).fetchone()
        if number is None:
            return None
        first, last = connection.execute(f"SELECT min(id), max(id) FROM {rollup_table(STEP_S)}").fetchone()
        if first is None:
            return None
        width_s = STEP_S if last // POSITIONS - first // POSITIONS <= MOST_STEPS else LONG_STEP_S
        found = connection.execute(
            f"SELECT id / {POSITIONS}, {', '.join(_COLUMNS)} FROM {rollup_table(width_s)} "
            f"WHERE id % {POSITIONS} = ? ORDER BY id",
            number,
        )
        pages: list[Floats] = []
        while rows := found.fetchmany(PAGE):
            pages.append(np.array(rows, dtype=np.float64))
        gaps = [gap for gap in reader.gaps() if gap.card is None or gap.card == uuid]
    return _trace(np.concatenate(pages), width_s, reader.started.t_ns, reader.started.unix_s, gaps) if pages else None


def xids_of(reader: SessionReader, uuid: str) -> tuple[int, ...]:
    """XID errors of a card in an open session."""
    return tuple(seen.xid for seen in reader.xids() if seen.card == uuid)


def _trace(table: Floats, width_s: int, start_ns: int, unix_s: float, gaps: Sequence[Gap]) -> WearTrace:
    from_start_s = (table[:, 0].astype(np.int64) * (width_s * NS) - start_ns) / NS
    t_s = unix_s + from_start_s
    seconds = observed_seconds(t_s, table[:, _AT["rows"]], width_s)
    seconds = np.minimum(seconds, np.maximum(0.0, from_start_s + seconds))  # the run began within its first step
    for gap in gaps:
        begin, end = (gap.t0_ns - start_ns) / NS, (gap.t1_ns - start_ns) / NS
        silent = np.minimum(end, from_start_s + seconds) - np.maximum(begin, from_start_s)
        seconds = np.maximum(0.0, seconds - np.maximum(0.0, silent))
    power = _mean(table, Quantity.POWER_AVERAGE_W)
    bits = table[:, _AT[f"{Quantity.LIMIT_BITS}_sum"]]
    return WearTrace(
        t_s=t_s,
        seconds=seconds,
        heat={name: heat for name, quantity in SENSORS.items() if (heat := _heat(table, quantity)) is not None},
        power_w=np.where(np.isfinite(power), power, _mean(table, Quantity.POWER_INSTANT_W)),
        fan=_mean(table, Quantity.FAN_FRACTION),
        busy=_mean(table, Quantity.GPU_UTILISATION),
        traffic=_mean(table, Quantity.MEMORY_UTILISATION),
        limit_bits=np.where(np.isfinite(bits), bits, -1.0).astype(np.int64),
        counters={q: table[:, _AT[f"{q}_last"]] / _SCALE[q] for q in COUNTERS},
        step_s=float(width_s),
    )


def _mean(table: Floats, quantity: Quantity) -> Floats:
    assert not QUANTITIES[quantity].counter
    with np.errstate(invalid="ignore", divide="ignore"):
        return table[:, _AT[f"{quantity}_sum"]] / table[:, _AT[f"{quantity}_n"]] / _SCALE[quantity]


def _heat(table: Floats, quantity: Quantity) -> Heat | None:
    low, high = (table[:, _AT[f"{quantity}_{part}"]] / _SCALE[quantity] for part in ("min", "max"))
    return Heat(low=low, mean=_mean(table, quantity), high=high) if np.isfinite(low).any() else None
