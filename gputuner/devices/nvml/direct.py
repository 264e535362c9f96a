# pyright: standard
"""Calls made ready once: functions of the driver's library with their arguments and room for their answers.

The binding makes structures, looks functions up and converts at every call, which costs ten times as much as the calls
themselves. What a card has answered the ordinary way is asked directly from then on, with all answers in one piece of
memory. As soon as something is not answered as foreseen, the ordinary way takes over with all that it knows.
"""

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from struct import Struct, pack
from typing import Any

from gputuner.devices.nvml.card import ASK_AGAIN_NS, Asker
from gputuner.devices.nvml.errors import LOST, error_of
from gputuner.devices.nvml.plausible import Kind, accepted
from gputuner.devices.nvml.tick import Tick
from gputuner.model.quantities import Quantity
from gputuner.model.readings import Reason

_VALUES = ("d", "I4x", "Q" if ctypes.sizeof(ctypes.c_ulong) == 8 else "I4x", "Q", "q", "i4x", "H6x")
"""Layout of ``nvmlValue_t`` by ``nvmlValueType_t`` (nvml.h)."""
_STATE = "24x2I8x"
"""Where type and return code stand in ``nvmlFieldValue_t``; its number comes first and its value last."""
_IMPLAUSIBLE, _PASSING = Reason.IMPLAUSIBLE, (Reason.ERROR, Reason.NOT_READ)


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


class Direct:
    """What one card answers in one tier, asked in one thread.

    Attributes:
        missing: the quantities that the card does not have, and why; the caller may put better reasons in.
    """

    def __init__(
        self, asker: Asker, calls: list[Call], fields: Fields, missing: dict[Quantity, Reason], until_ns: int
    ) -> None:
        """Lay the memory out; ``prepare`` finds the functions."""
        self.missing = missing
        self._info = asker.card.info
        self._until_ns = until_ns
        self._fields = tuple(fields)
        types = [asker.types[number] for number in fields]
        self._blank = b"".join((*(pack("=I36x", number) for number in fields), *(call.blank for call in calls)))
        self._states = Struct("=" + _STATE * len(types))
        self._foreseen = tuple(number for kind in types for number in (kind, 0))
        self._values = {number: Struct("=32x" + _VALUES[kind]) for number, kind in zip(fields, types, strict=True)}
        known = zip(fields.values(), types, strict=True)
        values = ["40x" if read is None else "32x" + _VALUES[kind] for read, kind in known]
        self._numbers = Struct("=" + "".join((*values, *(call.layout for call in calls))))
        reads = _reads(calls, fields)
        self._reads = tuple((quantity, kind.divisor, kind.low, kind.high) for quantity, kind in reads)
        self._memory = bytearray(self._blank)
        self._view = ctypes.c_char.from_buffer(self._memory)
        self._calls: tuple[Callable[[], int], ...] = ()

    def prepare(self, asker: Asker, calls: list[Call]) -> bool:
        """Bind functions and arguments; False if a function cannot be had."""
        ready: list[Callable[[], int]] = []
        at = ctypes.addressof(self._view)
        wanted = [(call.name, call.passed, call.answers, len(call.blank)) for call in calls]
        if self._fields:
            wanted.insert(0, ("nvmlDeviceGetFieldValues", (len(self._fields),), (0,), 40 * len(self._fields)))
        for name, passed, answers, size in wanted:
            function = asker.binding.pointer(name)
            if function is None:
                return False
            room = [ctypes.c_void_p(at + answer) for answer in answers]
            ready.append(partial(function, asker.handle, *passed, *room))
            at += size
        self._calls = tuple(ready)
        return True

    def holds(self, asker: Asker) -> bool:
        """False once refusals are to be asked about again, or the card's identity was read anew."""
        return asker.t_ns < self._until_ns and asker.card.info is self._info

    def read(self, asker: Asker) -> Tick | None:
        """One tick; None if a call is not answered as foreseen.

        Raises:
            DeviceLost: the card is gone.
        """
        memory = self._memory
        memory[:] = self._blank
        for call in self._calls:
            code = call()
            if code:
                return self._unforeseen(asker, code)
        states = self._states.unpack_from(memory)
        if states != self._foreseen:
            return self._unforeseen(asker, *states[1::2])
        tick = Tick(asker)
        tick.values = values = accepted(zip(self._reads, self._numbers.unpack_from(memory), strict=True))
        tick.missing = self.missing.copy()
        if len(values) != len(self._reads):
            rejected = [quantity for quantity, *_ in self._reads if quantity not in values]
            asker.rejected += len(rejected)
            tick.lack(_IMPLAUSIBLE, *rejected)
        return tick

    def raw(self, field: int) -> float | None:
        """The last tick's value of a field; None if the card does not have it."""
        if field not in self._values:
            return None
        return self._values[field].unpack_from(self._memory, 40 * self._fields.index(field))[0]

    def _unforeseen(self, asker: Asker, *codes: int) -> None:
        for code in codes:
            if code in LOST:
                raise error_of(code, asker.card.info.uuid)


def _reads(calls: list[Call], fields: Fields) -> list[tuple[Quantity, Kind]]:
    """Everything that is read, in the order of the memory."""
    return [*(read for read in fields.values() if read is not None), *(read for call in calls for read in call.reads)]


def learned(
    asker: Asker, tick: Tick, calls: tuple[Call, ...], fields: Fields, apart: frozenset[Quantity] = frozenset()
) -> Direct | None:
    """The calls behind an ordinary tick; None if some of it can only be read the ordinary way.

    Quantities ``apart`` are read by the caller in either case.
    """
    if asker.trouble is not None:
        return None
    refused = {key: until_ns for key, (_, until_ns) in asker.refused.items() if asker.t_ns < until_ns}
    asked = [call for call in calls if call.key not in refused]
    known = {number: read for number, read in fields.items() if ("field", number) not in refused}
    if not (asked or known) or any(asker.types.get(number, 7) >= len(_VALUES) for number in known):
        return None
    covered = {quantity for quantity, _ in _reads(asked, known)}
    missing = {quantity: reason for quantity, reason in tick.missing.items() if quantity not in covered | apart}
    unread = [tick.missing[quantity] for quantity in covered if quantity not in tick.values]
    if tick.values.keys() - covered - apart or any(reason is not _IMPLAUSIBLE for reason in unread):
        return None
    if any(reason in _PASSING for reason in missing.values()):
        return None
    until_ns = min(refused.values(), default=asker.t_ns + ASK_AGAIN_NS)
    direct = Direct(asker, asked, known, missing, until_ns)
    return direct if direct.prepare(asker, asked) else None
