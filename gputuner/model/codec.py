"""Records ↔ JSON. The type of an event is picked from one explicit table ``kind → class``."""

from numbers import Integral, Real
from typing import Any, TypeVar

import msgspec

from gputuner.model import events
from gputuner.model.errors import StoreError
from gputuner.model.events import Event

T = TypeVar("T")

KINDS: dict[str, type[Event]] = {
    "run_started": events.RunStarted,
    "torch_found": events.TorchFound,
    "step_started": events.StepStarted,
    "step_progressed": events.StepProgressed,
    "step_finished": events.StepFinished,
    "telemetry_sampled": events.TelemetrySampled,
    "point_measured": events.PointMeasured,
    "worker_exited": events.WorkerExited,
    "setting_changed": events.SettingChanged,
    "warned": events.Warned,
    "advice_given": events.AdviceGiven,
    "command_started": events.CommandStarted,
    "command_sampled": events.CommandSampled,
    "command_ended": events.CommandEnded,
    "alert_raised": events.AlertRaised,
    "alert_cleared": events.AlertCleared,
    "run_finished": events.RunFinished,
}


class _Head(msgspec.Struct):
    kind: str


def _plain(value: object) -> object:
    """Numbers of other libraries that are kinds of float or int (numpy's) as the plain ones."""
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    raise TypeError(f"a {type(value).__name__} cannot be stored")


_encoder = msgspec.json.Encoder(enc_hook=_plain)
_head = msgspec.json.Decoder(_Head)
_decoders = {kind: msgspec.json.Decoder(cls) for kind, cls in KINDS.items()}


def encode(record: object) -> bytes:
    """One record (dataclass) as one JSON object without a line end."""
    return _encoder.encode(record)


def decode_event(data: bytes) -> Event:
    """The event in ``data``.

    Raises:
        StoreError: unknown kind or malformed record.
    """
    try:
        kind = _head.decode(data).kind
        return _decoders[kind].decode(data)
    except (msgspec.DecodeError, KeyError, ValueError) as err:
        raise StoreError("event_malformed", f"unreadable event: {err}") from err


def decode(data: bytes, cls: type[T]) -> T:
    """A record of a known type.

    Raises:
        StoreError: malformed record.
    """
    try:
        return msgspec.json.decode(data, type=cls)
    except (msgspec.DecodeError, ValueError) as err:
        raise StoreError("record_malformed", f"unreadable {cls.__name__}: {err}") from err


def to_builtins(record: object) -> Any:
    """A record as plain dicts, lists and scalars (for ``--json`` and specs)."""
    return msgspec.to_builtins(record, str_keys=True, enc_hook=_plain)


def from_builtins(data: object, cls: type[T]) -> T:
    """A record from plain data.

    Raises:
        StoreError: the data does not fit the type.
    """
    try:
        return msgspec.convert(data, cls)
    except (msgspec.ValidationError, ValueError) as err:
        raise StoreError("record_malformed", f"unreadable {cls.__name__}: {err}") from err
