"""Readings packed as the driver gave them, and how they are unpacked where time does not matter.

What has been read many times is handed on as bytes, in a layout that is told once: checking ranges, converting and
naming values costs a reader of cards more than reading them. Cards that are read one after the other make one piece.
"""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from struct import Struct
from typing import NamedTuple

from gputuner.model.quantities import Quantity, Tier
from gputuner.model.readings import Reason
from gputuner.model.samples import Sample

_numbers = count(1)
_divided: Callable[[float, float], float] = operator.truediv  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]


def next_number() -> int:
    """A number for a new packing or bundle, unique within the process."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """How one tier of one or more cards is packed that are read one after the other.

    First the times at which the second and the further cards were read (int64, ns), then what each of them told.

    Attributes:
        number: unique within the process that packs, among packings and bundles.
        packings: of each card.
    """

    number: int
    packings: tuple[Packing, ...]

    @property
    def card(self) -> str:
        """The card that is read first."""
        return self.packings[0].card


class Packed(NamedTuple):
    """One tier of a card or of several, read from ``t_ns`` on: ``data`` is packed as ``packing`` says."""

    packing: Packing | Bundle
    t_ns: int
    data: bytes


class Swept(NamedTuple):
    """The fast tier of cards that were read in one go.

    ``times``: when each of the ``cards`` was read and, last, when all were (ns).
    """

    packed: Packed
    cards: tuple[str, ...]
    times: tuple[int, ...]


class Unpacker:
    """Makes samples of packed readings: all numbers of all cards are judged and converted column by column.

    Attributes:
        packings: how they are packed, card by card.
        size: bytes of one reading (of all cards).
        rejected: numbers so far that cannot be what they should be.
    """

    def __init__(self, *packings: Packing) -> None:
        """Prepare for one tier of a card, or of the cards of a bundle."""
        self.packings = packings
        self._times = len(packings) - 1
        layouts = (packing.layout.removeprefix("=") for packing in packings)
        self._numbers = Struct("=" + "q" * self._times + "".join(layouts))
        reads = [read for packing in packings for read in packing.reads]
        self._lows = tuple(read.low for read in reads)
        self._highs = tuple(read.high for read in reads)
        self._divisors = tuple(read.divisor for read in reads)
        self._sentinels = {packing.sentinel for packing in packings}
        self._rows: list[tuple[Packing, tuple[Quantity, ...], slice]] = []
        begin = 0
        for packing in packings:
            names = tuple(read.quantity for read in packing.reads)
            self._rows.append((packing, names, slice(begin, begin + len(names))))
            begin += len(names)
        self._once = all(len(set(names)) == len(names) for _, names, _ in self._rows)
        self.size = self._numbers.size
        self.rejected = 0

    def samples(self, t_ns: int, data: bytes) -> list[Sample]:
        """The readings begun at ``t_ns``, in gputuner's units; a number that cannot be is missing as implausible."""
        numbers = self._numbers.unpack(data)
        times, raw = (t_ns, *numbers[: self._times]), numbers[self._times :]
        possible = all(map(operator.le, self._lows, raw)) and all(map(operator.le, raw, self._highs))
        if not (possible and self._once and self._sentinels.isdisjoint(raw)):
            return [
                self._judged(packing, at, raw[part]) for (packing, _, part), at in zip(self._rows, times, strict=True)
            ]
        values = tuple(map(_divided, raw, self._divisors))
        return [
            Sample(
                card=packing.card,
                t_ns=at,
                values=dict(zip(names, values[part], strict=True)),
                missing=packing.missing.copy(),
            )
            for (packing, names, part), at in zip(self._rows, times, strict=True)
        ]

    def _judged(self, packing: Packing, t_ns: int, raw: tuple[float, ...]) -> Sample:
        """One card's reading, number by number: some cannot be what they should be, or are parts of a sum."""
        values: dict[Quantity, float] = {}
        rejected: list[Quantity] = []
        for read, number in zip(packing.reads, raw, strict=True):
            if read.low <= number <= read.high and number != packing.sentinel:
                values[read.quantity] = values.get(read.quantity, 0.0) + number / read.divisor
            else:
                rejected.append(read.quantity)
        self.rejected += len(rejected)
        for quantity in rejected:
            values.pop(quantity, None)
        missing = packing.missing | dict.fromkeys(rejected, Reason.IMPLAUSIBLE)
        return Sample(card=packing.card, t_ns=t_ns, values=values, missing=missing)
