"""The user's alerts: one frozen plan, kept as JSON with a version beside the preferences, and the last good copy of it.

A file that cannot be understood is refused in one sentence and never written over; whoever watches goes on by the last
good one (``watched``).
"""

import json
import re
from collections.abc import Callable, Iterable
from math import isfinite
from pathlib import Path
from typing import Any, cast

from gputuner.model.alerts import (
    HOLD_S,
    HOOK_TIMEOUT_S,
    KINDS,
    MOST_RULES,
    MOST_WORDS,
    QUIET_S,
    AlertKind,
    AlertPlan,
    AlertRule,
)
from gputuner.model.errors import StoreError
from gputuner.settings.files import write_whole

Json = dict[str, object]
VERSION = 1
MOST_BYTES = 1 << 20
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")
"""What a rule may be called."""
MOST_LENGTH = 4096
MOST_XID = 1_000_000
STEPS: dict[int, Callable[[Json], Json]] = {}
"""``STEPS[n]`` turns a plan of version n into one of version n + 1. Version 1 is the first, so there is none yet."""


def alerts_file(preferences: Path) -> Path:
    """Where the alerts lie, beside the file of the preferences."""
    return preferences.with_name("alerts.json")


def good_file(path: Path) -> Path:
    """The copy of what was stored last."""
    return path.with_name(f"{path.name}.good")


class _Wrong(ValueError):
    """An entry that cannot be; its text names it."""


