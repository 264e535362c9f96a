"""Readings packed as the driver gave them, and how they are unpacked where time does not matter.

What has been read many times is handed on as bytes, in a layout that is told once: checking ranges, converting and
naming values costs a reader of cards more than reading them.
"""

from dataclasses import dataclass
from itertools import count
from struct import Struct
from typing import NamedTuple

from gputuner.model.quantities import Quantity, Tier
from gputuner.model.readings import Reason
from gputuner.model.samples import Sample

_numbers = count(1)


def next_number() -> int:
    """A number for a new packing, unique within the process."""
    return next(_numbers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A raw number: what it is, what divides it into gputuner's unit, and its possible range (raw, inclusive)."""

    quantity: Quantity
    divisor: int
    low: int
    high: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """How one tier of one card is packed.

    Attributes:
        number: unique within the process that packs.
        layout: the raw numbers, as ``struct`` names them.
        reads: what they are, in this order. A quantity that is there twice is the sum of both.
        sentinel: a number that is none, whatever the range allows.
        missing: what the card does not tell, and why.
    """

    number: int
    card: str
    tier: Tier
    layout: str
    reads: tuple[Read, ...]
    sentinel: int
    missing: dict[Quantity, Reason]


class Packed(NamedTuple):
    """One tier of one card, read at ``t_ns``: ``data`` is packed as ``packing`` says."""

    packing: Packing
    t_ns: int
    data: bytes


class Unpacker:
    """Makes samples of packed readings.

    Attributes:
        packing: how they are packed.
        size: bytes of one reading.
        rejected: numbers so far that cannot be what they should be.
    """

    def __init__(self, packing: Packing) -> None:
        """Prepare for one card's tier."""
        self.packing = packing
        self._numbers = Struct(packing.layout)
        self._reads = tuple((read.quantity, read.divisor, read.low, read.high) for read in packing.reads)
        self.size = self._numbers.size
        self.rejected = 0

    def sample(self, t_ns: int, data: bytes) -> Sample:
        """The reading made at ``t_ns``, in gputuner's units; a number that cannot be is missing as implausible."""
        packing, sentinel = self.packing, self.packing.sentinel
        values: dict[Quantity, float] = {}
        rejected: list[Quantity] = []
        for (quantity, divisor, low, high), raw in zip(self._reads, self._numbers.unpack(data), strict=True):
            if low <= raw <= high and raw != sentinel:
                values[quantity] = values.get(quantity, 0.0) + raw / divisor
            else:
                rejected.append(quantity)
        missing = packing.missing | dict.fromkeys(rejected, Reason.IMPLAUSIBLE)
        self.rejected += len(rejected)
        for quantity in rejected:
            values.pop(quantity, None)
        return Sample(card=packing.card, t_ns=t_ns, values=values, missing=missing)
