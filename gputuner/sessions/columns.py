"""How a sample becomes one row of integers and back.

One column per ``Quantity``, holding ``round(value / resolution)`` (NVML's own resolution); NULL where nothing was
read. Why a quantity is missing stands once in the table ``patterns`` and is referred to by number, so that "missing
with a reason" and "not due on this tick" stay apart at the price of one small integer per row.
"""

import sys

from gputuner.model.errors import StoreError
from gputuner.model.quantities import QUANTITIES, Quantity
from gputuner.model.readings import Reason
from gputuner.model.samples import Sample

QUANTITY_COLUMNS: tuple[Quantity, ...] = tuple(QUANTITIES)
"""Quantities in the order of their columns."""

SCALES: tuple[int, ...] = tuple(round(1 / QUANTITIES[q].resolution) for q in QUANTITY_COLUMNS)
"""Stored steps per unit, in the order of the columns: ``value = stored / scale``."""

POSITIONS = 4096
"""Rows per tick at most. The key of a row is ``seq · POSITIONS + position``: rows lie in the order of the stream."""

Cell = int | float | None

_PLACE = {q: (place, scale) for place, (q, scale) in enumerate(zip(QUANTITY_COLUMNS, SCALES, strict=True))}
_EMPTY: tuple[Cell, ...] = (None,) * len(QUANTITY_COLUMNS)
_LIMIT = 2**62
_HUGE = sys.float_info.max

Missing = dict[Quantity, Reason]


def encode_values(values: dict[Quantity, float]) -> list[Cell]:
    """One cell per column. What does not fit in 64 bits (a nonsense reading) is kept as a float instead."""
    row = list(_EMPTY)
    for quantity, value in values.items():
        place, scale = _PLACE[quantity]
        scaled = value * scale
        row[place] = round(scaled) if -_LIMIT < scaled < _LIMIT else float(max(-_HUGE, min(scaled, _HUGE)))
    return row


def decode_values(cells: tuple[Cell, ...]) -> dict[Quantity, float]:
    """The values of a row in their units; cells that are NULL are left out."""
    return {
        quantity: cell / scale
        for quantity, scale, cell in zip(QUANTITY_COLUMNS, SCALES, cells, strict=True)
        if cell is not None
    }


def decode_sample(card: str, t_ns: int, cells: tuple[Cell, ...], missing: Missing | None) -> Sample:
    """The sample that a row was made from (floats within the resolution of their quantity)."""
    return Sample(card=card, t_ns=t_ns, values=decode_values(cells), missing=dict(missing) if missing else {})


def encode_missing(missing: Missing) -> str:
    """The text of one pattern: ``quantity:reason``, sorted, with spaces between."""
    return " ".join(sorted(f"{quantity}:{reason}" for quantity, reason in missing.items()))


def decode_missing(text: str) -> Missing:
    """The pattern in ``text``.

    Raises:
        StoreError: the text is damaged.
    """
    try:
        return {Quantity(quantity): Reason(reason) for quantity, _, reason in (w.partition(":") for w in text.split())}
    except ValueError as error:
        raise StoreError("record_malformed", f"unreadable pattern: {error}") from error
