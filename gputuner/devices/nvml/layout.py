# pyright: standard
"""Where the answers of a tier's calls stand in memory and what they mean; the same for all cards of a kind."""

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from operator import le
from struct import Struct, pack
from typing import Any

from gputuner.devices.nvml.plausible import ALL_ONES_32, Kind, accepted
from gputuner.model.quantities import Quantity

VALUES = ("d", "I4x", "Q" if ctypes.sizeof(ctypes.c_ulong) == 8 else "I4x", "Q", "q", "i4x", "H6x")
"""Layout of ``nvmlValue_t`` by ``nvmlValueType_t`` (nvml.h)."""
FIELD_BYTES = 40
"""Size of ``nvmlFieldValue_t``."""
_STATE = "24x2I8x"
"""Where type and return code stand in ``nvmlFieldValue_t``; its number comes first and its value last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call and the quantities in its answer.

    Attributes:
        name: of the function.
        asked: arguments with which an asker asks it.
        passed: arguments between handle and answer.
        answers: where in ``blank`` the function puts its answers, an argument for each.
        blank: the answer's structure (nvml.h) before the call, in multiples of eight bytes.
        layout: the numbers in it, as ``struct`` names them (no alignment); all of ``blank``.
        reads: what these numbers are.
    """

    name: str
    asked: tuple[int, ...] = ()
    passed: tuple[int, ...] = ()
    answers: tuple[int, ...] = (0,)
    blank: bytes = bytes(8)
    layout: str
    reads: tuple[tuple[Quantity, Kind], ...]

    @property
    def key(self) -> tuple[Any, ...]:
        """Under which an asker remembers a refusal."""
        return (self.name, *self.asked)


Fields = Mapping[int, tuple[Quantity, Kind] | None]
"""What is read of ``nvmlDeviceGetFieldValues``, by field; None: its raw value is asked for afterwards (``raw``)."""

_Field = tuple[int, tuple[Quantity, Kind] | None]


class Layout:
    """The memory of a tier: field values first, then the answer of each call.

    Attributes:
        fields: numbers of the fields.
        blank: the memory before the calls.
        quantities: what is read, in the order of the memory.
    """

    __slots__ = (
        "_divided",
        "_foreseen",
        "_highs",
        "_lows",
        "_numbers",
        "_reads",
        "_states",
        "_values",
        "blank",
        "fields",
        "quantities",
    )

    def __init__(self, fields: tuple[_Field, ...], types: tuple[int, ...], calls: tuple[Call, ...]) -> None:
        """``types``: ``nvmlValueType_t`` of each field."""
        self.fields = tuple(number for number, _ in fields)
        self.blank = b"".join((*(pack("=I36x", number) for number in self.fields), *(call.blank for call in calls)))
        self._states = Struct("=" + _STATE * len(types))
        self._foreseen = tuple(number for kind in types for number in (kind, 0))
        self._values = {number: Struct("=32x" + VALUES[kind]) for number, kind in zip(self.fields, types, strict=True)}
        values = [
            "40x" if read is None else "32x" + VALUES[kind] for (_, read), kind in zip(fields, types, strict=True)
        ]
        self._numbers = Struct("=" + "".join((*values, *(call.layout for call in calls))))
        found = reads(calls, dict(fields))
        self._reads = tuple((quantity, kind.divisor, kind.low, kind.high) for quantity, kind in found)
        self.quantities = tuple(quantity for quantity, _ in found)
        self._lows, self._highs = tuple(kind.low for _, kind in found), tuple(kind.high for _, kind in found)
        self._divided = tuple((place, kind.divisor) for place, (_, kind) in enumerate(found) if kind.divisor != 1)

    def unforeseen(self, memory: bytearray) -> tuple[int, ...]:
        """Return codes of the fields if one of them is not answered, or in another type; else nothing."""
        states = self._states.unpack_from(memory)
        return () if states == self._foreseen else states[1::2]

    def values(self, memory: bytearray) -> dict[Quantity, float]:
        """The possible ones of the values in ``memory``, in gputuner's units."""
        numbers = self._numbers.unpack_from(memory)
        if all(map(le, self._lows, numbers)) and all(map(le, numbers, self._highs)) and ALL_ONES_32 not in numbers:
            converted = list(numbers)
            for place, divisor in self._divided:
                converted[place] /= divisor
            return dict(zip(self.quantities, converted, strict=True))
        return accepted(zip(self._reads, numbers, strict=True))

    def raw(self, field: int, memory: bytearray) -> float | None:
        """The value of a field as it stands in ``memory``; None if it is not read."""
        if field not in self._values:
            return None
        return self._values[field].unpack_from(memory, FIELD_BYTES * self.fields.index(field))[0]


layout = lru_cache(maxsize=64)(Layout)
"""One layout for all cards that answer the same: less memory to walk through in each round."""


def reads(calls: tuple[Call, ...], fields: Fields) -> list[tuple[Quantity, Kind]]:
    """Everything that is read, in the order of the memory."""
    return [*(read for read in fields.values() if read is not None), *(read for call in calls for read in call.reads)]
