"""What the collector process writes: a line each, JSON objects told apart by ``kind``, and packed readings.

Packed readings stand in base64, first the tick's time and then each reading's packing (or bundle), time and bytes,
before the JSON of what else there is to the tick (if anything). How they are packed was told in a line before.
"""

from binascii import a2b_base64, b2a_base64
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from struct import Struct, error
from typing import Literal, NamedTuple

import msgspec

from gputuner.devices.packing import Bundle, Packed, Packing, Unpacker
from gputuner.model.cards import Origin
from gputuner.model.codec import encode
from gputuner.model.quantities import Tier
from gputuner.model.readings import Scalar
from gputuner.model.samples import Sample
from gputuner.telemetry.feed import CallCost, HungCall, Tick, merged

_TIME, _HEAD, _BOTH = Struct("<q"), Struct("<Iq"), Struct("<qIq")
"""Time of a tick; number of a reading's packing and its time; all of this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """The library answers and its cards were found (they come with the first tick)."""

    kind: Literal["hello"] = "hello"
    pid: int
    origin: Origin
    cards: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unusable:
    """The library cannot be used; the collector ends. ``final``: trying again is of no use."""

    kind: Literal["unusable"] = "unusable"
    code: str
    text: str
    params: dict[str, Scalar] = field(default_factory=lambda: {})
    final: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticked:
    """One tick."""

    kind: Literal["tick"] = "tick"
    tick: Tick


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """How a tier of one card, or of several in one piece, is packed from now on."""

    kind: Literal["packing"] = "packing"
    number: int
    packings: tuple[Packing, ...]
    bundled: bool


class PackedTick(NamedTuple):
    """One tick with packed readings; ``rest``: what else there is to it."""

    t_ns: int
    packed: Sequence[Packed]
    rest: Tick | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Noticed:
    """Something to tell once."""

    kind: Literal["notice"] = "notice"
    code: str
    t_ns: int
    params: dict[str, Scalar] = field(default_factory=lambda: {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """A sign of life, at least once a second of silence, with what watching costs."""

    kind: Literal["health"] = "health"
    t_ns: int
    ticks: int
    missed_ticks: int
    rejected_values: int
    cpu_s: float
    age_s: float
    memory_bytes: int | None
    interval_s: float | None
    fast_cost: CallCost | None
    slow_cost: CallCost | None
    hung_calls: tuple[HungCall, ...] = ()
    all_hung_s: float = 0.0
    """For how long every card that should answer has not, or could not be asked; 0 as long as one answers."""
    failing: bool = False
    """True while every card's calls give nothing but errors."""
    error: str = ""
    """Code of the last of these errors."""


Line = Hello | Unusable | Ticked | Told | Noticed | Health


class _Head(msgspec.Struct):
    kind: str


_head = msgspec.json.Decoder(_Head)
_decoders: dict[str, msgspec.json.Decoder[Line]] = {
    "hello": msgspec.json.Decoder(Hello),
    "unusable": msgspec.json.Decoder(Unusable),
    "tick": msgspec.json.Decoder(Ticked),
    "packing": msgspec.json.Decoder(Told),
    "notice": msgspec.json.Decoder(Noticed),
    "health": msgspec.json.Decoder(Health),
}
_rest = msgspec.json.Decoder(Tick)


class LineWriter:
    """Writes the lines of one collector; tells each packing before its first reading."""

    def __init__(self) -> None:
        """Have told no packing yet."""
        self._told: set[int] = set()

    def line(self, line: Line | PackedTick) -> bytes:
        """One line with its end; more than one where a packing is new."""
        if type(line) is not PackedTick:
            return encode(line) + b"\n"
        if line.rest is None and len(line.packed) == 1:
            ((packing, read_ns, data),) = line.packed
            if packing.number in self._told:  # as nearly always
                return b2a_base64(_BOTH.pack(line.t_ns, packing.number, read_ns) + data)
        pieces, new = [_TIME.pack(line.t_ns)], b""
        for packing, t_ns, data in line.packed:
            if packing.number not in self._told:
                self._told.add(packing.number)
                new += encode(_told(packing)) + b"\n"
            pieces += (_HEAD.pack(packing.number, t_ns), data)
        if line.rest is None:
            return new + b2a_base64(b"".join(pieces))
        return new + b2a_base64(b"".join(pieces), newline=False) + encode(line.rest) + b"\n"


class LineReader:
    """Reads the lines of one collector, in their order."""

    def __init__(self) -> None:
        """Know no packing yet."""
        self._unpackers: dict[int, tuple[Told, Unpacker]] = {}
        self._rejected_before = 0

    @property
    def rejected(self) -> int:
        """Packed numbers so far that cannot be what they should be."""
        return self._rejected_before + sum(unpacker.rejected for _, unpacker in self._unpackers.values())

    def line(self, data: bytes) -> Line | None:
        """The line in ``data``; None if it is not one of ours (cut off by a crash)."""
        try:
            if not data.startswith(b"{"):
                return self._unpacked(data)
            line = _decoders[_head.decode(data).kind].decode(data)
        except (msgspec.DecodeError, error, KeyError, ValueError):
            return None
        if isinstance(line, Told):
            self._know(line)
        return line

    def _know(self, told: Told) -> None:
        """Keep a packing or bundle; what was told of the same kind before of one of its cards is not used any more."""
        for number, (known, unpacker) in list(self._unpackers.items()):
            if known.bundled is told.bundled and _tiers(known) & _tiers(told):
                self._rejected_before += unpacker.rejected
                del self._unpackers[number]
        self._unpackers[told.number] = told, Unpacker(*told.packings)

    def _unpacked(self, data: bytes) -> Ticked | None:
        """The tick in a line of packed readings; None if a part of the line is missing."""
        if not data.endswith(b"\n"):
            return None
        packed, brace, rest = data[:-1].partition(b"{")
        other = _rest.decode(brace + rest) if brace else None
        packed = a2b_base64(packed, strict_mode=True)
        (t_ns,), at = _TIME.unpack_from(packed), _TIME.size
        rows: list[Sample] = []
        pieces = 0
        while at < len(packed):
            number, read_ns = _HEAD.unpack_from(packed, at)
            _, unpacker = self._unpackers[number]
            at += _HEAD.size + unpacker.size
            rows += unpacker.samples(read_ns, packed[at - unpacker.size : at])
            pieces += 1
        if other is not None:
            return Ticked(tick=replace(other, samples=merged((*rows, *other.samples))))
        samples = tuple(rows) if pieces == 1 else merged(rows)  # the cards of one bundle are in order of time
        return Ticked(tick=Tick(t_ns=t_ns, samples=samples))


def _told(packing: Packing | Bundle) -> Told:
    if isinstance(packing, Bundle):
        return Told(number=packing.number, packings=packing.packings, bundled=True)
    return Told(number=packing.number, packings=(packing,), bundled=False)


def _tiers(told: Told) -> set[tuple[str, Tier]]:
    return {(packing.card, packing.tier) for packing in told.packings}
