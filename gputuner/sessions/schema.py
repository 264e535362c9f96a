"""Version 1 of the session file.

=============  ====================================================================================================
table          what it holds
=============  ====================================================================================================
events         every event but telemetry: ``seq`` (place in the stream), ``kind``, ``t_ns``, the event as JSON
ticks          one row per telemetry event: ``seq``, ``t_ns``; JSON of process tables; JSON of ``facts`` (gaps, XIDs,
               changed cards) where there are any
samples        one row per card and tick: ``id`` = seq · 4096 + position, ``card``, ``t_ns``, ``pattern``, one integer
               per quantity in its stored resolution (see ``columns``)
cards          number ↔ UUID of a card, and where its numbers come from
patterns       why quantities are missing, referred to by ``samples.pattern``
rollup_1s …    per card and second (10 s, 60 s): ``id`` = bucket · 4096 + card, rows, first and last ``samples.id``,
               and per quantity n, min, sum, max (counters: last; see ``rollup``)
=============  ====================================================================================================

``samples`` is clustered by tick, not by card: rows are only ever appended at the right edge of one B-tree, which
replay reads straight through. Keyed by ``(card, t_ns)`` the table is larger and slower to write (measured:
docs/measurements/sessions.md). ``first_id``/``last_id`` of the 1 s roll-up lead from a time to its rows, so no index
on time is needed.
"""

import sqlite3

from gputuner.model.quantities import QUANTITIES, Quantity
from gputuner.sessions.columns import QUANTITY_COLUMNS

VERSION = 1
"""``PRAGMA user_version`` of files written by this program."""

APPLICATION_ID = 0x67707574
"""``PRAGMA application_id``: "gput"."""

LEVELS_S: tuple[int, ...] = (1, 10, 60)
"""Widths of the roll-ups in seconds; each is a multiple of the one before."""


def rollup_table(width_s: int) -> str:
    """Name of the table of a roll-up level."""
    return f"rollup_{width_s}s"


def rollup_columns(quantity: Quantity) -> tuple[str, ...]:
    """Columns of a quantity in a roll-up table."""
    if QUANTITIES[quantity].counter:
        return (f"{quantity}_last",)
    return tuple(f"{quantity}_{part}" for part in ("n", "min", "sum", "max"))


def _statements() -> list[str]:
    quantities = ", ".join(f"{q} INTEGER" for q in QUANTITY_COLUMNS)
    rollups = ", ".join(f"{column} INTEGER" for q in QUANTITY_COLUMNS for column in rollup_columns(q))
    return [
        "CREATE TABLE events(seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, t_ns INTEGER NOT NULL, json TEXT NOT NULL)",
        "CREATE INDEX events_kind ON events(kind, seq)",
        "CREATE TABLE ticks(seq INTEGER PRIMARY KEY, t_ns INTEGER NOT NULL, processes TEXT, facts TEXT)",
        "CREATE INDEX ticks_facts ON ticks(seq) WHERE facts IS NOT NULL",
        "CREATE TABLE cards(id INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE, origin TEXT NOT NULL)",
        "CREATE TABLE patterns(id INTEGER PRIMARY KEY, missing TEXT NOT NULL)",
        f"CREATE TABLE samples(id INTEGER PRIMARY KEY, card INTEGER NOT NULL, t_ns INTEGER NOT NULL, "
        f"pattern INTEGER, {quantities})",
        *(
            f"CREATE TABLE {rollup_table(width)}(id INTEGER PRIMARY KEY, rows INTEGER NOT NULL, "
            f"first_id INTEGER NOT NULL, last_id INTEGER NOT NULL, {rollups})"
            for width in LEVELS_S
        ),
    ]


def create(connection: sqlite3.Connection) -> None:
    """Lay out an empty database as a session file of this version, in one transaction."""
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute("BEGIN IMMEDIATE")
    for statement in _statements():
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")
