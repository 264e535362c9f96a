# pyright: standard
"""Calls made ready once: functions of the driver's library with their arguments and room for their answers.

The binding makes structures, looks functions up and converts at every call, which costs ten times as much as the calls
themselves. What a card has answered the ordinary way is asked directly from then on, with all answers in one piece of
memory. As soon as something is not answered as foreseen, the ordinary way takes over with all that it knows.
"""

import ctypes
from collections.abc import Callable, Iterator
from functools import partial
from operator import call as called
from operator import length_hint
from typing import Any

from gputuner.devices.nvml import plausible
from gputuner.devices.nvml.card import ASK_AGAIN_NS, Asker
from gputuner.devices.nvml.errors import LOST, error_of
from gputuner.devices.nvml.layout import VALUES, Call, Fields, Layout, layout, reads
from gputuner.devices.nvml.tick import Tick
from gputuner.devices.packing import Packed, Packing, Unpacker, next_number
from gputuner.model.quantities import Quantity, Tier
from gputuner.model.readings import Reason
from gputuner.model.samples import Sample

_IMPLAUSIBLE, _PASSING = Reason.IMPLAUSIBLE, (Reason.ERROR, Reason.NOT_READ)


class Direct:
    """What one card answers in one tier, asked in one thread.

    Attributes:
        packing: how ``read`` packs the answers.
        layout: the calls, and where their answers stand.
        apart: True if there is more to read of the tier than these answers.
        until_ns: when refusals are to be asked about again.
    """

    __slots__ = (
        "_calls",
        "_foreseen",
        "_info",
        "_left",
        "_memory",
        "_names",
        "_states",
        "_unpacker",
        "_view",
        "apart",
        "layout",
        "packing",
        "until_ns",
    )

    def __init__(self, asker: Asker, of: Layout, packing: Packing, apart: bool, until_ns: int) -> None:
        """Have the memory; ``prepare`` finds the functions."""
        self.packing = packing
        self.apart = apart
        self._info = asker.card.info
        self._unpacker: Unpacker | None = None
        self.until_ns = until_ns
        self.layout = of
        self._states, self._foreseen = of.states.unpack, of.foreseen
        self._memory = bytearray(of.blank)
        self._view = ctypes.c_char.from_buffer(self._memory)
        self._calls: tuple[Callable[[], int], ...] = ()
        self._names: tuple[str, ...] = ()
        self._left: Iterator[Callable[[], int]] = iter(())

    def prepare(self, asker: Asker) -> bool:
        """Bind functions and arguments; False if a function cannot be had."""
        ready = bound(asker, self.layout, self._view, 0)
        if ready is not None:
            self._calls, self._names = ready, self.layout.names
        return ready is not None

    def holds(self, asker: Asker, t_ns: int) -> bool:
        """False once refusals are to be asked about again, or the card's identity was read anew."""
        return t_ns < self.until_ns and asker.card.info is self._info

    def unpacked(self, asker: Asker, packed: Packed) -> Sample:
        """A reading as a sample."""
        if self._unpacker is None:
            self._unpacker = Unpacker(self.packing)
        before = self._unpacker.rejected
        (sample,) = self._unpacker.samples(packed.t_ns, packed.data)
        asker.rejected += self._unpacker.rejected - before
        return sample

    def read(self, asker: Asker, t_ns: int) -> Packed | None:
        """One reading; None if a call is not answered as foreseen, or this does not hold any more.

        Raises:
            DeviceLost: the card is gone.
        """
        if not self.holds(asker, t_ns):
            return None
        memory = self._memory
        memory[:] = self.layout.blank
        self._left, asker.out = iter(self._calls), self
        code = next(filter(None, map(called, self._left)), 0)  # of the first call that fails; none is made after it
        asker.out = None
        states = self._states(memory)
        if code or states != self._foreseen:
            for told in (code, *states[1::2]):
                if told in LOST:
                    raise error_of(told, asker.card.info.uuid)
            return None
        return Packed(self.packing, t_ns, bytes(memory))

    @property
    def asking(self) -> str | None:
        """Name of the call that is out (while ``read`` is); from any thread."""
        place = len(self._calls) - length_hint(self._left) - 1
        return self._names[place] if 0 <= place < len(self._names) else None


def learned(
    asker: Asker,
    tier: Tier,
    tick: Tick,
    calls: tuple[Call, ...],
    fields: Fields,
    apart: frozenset[Quantity] = frozenset(),
) -> Direct | None:
    """The calls behind an ordinary tick; None if some of it can only be read the ordinary way.

    Quantities ``apart`` are read by the caller in either case.
    """
    if asker.trouble is not None:
        return None
    asked = tuple(call for call in calls if not asker.refuses(call.key))
    known = {number: read for number, read in fields.items() if not asker.refuses(("field", number))}
    if not (asked or known) or any(asker.types.get(number, 7) >= len(VALUES) for number in known):
        return None
    covered = {quantity for quantity, _ in reads(asked, known)}
    missing = {quantity: reason for quantity, reason in tick.missing.items() if quantity not in covered | apart}
    unread = [tick.missing[quantity] for quantity in covered if quantity not in tick.values]
    if tick.values.keys() - covered - apart or any(reason is not _IMPLAUSIBLE for reason in unread):
        return None
    if any(reason in _PASSING for reason in missing.values()):
        return None
    of = layout(tuple(known.items()), tuple(asker.types[number] for number in known), asked)
    packing = Packing(
        number=next_number(),
        card=asker.card.info.uuid,
        tier=tier,
        layout=of.numbers,
        reads=of.reads,
        sentinel=plausible.ALL_ONES_32,
        missing=missing,
    )
    until_ns = min(
        (until for _, until in asker.refused.values() if until > asker.t_ns), default=asker.t_ns + ASK_AGAIN_NS
    )
    direct = Direct(asker, of, packing, bool(apart), until_ns)
    return direct if direct.prepare(asker) else None


def bound(asker: Asker, of: Layout, view: Any, at: int) -> tuple[Callable[[], int], ...] | None:
    """The calls of a layout for one card, answered into the memory of ``view`` from ``at`` on.

    None if a function cannot be had.
    """
    ready: list[Callable[[], int]] = []
    handle = ctypes.byref(asker.handle.contents)
    for name, passed, answers, size in of.wanted:
        function = asker.binding.pointer(name)
        if function is None:
            return None
        room = [ctypes.byref(view, at + answer) for answer in answers]
        ready.append(partial(function, handle, *passed, *room))
        at += size
    return tuple(ready)
