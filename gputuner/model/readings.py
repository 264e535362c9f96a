"""A reading: a value, or the reason why there is none. "Not reported" is never 0, NaN or the last value."""

from dataclasses import dataclass
from enum import StrEnum
from math import isfinite

Scalar = float | int | str | bool


class Reason(StrEnum):
    """Why there is no value."""

    NOT_SUPPORTED = "not_supported"
    NO_PERMISSION = "no_permission"
    DRIVER_TOO_OLD = "driver_too_old"
    ASLEEP = "asleep"
    LOST = "lost"
    NOT_READ = "not_read"
    NOT_WITH_MIG = "not_with_mig"
    DRIVER_MODEL = "driver_model"
    """Not available on this driver model (WDDM, WSL)."""
    IMPLAUSIBLE = "implausible"
    """The driver answered with a sentinel or an impossible value; rejected and counted."""
    ERROR = "error"
    """The driver failed for this call with an error of no other kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One value with its unit, or the reason why there is none (exactly one of the two is set)."""

    value: Scalar | None = None
    unit: str = ""
    reason: Reason | None = None

    def __post_init__(self) -> None:
        """Refuse NaN, infinities, and readings with both or neither of value and reason."""
        if (self.value is None) == (self.reason is None):
            raise ValueError("a reading has either a value or a reason")
        if isinstance(self.value, float) and not isfinite(self.value):
            raise ValueError("a reading is finite")
