"""What a trend of the thermal resistance is made of and what it says: records, which words load without numpy."""

from dataclasses import dataclass
from enum import StrEnum

LEAST_SESSIONS, LEAST_DAYS, LEAST_SPAN_DAYS, LEAST_PAIRS, LEAST_AT_A_FAN = 6, 6, 14.0, 12, 3
"""Less is no history: sessions, days, days from first to last, like pairs, sessions that share a fan speed."""


class Basis(StrEnum):
    """How the temperature of the air was taken out, the best first."""

    IDLE = "idle"
    """The card at rest shows it, its fan turning."""
    IDLE_STILL = "idle_still"
    """The card at rest with its fan standing shows how it changed, not how warm it was."""
    ROOM = "room"
    """It was told, and not as the same each time."""
    NONE = "none"
    """It was not: what drifts is the temperature at equal power."""


class Trend(StrEnum):
    """What the history shows."""

    RISING = "rising"
    FALLING = "falling"
    NOT_SHOWN = "not_shown"
    TOO_FEW = "too_few"


@dataclass(frozen=True, slots=True, kw_only=True)
class SteadyPoint:
    """A settled stretch with what is known of its air.

    ``unix_s``: its end. ``fan_fraction``, ``traffic``: None where not read. ``air_c``: °C, None: unknown; ``k_per_w``:
    (core − air) / power, K/W, None with it.
    """

    unix_s: float
    session_id: str
    temperature_c: float
    power_w: float
    fan_fraction: float | None = None
    traffic: float | None = None
    air_c: float | None = None
    k_per_w: float | None = None
    basis: Basis = Basis.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """The trend of the resistance; for the basis ``none`` of the rise over 25 °C per watt.

    ``sessions``, ``days``, ``span_days``: of the settled stretches that could be compared, or, not ``alike``, of all
    settled ones, where there are too few of these already. ``fan_levels``, ``pairs``: of what could be compared.
    ``missing``: what of them there is too little of. ``per_month``, ``low``, ``high``: change per month of 30.44 days
    as a fraction with its 95 % interval, which holds the sensor's own error, for the basis ``room`` that of a
    thermometer, and for the basis ``none`` what a room of ± 4 °C and an unknown fan law can do;
    ``degrees_per_month``: the same in K at ``power_w``. ``shown``: (unix s, value, fan) of what was compared, at
    ``fan_fraction``; ``line``: (unix s, value, low, high); both in ``line_unit``, K/W, or degC at ``power_w``.
    """

    verdict: Trend
    basis: Basis
    sessions: int = 0
    days: int = 0
    span_days: float = 0.0
    fan_levels: int = 0
    pairs: int = 0
    alike: bool = True
    missing: tuple[str, ...] = ()
    per_month: float | None = None
    low: float | None = None
    high: float | None = None
    degrees_per_month: float | None = None
    power_w: float | None = None
    fan_fraction: float | None = None
    line_unit: str = "K/W"
    shown: tuple[tuple[float, float, float | None], ...] = ()
    line: tuple[tuple[float, float, float, float], ...] = ()
