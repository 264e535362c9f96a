"""What the collector process writes: one JSON object a line, told apart by ``kind``."""

from dataclasses import dataclass, field
from typing import Literal

import msgspec

from gputuner.model.cards import Origin
from gputuner.model.codec import encode
from gputuner.model.readings import Scalar
from gputuner.telemetry.feed import CallCost, HungCall, Tick


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


Line = Hello | Unusable | Ticked | Noticed | Health


class _Head(msgspec.Struct):
    kind: str


_head = msgspec.json.Decoder(_Head)
_decoders: dict[str, msgspec.json.Decoder[Line]] = {
    "hello": msgspec.json.Decoder(Hello),
    "unusable": msgspec.json.Decoder(Unusable),
    "tick": msgspec.json.Decoder(Ticked),
    "notice": msgspec.json.Decoder(Noticed),
    "health": msgspec.json.Decoder(Health),
}


def encode_line(line: Line) -> bytes:
    """One line with its end."""
    return encode(line) + b"\n"


def decode_line(data: bytes) -> Line | None:
    """The line in ``data``; None if it is not one of ours (cut off by a crash)."""
    try:
        return _decoders[_head.decode(data).kind].decode(data)
    except (msgspec.DecodeError, KeyError, ValueError):
        return None
