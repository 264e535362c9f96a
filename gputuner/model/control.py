"""Settings of a card that may be changed, guarded: what they are, what stands, and what was done to them."""

from dataclasses import dataclass, field
from enum import StrEnum

from gputuner.model.readings import Scalar


class Setting(StrEnum):
    """What can be set on a card; a ``Value`` of each is in the unit that :data:`UNITS` names."""

    POWER_LIMIT = "power_limit"
    SM_CLOCK_LOCK = "sm_clock_lock"
    MEMORY_CLOCK_LOCK = "memory_clock_lock"
    CORE_OFFSET = "core_offset"
    MEMORY_OFFSET = "memory_offset"
    FAN = "fan"


Value = tuple[float, ...]
"""One number (two for a clock lock: lowest, highest). Empty: the driver's own way, so no lock, or automatic fans."""

UNITS: dict[Setting, str] = {
    Setting.POWER_LIMIT: "W",
    Setting.SM_CLOCK_LOCK: "MHz",
    Setting.MEMORY_CLOCK_LOCK: "MHz",
    Setting.CORE_OFFSET: "MHz",
    Setting.MEMORY_OFFSET: "MHz",
    Setting.FAN: "",
}
"""Fans are set as a fraction of their full speed."""
LOCKS = (Setting.SM_CLOCK_LOCK, Setting.MEMORY_CLOCK_LOCK)
"""No driver tells what clocks are locked to."""
OWN_WAY: frozenset[Setting] = frozenset({*LOCKS, Setting.FAN})
"""The driver has a way of its own, which an empty value gives back."""
TOLERANCE: dict[Setting, float] = {
    Setting.POWER_LIMIT: 0.5,
    Setting.SM_CLOCK_LOCK: 15.0,
    Setting.MEMORY_CLOCK_LOCK: 15.0,
    Setting.CORE_OFFSET: 15.0,
    Setting.MEMORY_OFFSET: 15.0,
    Setting.FAN: 0.021,
}
"""Within this a value read is the value written: drivers snap clocks to steps of 15 MHz and fans to per cents."""
EXACT: dict[Setting, float] = {
    Setting.POWER_LIMIT: 0.0006,
    Setting.SM_CLOCK_LOCK: 0.5,
    Setting.MEMORY_CLOCK_LOCK: 0.5,
    Setting.CORE_OFFSET: 0.5,
    Setting.MEMORY_OFFSET: 0.5,
    Setting.FAN: 0.005,
}
"""Within this two values are one number to the driver: it takes mW, MHz and per cents."""
CONFIRM_S = 15.0
"""An interactive change that nobody confirms within this time is put back."""
MOST_HOLD_S = 7 * 86400.0


def numbers_in(setting: Setting) -> int:
    """How many numbers a value of this setting has, where it is not the driver's own way."""
    return 2 if setting in LOCKS else 1


def same(setting: Setting, first: Value, second: Value) -> bool:
    """True if two values are one as far as a driver tells them apart."""
    if len(first) != len(second):
        return False
    return all(abs(a - b) <= TOLERANCE[setting] for a, b in zip(first, second, strict=True))


def equal(setting: Setting, first: Value, second: Value) -> bool:
    """True if two values are one number to the driver: so nothing has to be written to come from one to the other."""
    return len(first) == len(second) and all(abs(a - b) <= EXACT[setting] for a, b in zip(first, second, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingState:
    """One setting of one card as it stands.

    ``now`` and ``default`` None: not told (clock locks never are). ``low``, ``high``: the card's own range; None:
    unknown. ``reason``: why it cannot be set, as a code. ``found``: what stood before gputuner's change, where one
    stands; ``kept``: that change was meant to last; ``intact`` False: somebody has changed it since.
    """

    setting: Setting
    now: Value | None = None
    default: Value | None = None
    low: float | None = None
    high: float | None = None
    reason: str | None = None
    found: Value | None = None
    kept: bool = False
    intact: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class CardControl:
    """A card whose settings were looked at. ``persistent`` False: the driver forgets settings when nobody uses it."""

    uuid: str
    index: int
    name: str
    pci_bus_id: str | None = None
    persistent: bool | None = None
    states: tuple[SettingState, ...] = ()

    def state(self, setting: Setting) -> SettingState:
        """The state of one setting."""
        return next((s for s in self.states if s.setting is setting), SettingState(setting=setting))


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """A change was made: what was found before it, what was written, and what the card shows now (None: not told)."""

    card: str
    setting: Setting
    found: Value
    written: Value
    reads: Value | None
    enforced_w: float | None = None
    """Of a power limit: what the card really keeps to."""
    changed: bool = True
    """False: the card stood so already, and nothing was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """Something that happened to a setting without being asked for: put back, dropped, changed by others."""

    code: str
    card: str
    setting: Setting | None = None
    params: dict[str, Scalar] = field(default_factory=lambda: {})
