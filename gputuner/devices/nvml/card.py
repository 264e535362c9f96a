# pyright: standard
"""One card's handle, and who asks it: one asker per tier, because tiers are read in threads of their own."""

from typing import Any

from gputuner.devices.nvml.binding import Binding
from gputuner.devices.nvml.errors import LASTING, LOST, QUIET, Code, Failed, error_of, failed
from gputuner.model.cards import CardInfo

ASK_AGAIN_NS = 600 * 10**9
"""After this time a question that had a lasting no is asked once more (drivers are updated, permissions granted)."""

_VALUE_MEMBER = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
"""Member of ``nvmlValue_t`` by ``nvmlValueType_t`` (nvml.h)."""


class Card:
    """A card that can be asked: handle, identity, and an asker for each tier.

    Attributes:
        fan_count: number of fans, None if unknown.
        identified_ns: when its identity was last read in full, None if it never was without a failure.
        fans_turned: numbers of the fans whose tachometer has told a speed; from then on 0 rpm means a fan that stands.
    """

    __slots__ = ("binding", "fan_count", "fans_turned", "fast", "handle", "identified_ns", "info", "once", "slow")

    def __init__(self, binding: Binding, handle: Any, info: CardInfo) -> None:
        """Hold a handle that answered."""
        self.binding = binding
        self.handle = handle
        self.info = info
        self.fan_count: int | None = None
        self.fans_turned: set[int] = set()
        self.identified_ns: int | None = None
        self.once, self.fast, self.slow = Asker(self), Asker(self), Asker(self)

    @property
    def rejected(self) -> int:
        """Answers that were sentinels or impossible, counted since the handle was opened."""
        return self.once.rejected + self.fast.rejected + self.slow.rejected

    @property
    def mig_enabled(self) -> bool:
        """True if the card is split into MIG instances."""
        reading = self.info.readings.get("mig_enabled")
        return bool(reading and reading.value)


class Asker:
    """Asks one card, in one thread, and remembers what it does not answer.

    Attributes:
        t_ns: time of the current tick; the caller sets it before asking.
        trouble: NVML code of a failure in this tick that points at the driver, else None.
        rejected: answers that were sentinels or impossible.
        gpm: what ``gpm`` keeps between ticks.
        refused: lasting refusals by question, and until when they hold.
        types: ``nvmlValueType_t`` of the fields that were answered.
        direct: the calls that ``direct`` has made ready, if any; ``learn_ns`` when to try that next.
        out: the call that is out now, by its name, or the ready calls that are; None between calls.
    """

    __slots__ = (
        "binding",
        "card",
        "direct",
        "gpm",
        "handle",
        "learn_ns",
        "out",
        "refused",
        "rejected",
        "t_ns",
        "trouble",
        "types",
    )

    def __init__(self, card: Card) -> None:
        """Ask ``card``; nothing is remembered yet."""
        self.card = card
        self.binding = card.binding
        self.handle = card.handle
        self.t_ns = 0
        self.trouble: int | None = None
        self.rejected = 0
        self.gpm: Any = None
        self.refused: dict[tuple[Any, ...], tuple[Failed, int]] = {}
        self.types: dict[int, int] = {}
        self.direct: Any = None
        self.learn_ns = 0
        self.out: Any = None

    def ask(self, name: str, *args: Any) -> Any:
        """What NVML answers about this card, or ``Failed``; lasting refusals are not asked again for a while.

        Raises:
            DeviceLost: the card is gone; nothing more may be asked of it.
        """
        return self._ask((name, *args), name, *args)

    def ask_about(self, name: str, *args: Any) -> Any:
        """As ``ask``, for arguments that change from call to call: a lasting refusal holds for all of them.

        Raises:
            DeviceLost: the card is gone; nothing more may be asked of it.
        """
        return self._ask((name,), name, *args)

    def _ask(self, key: tuple[Any, ...], name: str, *args: Any) -> Any:
        refused = self.refused.get(key)
        if refused is not None and self.t_ns < refused[1]:
            return refused[0]
        answer = self._call(name, *args)
        if type(answer) is Failed:
            self._note(key, answer)
        return answer

    def refuses(self, key: tuple[Any, ...]) -> bool:
        """True if what is asked under ``key`` had a lasting no that still holds."""
        return self.t_ns < self.refused.get(key, (None, 0))[1]

    def _call(self, name: str, *args: Any) -> Any:
        self.out = name
        answer = self.binding.ask(name, self.handle, *args)
        self.out = None
        return answer

    @property
    def asking(self) -> str | None:
        """Name of the call that has not come back; from any thread, so it may be over by now."""
        out = self.out
        return out if out is None or isinstance(out, str) else out.asking

    def first(self, names: tuple[str, ...], *args: Any) -> Any:
        """The first of ``names`` that gives a value; else the most telling refusal."""
        refusal: Any = failed(Code.FUNCTION_NOT_FOUND)
        for name in names:
            answer = self.ask(name, *args)
            if type(answer) is not Failed or answer.code not in LASTING:
                return answer
            if refusal.code == Code.FUNCTION_NOT_FOUND:
                refusal = answer
        return refusal

    def fields(self, ids: tuple[int, ...]) -> dict[int, Any]:
        """Field values by id from one call, each a number or ``Failed`` by its own status.

        Raises:
            DeviceLost: the card is gone.
        """
        out: dict[int, Any] = {}
        due: list[int] = []
        for field in ids:
            refused = self.refused.get(("field", field))
            if refused is not None and self.t_ns < refused[1]:
                out[field] = refused[0]
            else:
                due.append(field)
        if not due:
            return out
        answer = self._call("nvmlDeviceGetFieldValues", due)
        if type(answer) is Failed:
            for field in due:
                out[field] = answer
                self._note(("field", field), answer)
            return out
        for field, entry in zip(due, answer, strict=True):
            if entry.nvmlReturn:
                out[field] = failed(int(entry.nvmlReturn))
                self._note(("field", field), out[field])
            else:
                kind = self.types[field] = entry.valueType
                out[field] = getattr(entry.value, _VALUE_MEMBER[kind if kind < 7 else 3])
        return out

    def _note(self, key: tuple[Any, ...], answer: Failed) -> None:
        code = answer.code
        if code in LOST:
            raise error_of(code, self.card.info.uuid)
        if code in LASTING:
            self.refused[key] = (answer, self.t_ns + ASK_AGAIN_NS)
        elif code not in QUIET:
            self.trouble = code
