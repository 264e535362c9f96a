"""Reads what a stored session tells of a card's wear from its roll-up of 10 s, a session of weeks from that of 60 s.

Ten million samples are some hundred thousand rows there. The lowest and highest reading of each row are kept, so no
peak is lost. Steps that blur what matters are read closer by (``wear_closer``).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gputuner.analysis.wear_changes import ERROR_COUNTERS
from gputuner.analysis.wear_hours import HOLDING, LIMIT_COUNTERS
from gputuner.analysis.wear_trace import SENSORS, Floats, Heat, WearTrace, observed_seconds
from gputuner.model.quantities import QUANTITIES, Limiter, Quantity
from gputuner.model.samples import Gap
from gputuner.sessions.columns import POSITIONS, QUANTITY_COLUMNS, SCALES
from gputuner.sessions.failures import translated
from gputuner.sessions.reader import SessionReader
from gputuner.sessions.rollup import NS
from gputuner.sessions.schema import rollup_columns, rollup_table
from gputuner.sessions.wear_closer import blurred, closer, limited_shares, with_finer

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
        if not pages:
            return None
        table = np.concatenate(pages)
        gaps = [gap for gap in reader.gaps() if gap.card is None or gap.card == uuid]
        trace = _trace(table, width_s, reader.started.t_ns, reader.started.unix_s, gaps)
        bits = table[:, [_AT[name] for name in rollup_columns(Quantity.LIMIT_BITS)]]
        core = trace.heat.get("core")
        sampled = _uncounted(trace) if np.isfinite(bits[:, 0]).any() else ()
        near = closer(connection, number[0], width_s, table[:, 0].astype(np.int64), blurred(bits, sampled, core))
    return replace(
        trace,
        limited={limiter: limited_shares(bits, limiter, near) for limiter in sampled},
        heat=trace.heat if core is None else {**trace.heat, "core": with_finer(core, near)},
    )


def _uncounted(trace: WearTrace) -> tuple[Limiter, ...]:
    """Limits of which the card has no counter, so that sampled reasons tell of them."""
    counted = {
        limiter for quantity, limiter in LIMIT_COUNTERS.items() if np.isfinite(trace.counters[quantity]).sum() >= 2
    }
    return tuple(limiter for limiter in HOLDING if limiter not in counted)


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
    return WearTrace(
        t_s=t_s,
        seconds=seconds,
        heat={name: heat for name, quantity in SENSORS.items() if (heat := _heat(table, quantity)) is not None},
        power_w=np.where(np.isfinite(power), power, _mean(table, Quantity.POWER_INSTANT_W)),
        fan=_mean(table, Quantity.FAN_FRACTION),
        busy=_mean(table, Quantity.GPU_UTILISATION),
        traffic=_mean(table, Quantity.MEMORY_UTILISATION),
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
