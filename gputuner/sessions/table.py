"""Telemetry as a table in units: the one SELECT that every export reads."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gputuner.model.quantities import QUANTITIES
from gputuner.sessions.columns import QUANTITY_COLUMNS, SCALES
from gputuner.sessions.failures import translated
from gputuner.sessions.reader import SessionReader

CHUNK = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of the table: name and unit (empty: none). ``whole``: integers."""

    name: str
    unit: str
    whole: bool


COLUMNS: tuple[Column, ...] = (
    Column(name="origin", unit="", whole=False),
    Column(name="source", unit="", whole=False),
    Column(name="card", unit="", whole=False),
    Column(name="t_s", unit="s", whole=False),
    *(
        Column(name=str(q), unit=QUANTITIES[q].unit, whole=scale == 1)
        for q, scale in zip(QUANTITY_COLUMNS, SCALES, strict=True)
    ),
    Column(name="missing", unit="", whole=False),
)
"""``source``: who read the telemetry. ``t_s``: seconds since the run began. ``missing``: "quantity:reason" for what
could not be read; a quantity that is neither there nor named in it was not due on that tick."""


def rows(reader: SessionReader) -> Iterator[list[tuple[Any, ...]]]:
    """The rows of all cards in the order of the stream, in chunks; cells as ``COLUMNS`` say, None where not read.

    Raises:
        StoreError: the file is damaged.
    """
    cells = ", ".join(
        f"s.{q}" if scale == 1 else f"s.{q} / {scale}.0" for q, scale in zip(QUANTITY_COLUMNS, SCALES, strict=True)
    )
    with translated(reader.path):
        cursor = reader.connection.execute(
            f"SELECT c.origin, ?, c.uuid, (s.t_ns - ?) / 1e9, {cells}, p.missing "
            "FROM samples s JOIN cards c ON c.id = s.card LEFT JOIN patterns p ON p.id = s.pattern ORDER BY s.id",
            (reader.source, reader.started.t_ns),
        )
        while chunk := cursor.fetchmany(CHUNK):
            yield chunk
