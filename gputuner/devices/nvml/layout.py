# pyright: standard
"""Where the answers of a tier's calls stand in memory and what they mean; the same for all cards of a kind."""

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from struct import Struct, pack
from typing import Any

from gputuner.devices.nvml.plausible import Kind
from gputuner.devices.packing import Read
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


Fields = Mapping[int, tuple[Quantity, Kind]]
"""What is read of ``nvmlDeviceGetFieldValues``, by field."""

_Field = tuple[int, tuple[Quantity, Kind]]


class Layout:
    """The memory of a tier: field values first, then the answer of each call.

    Attributes:
        wanted: of each function its name, its arguments between handle and answers, where the answers stand in its
            part of the memory, and the size of that part.
        names: of the functions.
        blank: the memory before the calls.
        states: type and return code of each field; ``foreseen``: what they are if all are answered as before.
        numbers: the raw numbers in it, as ``struct`` names them.
        reads: what they are, in this order.
    """

    __slots__ = ("blank", "foreseen", "names", "numbers", "reads", "states", "wanted")

    def __init__(self, fields: tuple[_Field, ...], types: tuple[int, ...], calls: tuple[Call, ...]) -> None:
        """``types``: ``nvmlValueType_t`` of each field."""
        asked = (("nvmlDeviceGetFieldValues", (len(fields),), (0,), FIELD_BYTES * len(fields)),) if fields else ()
        self.wanted = (*asked, *((call.name, call.passed, call.answers, len(call.blank)) for call in calls))
        self.names = tuple(name for name, *_ in self.wanted)
        self.blank = b"".join((*(pack("=I36x", number) for number, _ in fields), *(call.blank for call in calls)))
        self.states = Struct(f"={_STATE * len(types)}{sum(len(call.blank) for call in calls)}x")
        self.foreseen = tuple(number for kind in types for number in (kind, 0))
        self.numbers = "=" + "".join((*("32x" + VALUES[kind] for kind in types), *(call.layout for call in calls)))
        self.reads = tuple(
            Read(quantity=quantity, divisor=kind.divisor, low=kind.low, high=kind.high)
            for quantity, kind in reads(calls, dict(fields))
        )


layout = lru_cache(maxsize=64)(Layout)
"""One layout for all cards that answer the same: less memory to walk through in each round."""


def reads(calls: tuple[Call, ...], fields: Fields) -> list[tuple[Quantity, Kind]]:
    """Everything that is read, in the order of the memory."""
    return [*fields.values(), *(read for call in calls for read in call.reads)]
