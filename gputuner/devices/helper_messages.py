"""What may be said to the helper: five verbs, as one JSON object a line. Everything else is refused, and nothing done.

    {"id": 1, "verb": "show"}
    {"id": 2, "verb": "set", "card": UUID, "setting": NAME, "value": [300], "may_forget": false, "for_s": 15}
    {"id": 3, "verb": "keep", "card": UUID, "setting": NAME}
    {"id": 4, "verb": "restore", "card": UUID, "setting": NAME or null}
    {"id": 5, "verb": "bye"}

A line holds at most :data:`MOST_BYTES`. There are no paths, no commands and no names of calls in a message; the keys of
each verb are fixed, each value has one type, and ranges are those of the card, checked by the guard behind this.
"""

import json
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, cast

from gputuner.model.control import MOST_HOLD_S, Setting, Value

MOST_BYTES = 1024
MOST_CARD = 64
"""Characters of a card's name."""
MOST_NUMBER = 1e6
MOST_ID = 2**31
Verb = Literal["show", "set", "keep", "restore", "bye"]
_SETTINGS = frozenset(setting.value for setting in Setting)
_KEYS: dict[str, frozenset[str]] = {
    "show": frozenset(),
    "set": frozenset({"card", "setting", "value", "may_forget", "for_s"}),
    "keep": frozenset({"card", "setting"}),
    "restore": frozenset({"card", "setting"}),
    "bye": frozenset(),
}


class Malformed(Exception):
    """A line that is no message; ``number`` is its id where that could be read."""

    def __init__(self, why: str, number: int | None = None) -> None:
        super().__init__(why)
        self.number = number


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One request."""

    number: int
    verb: Verb
    card: str = ""
    setting: Setting | None = None
    value: Value = ()
    may_forget: bool = False
    for_s: float | None = None


def parse(line: bytes) -> Message:
    """The request in a line.

    Raises:
        Malformed: it is none.
    """
    if len(line) > MOST_BYTES:
        raise Malformed("too long")
    try:
        told = json.loads(line.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_constant)
    except (ValueError, RecursionError) as err:
        raise Malformed("no JSON") from err
    if not isinstance(told, dict):
        raise Malformed("no object")
    told = cast("dict[str, Any]", told)
    number = told.pop("id", None)
    if type(number) is not int or not 0 <= number < MOST_ID:
        raise Malformed("no id")
    verb = told.pop("verb", None)
    if not isinstance(verb, str) or verb not in _KEYS:
        raise Malformed("no such verb", number)
    if told.keys() != _KEYS[verb]:
        raise Malformed("other keys than the verb has", number)
    setting = _setting(told.get("setting"), number, needed=verb in ("set", "keep"))
    return Message(
        number=number,
        verb=cast("Verb", verb),
        card=_card(told.get("card", ""), number),
        setting=setting,
        value=_value(told.get("value", []), number),
        may_forget=_switch(told.get("may_forget", False), number),
        for_s=_time(told.get("for_s"), number),
    )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _card(told: object, number: int) -> str:
    if not isinstance(told, str) or len(told) > MOST_CARD or not told.isprintable() or not told.isascii():
        raise Malformed("no card", number)
    return told


def _setting(told: object, number: int, *, needed: bool) -> Setting | None:
    if told is None and not needed:
        return None
    if not isinstance(told, str) or told not in _SETTINGS:
        raise Malformed("no such setting", number)
    return Setting(told)


def _value(told: object, number: int) -> Value:
    if not isinstance(told, list) or len(cast("list[object]", told)) > 2:
        raise Malformed("no value", number)
    return tuple(_number(entry, number) for entry in cast("list[object]", told))


def _number(told: object, number: int) -> float:
    if (type(told) is int or type(told) is float) and -MOST_NUMBER <= told <= MOST_NUMBER:
        return float(told)
    raise Malformed("no number", number)


def _switch(told: object, number: int) -> bool:
    if type(told) is not bool:
        raise Malformed("no switch", number)
    return told


def _time(told: object, number: int) -> float | None:
    if told is None:
        return None
    if (type(told) is int or type(told) is float) and 0 < told <= MOST_HOLD_S:
        return float(told)
    raise Malformed("no time", number)
