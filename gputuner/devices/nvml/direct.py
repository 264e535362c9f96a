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

from gputuner.devices.nvml.card import ASK_AGAIN_NS, Asker
from gputuner.devices.nvml.errors import LOST, error_of
from gputuner.devices.nvml.layout import FIELD_BYTES, VALUES, Call, Fields, Layout, layout, reads
from gputuner.devices.nvml.tick import Tick
from gputuner.model.quantities import Quantity
from gputuner.model.readings import Reason

_IMPLAUSIBLE, _PASSING = Reason.IMPLAUSIBLE, (Reason.ERROR, Reason.NOT_READ)


class Direct:
    """What one card answers in one tier, asked in one thread.

    Attributes:
        missing: the quantities that the card does not have, and why; the caller may put better reasons in.
    """

    __slots__ = ("_calls", "_info", "_layout", "_left", "_memory", "_names", "_until_ns", "_view", "missing")

    def __init__(self, asker: Asker, of: Layout, missing: dict[Quantity, Reason], until_ns: int) -> None:
        """Have the memory; ``prepare`` finds the functions."""
        self.missing = missing
        self._info = asker.card.info
        self._until_ns = until_ns
        self._layout = of
        self._memory = bytearray(of.blank)
        self._view = ctypes.c_char.from_buffer(self._memory)
        self._calls: tuple[Callable[[], int], ...] = ()
        self._names: tuple[str, ...] = ()
        self._left: Iterator[Callable[[], int]] = iter(())

    def prepare(self, asker: Asker, calls: tuple[Call, ...]) -> bool:
        """Bind functions and arguments; False if a function cannot be had."""
        ready: list[Callable[[], int]] = []
        at = ctypes.addressof(self._view)
        wanted = [(call.name, call.passed, call.answers, len(call.blank)) for call in calls]
        count = len(self._layout.fields)
        if count:
            wanted.insert(0, ("nvmlDeviceGetFieldValues", (count,), (0,), FIELD_BYTES * count))
        for name, passed, answers, size in wanted:
            function = asker.binding.pointer(name)
            if function is None:
                return False
            room = [ctypes.c_void_p(at + answer) for answer in answers]
            ready.append(partial(function, asker.handle, *passed, *room))
            at += size
        self._calls, self._names = tuple(ready), tuple(name for name, *_ in wanted)
        return True

    def holds(self, asker: Asker) -> bool:
        """False once refusals are to be asked about again, or the card's identity was read anew."""
        return asker.t_ns < self._until_ns and asker.card.info is self._info

    def read(self, asker: Asker) -> Tick | None:
        """One tick; None if a call is not answered as foreseen.

        Raises:
            DeviceLost: the card is gone.
        """
        memory, layout = self._memory, self._layout
        memory[:] = layout.blank
        self._left, asker.out = iter(self._calls), self
        code = next(filter(None, map(called, self._left)), 0)  # of the first call that fails; none is made after it
        asker.out = None
        codes = (code,) if code else layout.unforeseen(memory)
        if codes:
            return _unforeseen(asker, codes)
        tick = Tick(asker, layout.values(memory), self.missing.copy())
        if len(tick.values) != len(layout.quantities):
            rejected = [quantity for quantity in layout.quantities if quantity not in tick.values]
            asker.rejected += len(rejected)
            tick.lack(_IMPLAUSIBLE, *rejected)
        return tick

    @property
    def asking(self) -> str | None:
        """Name of the call that is out (while ``read`` is); from any thread."""
        place = len(self._calls) - length_hint(self._left) - 1
        return self._names[place] if 0 <= place < len(self._names) else None

    def raw(self, field: int) -> float | None:
        """The last tick's value of a field; None if the card does not have it."""
        return self._layout.raw(field, self._memory)


def _unforeseen(asker: Asker, codes: tuple[int, ...]) -> None:
    for code in codes:
        if code in LOST:
            raise error_of(code, asker.card.info.uuid)


def learned(
    asker: Asker, tick: Tick, calls: tuple[Call, ...], fields: Fields, apart: frozenset[Quantity] = frozenset()
) -> Direct | None:
    """The calls behind an ordinary tick; None if some of it can only be read the ordinary way.

    Quantities ``apart`` are read by the caller in either case.
    """
    if asker.trouble is not None:
        return None
    refused = {key: until_ns for key, (_, until_ns) in asker.refused.items() if asker.t_ns < until_ns}
    asked = tuple(call for call in calls if call.key not in refused)
    known = {number: read for number, read in fields.items() if ("field", number) not in refused}
    if not (asked or known) or any(asker.types.get(number, 7) >= len(VALUES) for number in known):
        return None
    covered = {quantity for quantity, _ in reads(asked, known)}
    missing = {quantity: reason for quantity, reason in tick.missing.items() if quantity not in covered | apart}
    unread = [tick.missing[quantity] for quantity in covered if quantity not in tick.values]
    if tick.values.keys() - covered - apart or any(reason is not _IMPLAUSIBLE for reason in unread):
        return None
    if any(reason in _PASSING for reason in missing.values()):
        return None
    until_ns = min(refused.values(), default=asker.t_ns + ASK_AGAIN_NS)
    types = tuple(asker.types[number] for number in known)
    direct = Direct(asker, layout(tuple(known.items()), types, asked), missing, until_ns)
    return direct if direct.prepare(asker, asked) else None
