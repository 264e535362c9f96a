"""Calls that are made over and over: one on one card, or those of several cards in one go."""

from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from gputuner.devices.packing import Packed, Swept
from gputuner.devices.protocol import CardSource
from gputuner.model.cards import CardInfo
from gputuner.model.quantities import Tier
from gputuner.model.samples import CardProcesses, Sample, XidSeen

T = TypeVar("T")


class Job(Generic[T]):
    """One kind of call on one card, made over and over. While it is out it is not asked again: nothing queues up.

    Attributes:
        asked_ns: set while the call is out; written only by the asking thread.
        took_ns: how long the last call that is back took.
        value: what it yielded, for ``take``.
        error: what it raised, if it did.
    """

    __slots__ = ("asked_ns", "call", "card", "error", "kind", "take", "took_ns", "value")

    def __init__(self, kind: str, card: str, call: Callable[[int], T], take: Callable[[T], None]) -> None:
        """``call`` gets the time at which it is made; ``take`` is given its value, in the asking thread."""
        self.kind = kind
        self.card = card
        self.call = call
        self.asked_ns: int | None = None
        self.took_ns = 0
        self.error: Exception | None = None
        self.value: T | None = None
        self.take = take

    @property
    def idle(self) -> bool:
        """True if the call may be asked for."""
        return self.asked_ns is None


class Sweep(Protocol):
    """What a joint job calls; both may be asked by any thread while it is out."""

    def since_ns(self) -> int | None:
        """When the part that is out began; None if none has."""
        ...

    def cut(self) -> int:
        """Go no further than the part that is out; returns its place."""
        ...


class CardSweep(Sweep, Protocol):
    """The fast tier of several cards in one go."""

    def read(self, t_ns: int) -> Swept | None:
        """All cards, from ``t_ns`` on; None if they are to be read one by one."""
        ...


class Joint(Job[object]):
    """The jobs of several cards, and the one for XID errors, made in one go by a sweep.

    Attributes:
        parts: the jobs, by their place in the sweep. None of them is asked for by itself while this is out.
        sweep: makes the calls.
        stuck: the part that was out when it was cut short.
    """

    __slots__ = ("parts", "stuck", "sweep")

    def __init__(
        self, kind: str, parts: Sequence[Job[object]], sweep: CardSweep, take: Callable[[Swept | None], None]
    ) -> None:
        """``take`` gets None if the sweep told nothing."""
        super().__init__(kind, "", sweep.read, take)  # pyright: ignore[reportArgumentType]
        self.parts = parts
        self.sweep = sweep
        self.stuck: Job[object] | None = None

    def cut(self) -> None:
        """Come back with nothing, but leave the part that is out; that is then asked for by itself."""
        self.stuck = part = self.parts[self.sweep.cut()]
        part.asked_ns = self.asked_ns
        self.value = self.error = None


class Questions:
    """What is asked of a source of cards, as calls that get the time at last.

    Attributes:
        read: one tier of one card, packed where the source can.
        sweep: the fast tier of these cards in one go; None where they are to be read one by one.
    """

    def __init__(self, source: CardSource) -> None:
        """A source need have neither ``read`` nor ``sweep`` nor ``reopen``."""
        self._source = source
        self.read: Callable[[str, Tier, int], Sample | Packed] = getattr(source, "read", source.sample)
        self.sweep: Callable[[Sequence[str], int], CardSweep | None] = getattr(source, "sweep", _one_by_one)

    def slow(self, card: str, t_ns: int) -> tuple[Sample | Packed, CardProcesses]:
        """The slow tier and the process table of a card."""
        return self.read(card, Tier.SLOW, t_ns), self._source.processes(card, t_ns)

    def xids(self, _t_ns: int) -> tuple[XidSeen, ...]:
        """XID errors."""
        return self._source.xids()

    def scan(self, _t_ns: int) -> tuple[CardInfo, ...]:
        """The cards."""
        return self._source.cards()

    def reopen(self, _t_ns: int) -> tuple[CardInfo, ...]:
        """The cards, once the library was opened anew."""
        again = getattr(self._source, "reopen", None)
        if callable(again):
            again()
        return self._source.cards()


def _one_by_one(_cards: Sequence[str], _t_ns: int) -> CardSweep | None:
    return None