def load(path: Path) -> AlertPlan:
    """The plan in ``path``; without a file nothing is set.

    Raises:
        StoreError: ``alerts_malformed`` (``where``: the entry it is about), ``alerts_unreadable`` (no object of JSON)
            or ``alerts_newer``.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise _Wrong("size")
        found: object = json.loads(data, parse_constant=_nothing)
        if not isinstance(found, dict):
            raise _unreadable(path)
        return _plan(_upgraded(path, cast("Json", found)))
    except FileNotFoundError:
        return AlertPlan()
    except _Wrong as error:
        raise _malformed(path, str(error)) from error
    except (OSError, ValueError, RecursionError) as error:
        raise _unreadable(path) from error


def watched(path: Path) -> tuple[AlertPlan, StoreError | None]:
    """The plan to watch by: that in ``path``, else the last good one; and why it is not the first."""
    try:
        return load(path), None
    except StoreError as error:
        try:
            return load(good_file(path)), error
        except StoreError:
            return AlertPlan(), error


def save(path: Path, plan: AlertPlan) -> None:
    """Write ``plan``, whole or not at all, and the copy beside it.

    Raises:
        StoreError: ``alert_value`` where it could not be read back; what ``load`` raises if what lies there now is not
            understood (it stays as it is); ``store_full``, ``store_readonly``.
    """
    load(path)
    told = _told(plan)
    try:
        _plan(told)
    except _Wrong as error:
        raise StoreError("alert_value", f"{error} cannot be so", what=str(error)) from error
    data = json.dumps(told, indent=2, ensure_ascii=False, allow_nan=False).encode() + b"\n"
    write_whole(path, data)
    write_whole(good_file(path), data)


def _malformed(path: Path, where: str) -> StoreError:
    return StoreError("alerts_malformed", f"{path} cannot be understood ({where})", path=str(path), where=where)


def _unreadable(path: Path) -> StoreError:
    return StoreError("alerts_unreadable", f"{path} is no object of JSON", path=str(path))


def _upgraded(path: Path, entries: Json) -> Json:
    version = entries.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise _Wrong("version")
    if version > VERSION:
        raise StoreError("alerts_newer", f"{path} was written by a newer gputuner", path=str(path))
    for step in range(version, VERSION):
        entries = STEPS[step](entries)
    return entries


def _nothing(_: str) -> None:
    """NaN and infinities are no JSON: as if not there."""


def _told(plan: AlertPlan) -> Json:
    return {
        "version": VERSION,
        "rules": [_told_rule(rule) for rule in plan.rules],
        "hook": list(plan.hook),
        "hook_timeout_s": plan.hook_timeout_s,
        "notify": plan.notify,
        "notify_runs": plan.notify_runs,
    }


def _told_rule(rule: AlertRule) -> Json:
    return {
        "name": rule.name,
        "kind": rule.kind.value,
        "threshold": rule.threshold,
        "hold_s": rule.hold_s,
        "clear_margin": rule.clear_margin,
        "quiet_s": rule.quiet_s,
        "cards": list(rule.cards),
        "least_fan": rule.least_fan,
        "xids": list(rule.xids),
        "on": rule.on,
    }


def _plan(entries: Json) -> AlertPlan:
    rules = tuple(_rule(number, entry) for number, entry in enumerate(_list(entries, "rules", MOST_RULES), start=1))
    if len({rule.name for rule in rules}) != len(rules):
        raise _Wrong("name")
    hook = tuple(_text(word, "hook") for word in _list(entries, "hook", MOST_WORDS))
    if hook and not hook[0].strip():
        raise _Wrong("hook")
    return AlertPlan(
        rules=rules,
        hook=hook,
        hook_timeout_s=_number(entries.get("hook_timeout_s", 30.0), "hook_timeout_s", *HOOK_TIMEOUT_S),
        notify=_flag(entries.get("notify", True), "notify"),
        notify_runs=_flag(entries.get("notify_runs", True), "notify_runs"),
    )


def _rule(number: int, entry: object) -> AlertRule:
    if not isinstance(entry, dict):
        raise _Wrong(f"rules, {number}")
    found = cast("Json", entry)
    where = f"rules, {number}: "
    try:
        kind = AlertKind(_text(found.get("kind"), "kind"))
    except ValueError as error:
        raise _Wrong(f"{where}kind") from error
    info = KINDS[kind]
    name = found.get("name")
    if not isinstance(name, str) or NAME.fullmatch(name) is None:
        raise _Wrong(f"{where}name")
    threshold = None
    follows = info.own and found.get("threshold") is None
    if info.low is not None and info.high is not None and not follows:
        threshold = _number(found.get("threshold"), f"{where}threshold", info.low, info.high)
    return AlertRule(
        name=name,
        kind=kind,
        threshold=threshold,
        hold_s=_number(found.get("hold_s", info.hold_s), f"{where}hold_s", *HOLD_S),
        clear_margin=_number(found.get("clear_margin", info.clear_margin), f"{where}clear_margin", 0, info.margin_most),
        quiet_s=_number(found.get("quiet_s", 300.0), f"{where}quiet_s", *QUIET_S),
        cards=tuple(_text(card, f"{where}cards") for card in _list(found, "cards", 256)),
        least_fan=_number(found.get("least_fan", 0.0), f"{where}least_fan", 0, 1),
        xids=tuple(_whole(xid, f"{where}xids") for xid in _list(found, "xids", 256)),
        on=_flag(found.get("on", True), f"{where}on"),
    )


def _list(entries: Json, name: str, most: int) -> Iterable[Any]:
    found = entries.get(name, [])
    if not isinstance(found, list):
        raise _Wrong(name)
    listed = cast("list[object]", found)
    if len(listed) > most:
        raise _Wrong(name)
    return listed


def _text(value: object, where: str) -> str:
    if not isinstance(value, str) or not value or len(value) > MOST_LENGTH or "\0" in value or not _whole_text(value):
        raise _Wrong(where)
    return value


def _whole_text(value: str) -> bool:
    """False for half a surrogate pair, which no process can be handed."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _number(value: object, where: str, low: float, high: float) -> float:
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or not low <= value <= high
        or not isfinite(value)
    ):
        raise _Wrong(where)
    return float(value)


def _whole(value: object, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < MOST_XID:
        raise _Wrong(where)
    return value


def _flag(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise _Wrong(where)
    return value
