# pyright: standard
"""Which raw numbers are answers and which are sentinels, and the units that answers are turned into.

Sentinels seen in the wild: all ones in 32 or 64 bits, 127 and 255 °C (no sensor), 4294967295 %, percentages of six
digits. A rejected value is counted and becomes ``Reason.IMPLAUSIBLE``.
"""

from dataclasses import dataclass

ALL_ONES_32 = 0xFFFFFFFF
ALL_ONES_64 = 0xFFFFFFFFFFFFFFFF


@dataclass(frozen=True, slots=True)
class Kind:
    """What divides a raw number into gputuner's unit, and its possible range (raw, inclusive)."""

    divisor: int
    low: int
    high: int

    def accept(self, raw: float) -> float | None:
        """The value in gputuner's unit, or None if ``raw`` cannot be one."""
        if not self.low <= raw <= self.high or raw == ALL_ONES_32:  # all ranges end far below all ones in 64 bits
            return None
        return raw if self.divisor == 1 else raw / self.divisor


TEMPERATURE = Kind(1, 1, 126)
"""°C. Zero is what an unsupported sensor leaves behind; 127 and 255 mean none."""
OFFSET = Kind(1, -126, 126)
"""°C of distance, may be negative."""
MILLIWATT = Kind(1000, 0, 0x7FFFFFFE)
LIMIT_MILLIWATT = Kind(1000, 1, 0x7FFFFFFE)
"""Limits of 0 W mean unknown."""
MILLIJOULE = Kind(1000, 0, 2**63)
MEGAHERTZ = Kind(1, 0, 20_000)
BITS = Kind(1, 0, 2**32 - 2)
PERCENT = Kind(100, 0, 100)
FAN_PERCENT = Kind(100, 0, 200)
"""The intended speed may exceed 100 % (nvml.h)."""
RPM = Kind(1, 0, 50_000)
BYTES = Kind(1, 0, 2**52)
NANOSECONDS = Kind(1, 0, 2**63)
COUNT = Kind(1, 0, 2**63)
SMALL = Kind(1, 0, 1024)
"""Generations, widths, performance states (32, unknown, is ruled out where it is read)."""
PSTATE = Kind(1, 0, 15)
