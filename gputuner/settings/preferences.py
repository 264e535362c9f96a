"""What the user prefers: one frozen record, kept as JSON with a version and with what is not known here."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from math import isfinite
from pathlib import Path
from typing import cast

from gputuner.model.errors import StoreError
from gputuner.settings.files import write_whole
from gputuner.settings.migrations import VERSION, Json, upgrade


class Theme(StrEnum):
    """Colours of the window."""

    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"


@dataclass(frozen=True, slots=True, kw_only=True)
class Preferences:
    """The user's choices; the defaults are what holds without a file."""

    language: str | None = None
    """``en``, ``zh_CN``; None: the locale's."""
    theme: Theme = Theme.SYSTEM
    fast_hz: float = 2.0
    """Readings a second of power, clocks, temperatures; 0.1 to 10."""
    slow_s: float = 5.0
    """Seconds between readings of fans, processes, links; 1 to 600."""
    selected_card: str | None = None
    """UUID of the card that experiments take; None: chosen anew each time."""
    selected_index: int | None = None
    """Left over from a file that kept an index: ``selection.resolve`` turns it into a UUID or a question."""
    safety_core_c: float | None = None
    """Our own load is stopped when the core is hotter (°C, 40 to 110); None: the card's own thresholds only."""
    electricity_price_per_kwh: float | None = None
    """In ``currency``, 0 to 1000; None: costs are not told."""
    currency: str | None = None
    unknown: Mapping[str, object] = field(default_factory=lambda: {})
    """Entries of the file that this program does not know; written back as they were."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something wrong with the file that is lived with: a code for ``language`` (``preferences_malformed``,
    ``preferences_newer``, ``preference_ignored``), and the entry it is about."""

    code: str
    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What was found, and what was wrong with it."""

    preferences: Preferences
    problems: tuple[Problem, ...] = ()


def _nothing(_: str) -> None:
    """NaN and infinities are no JSON: as if not there."""


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError
    return value


def _index(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError
    return value


def _between(low: float, high: float) -> Callable[[object], float]:
    def check(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not isfinite(value):
            raise ValueError
        if not low <= value <= high:
            raise ValueError
        return float(value)

    return check


_CHECKS: dict[str, Callable[[object], object]] = {
    "language": _text,
    "theme": lambda value: Theme(_text(value)),
    "fast_hz": _between(0.1, 10.0),
    "slow_s": _between(1.0, 600.0),
    "selected_card": _text,
    "selected_index": _index,
    "safety_core_c": _between(40.0, 110.0),
    "electricity_price_per_kwh": _between(0.0, 1000.0),
    "currency": _text,
}
"""One check per entry: the value as it is kept in ``Preferences``, or ``ValueError``."""

NAMES: tuple[str, ...] = tuple(_CHECKS)
"""Names of all preferences."""

_DEFAULTS = Preferences()


def load(path: Path) -> Loaded:
    """The preferences in ``path``. A missing, broken or partly senseless file yields defaults, never an error."""
    try:
        found: object = json.loads(path.read_bytes(), parse_constant=_nothing)
    except FileNotFoundError:
        return Loaded(preferences=_DEFAULTS)
    except (OSError, ValueError, RecursionError):
        return Loaded(preferences=_DEFAULTS, problems=(Problem(code="preferences_malformed"),))
    if not isinstance(found, dict):
        return Loaded(preferences=_DEFAULTS, problems=(Problem(code="preferences_malformed"),))
    entries, newer = upgrade(cast("Json", found))
    problems = [Problem(code="preferences_newer")] if newer else []
    known: dict[str, object] = {}
    for name, check in _CHECKS.items():
        if entries.get(name) is not None:
            try:
                known[name] = check(entries[name])
            except (ValueError, OverflowError):
                problems.append(Problem(code="preference_ignored", key=name))
    unknown = {name: value for name, value in entries.items() if name not in _CHECKS and name != "version"}
    return Loaded(preferences=_made(_DEFAULTS, {**known, "unknown": unknown}), problems=tuple(problems))


def changed(preferences: Preferences, **values: object) -> Preferences:
    """``preferences`` with other values (None: the default again).

    Raises:
        StoreError: ``preference_unknown`` or ``preference_value``, with the entry's ``key``.
    """
    checked: dict[str, object] = {}
    for name, value in values.items():
        if name not in _CHECKS:
            raise StoreError("preference_unknown", f"there is no preference {name}", key=name)
        try:
            checked[name] = getattr(_DEFAULTS, name) if value is None else _CHECKS[name](value)
        except (ValueError, OverflowError) as error:
            raise StoreError("preference_value", f"{name} cannot be {value}", key=name, value=str(value)) from error
    return _made(preferences, checked)


def save(path: Path, preferences: Preferences) -> None:
    """Write ``preferences``, whole or not at all; a file that could not be read is kept as ``<name>.broken``.

    Raises:
        StoreError: ``store_full``, ``store_readonly``, or ``preferences_newer`` if a newer program wrote the file
            (it stays as it is).
    """
    problems = {problem.code for problem in load(path).problems}
    if "preferences_newer" in problems:
        raise StoreError(
            "preferences_newer", f"{path} was written by a newer gputuner; update this one", path=str(path)
        )
    entries: Json = {"version": VERSION}
    for entry in fields(preferences):
        value = getattr(preferences, entry.name)
        if entry.name != "unknown" and value is not None:
            entries[entry.name] = value
    entries.update({name: value for name, value in preferences.unknown.items() if name not in entries})
    data = json.dumps(entries, indent=2, ensure_ascii=False, allow_nan=False).encode() + b"\n"
    if "preferences_malformed" in problems:
        write_whole(path.with_name(path.name + ".broken"), path.read_bytes())
    write_whole(path, data)


def change(path: Path, **values: object) -> Preferences:
    """Change some entries of the file (others that another window wrote meanwhile stay) and return them all.

    Raises:
        StoreError: as ``changed`` and ``save``.
    """
    preferences = changed(load(path).preferences, **values)
    save(path, preferences)
    return preferences


def _made(base: Preferences, values: Mapping[str, object]) -> Preferences:
    return replace(base, **cast("dict[str, str]", dict(values)))
