"""From seconds in each limit to what held the card back while a figure was measured."""

from collections.abc import Iterable
from dataclasses import dataclass

from gputuner.model.points import Conditions, Flag
from gputuner.model.quantities import Limiter

POWER_SHARE = 0.05
"""Share of the window in the power limit from which on a figure is flagged."""
THERMAL_SHARE = 0.01
"""The same for thermal limits, which are never ordinary."""
THERMAL = (Limiter.THERMAL_SOFTWARE, Limiter.THERMAL_HARDWARE)
BINDING = (
    Limiter.THERMAL_HARDWARE,
    Limiter.POWER_BRAKE,
    Limiter.THERMAL_SOFTWARE,
    Limiter.HARDWARE,
    Limiter.POWER,
    Limiter.USER_CAP,
    Limiter.SYNC_BOOST,
)
"""Limits that hold a clock back, most serious first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What held the clock back most, and for which share of the time (0–1)."""

    limiter: Limiter
    share: float


def share(conditions: Conditions, *limiters: Limiter) -> float:
    """Share of the window (0–1) spent in the given limits; overlapping counters are not counted above 1."""
    if conditions.duration_s <= 0:
        return 0.0
    return min(1.0, sum(conditions.limited_s.get(name, 0.0) for name in limiters) / conditions.duration_s)


def what_limits(windows: Iterable[Conditions]) -> Held:
    """The limit with the largest share of the time over all windows; ``NONE`` with share 0 where none did.

    A thermal limit above its share is named before a power limit of any length: it can be mended.
    """
    seconds: dict[Limiter, float] = {}
    total = 0.0
    for window in windows:
        total += window.duration_s
        for name in BINDING:
            seconds[name] = seconds.get(name, 0.0) + window.limited_s.get(name, 0.0)
    if total <= 0:
        return Held(limiter=Limiter.UNKNOWN, share=0.0)
    for name in THERMAL[::-1]:
        if seconds[name] / total >= THERMAL_SHARE:
            return Held(limiter=name, share=min(1.0, seconds[name] / total))
    name = max(BINDING, key=lambda each: seconds[each])
    if seconds[name] <= 0:
        return Held(limiter=Limiter.NONE, share=0.0)
    return Held(limiter=name, share=min(1.0, seconds[name] / total))


def limit_flags(conditions: Conditions | None) -> tuple[Flag, ...]:
    """``throttled:power`` from 5 % of the window, ``throttled:thermal`` from 1 %."""
    if conditions is None:
        return ()
    flags: list[Flag] = []
    if share(conditions, Limiter.POWER, Limiter.POWER_BRAKE) >= POWER_SHARE:
        flags.append(Flag.THROTTLED_POWER)
    if share(conditions, *THERMAL) >= THERMAL_SHARE:
        flags.append(Flag.THROTTLED_THERMAL)
    return tuple(flags)


def link_below_max(
    conditions: Conditions | None, *, generation_max: float | None, width_max: float | None
) -> bool | None:
    """True if the link stayed below what card and system can do together; None where that cannot be told."""
    if conditions is None:
        return None
    pairs = ((conditions.pcie_generation, generation_max), (conditions.pcie_width, width_max))
    known = [(seen, most) for seen, most in pairs if seen is not None and most is not None]
    return any(seen < most for seen, most in known) if known else None


def memory_heat_suspected(conditions: Conditions, *, target_c: float | None, slowdown_c: float | None) -> float | None:
    """Share of the window in the software thermal limit though the core was cool; None where there is no suspicion.

    Methods §7: software-thermal time grows while the core is more than 5 °C below its current target and more than
    10 °C below slowdown → memory or hotspot likely, never a degree. Needs the target or the slowdown temperature.
    """
    core = conditions.core_temperature_end_c
    in_software = share(conditions, Limiter.THERMAL_SOFTWARE)
    if core is None or in_software < THERMAL_SHARE or (target_c is None and slowdown_c is None):
        return None
    if target_c is not None and core >= target_c - 5.0:
        return None
    if slowdown_c is not None and core >= slowdown_c - 10.0:
        return None
    return in_software
