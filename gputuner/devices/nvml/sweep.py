# pyright: standard
"""The fast tier of all cards in one go, and a look for XID errors: the calls made ready one after the other.

What is done once per card and tick costs more than the driver's answers as soon as it has left the processor's caches.
So all answers lie in one piece of memory, which is blanked, judged and handed on at once.
"""

import ctypes
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from operator import call as called
from struct import Struct

from gputuner.devices.nvml.card import Asker
from gputuner.devices.nvml.direct import Direct, bound
from gputuner.devices.nvml.events import XidWatch
from gputuner.devices.packing import Bundle, Packed, Swept, next_number


class Sweep:
    """What cards answer in their fast tier, and whether the driver has an XID error to tell, asked in one thread.

    Attributes:
        directs: each card's own calls, which this stands for as long as they hold.
    """

    def __init__(self, directs: tuple[Direct, ...], clock: Callable[[], int]) -> None:
        """Have the memory; ``swept`` finds the functions."""
        self.directs = directs
        layouts = [direct.layout for direct in directs]
        self.blank = b"".join(of.blank for of in layouts)
        self.memory = bytearray(self.blank)
        self._until_ns = min(direct.until_ns for direct in directs)
        self._cards = tuple(direct.packing.card for direct in directs)
        self._bundle = Bundle(number=next_number(), packings=tuple(direct.packing for direct in directs))
        self._states = Struct("=" + "".join(of.states.format.removeprefix("=") for of in layouts)).unpack
        self._foreseen = tuple(chain.from_iterable(of.foreseen for of in layouts))
        self._later = Struct(f"={len(directs) - 1}q").pack
        self._times: list[int] = []
        stamps = map(self._times.append, iter(clock, None))
        self.stamp: Callable[[], None] = stamps.__next__
        """Notes the time; like a call that went well it answers nothing."""
        self.calls: tuple[Callable[[], int | None], ...] = ()
        self.told: tuple[tuple[int, Asker | None, str], ...] = ()
        """Of each call, the place of its card (XID errors: after the last one) and whom it asks what."""
        self._left: Iterator[Callable[[], int | None]] = iter(())

    def read(self, t_ns: int) -> Swept | None:
        """All cards, from ``t_ns`` on; None if each is to be read for itself, and XID errors too.

        That is: one does not answer as foreseen, there is an XID error, or refusals are to be asked about again. No
        call is made after one that fails.
        """
        if t_ns >= self._until_ns:
            return None
        self._times.clear()
        self.memory[:] = self.blank
        self._left = iter(self.calls)
        if any(map(called, self._left)) or self._states(self.memory) != self._foreseen:
            return None
        times = tuple(self._times)
        if len(times) <= len(self.directs):
            return None  # cut
        packed = Packed(self._bundle, times[0], self._later(*times[1:-1]) + self.memory)
        return Swept(packed, self._cards, times)

    def since_ns(self) -> int | None:
        """When the reading of the card that is asked now began, None if none has; from any thread."""
        return max(self._times[-1:], default=None)

    def cut(self) -> int:
        """Let no call be made after the one that is out, and tell the place of the card that it asks.

        From another thread, while ``read`` is out. The card is marked with the function that it is in.
        """
        left = len(list(self._left))  # in one step: the reading thread takes none of these
        place, asker, name = self.told[len(self.told) - left - 1]
        if asker is not None:
            asker.out = name or None
        return place


def swept(askers: Sequence[Asker], xids: XidWatch | None, clock: Callable[[], int]) -> Sweep | None:
    """The fast tier of these cards, whose calls are ready, in one go; None if a function cannot be had."""
    sweep = Sweep(tuple(asker.direct for asker in askers), clock)
    view = ctypes.c_char.from_buffer(sweep.memory)
    calls: list[Callable[[], int | None]] = []
    told: list[tuple[int, Asker | None, str]] = []
    at = 0
    for place, (asker, direct) in enumerate(zip(askers, sweep.directs, strict=True)):
        ready = bound(asker, direct.layout, view, at)
        if ready is None:
            return None
        calls += (sweep.stamp, *ready)
        told += ((place, asker, name) for name in ("", *direct.layout.names))
        at += len(direct.layout.blank)
    calls.append(sweep.stamp)
    told.append((len(askers) - 1, None, ""))
    if xids is not None and xids.made_ready:
        calls.append(xids.look)
        told.append((len(askers), None, ""))
    sweep.calls, sweep.told = tuple(calls), tuple(told)
    return sweep
