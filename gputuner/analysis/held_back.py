"""What held a figure back: the one cause that cost most, from limits, clocks, roofline and how busy the card was.

Two losses are compared: that of the clock (1 − clock / highest clock, the work of a power, heat or user's limit) and
that at the clock it ran (1 − share of the peak, the work of memory, host, shape or software). The larger is named;
where one of the two is not known, it is not said that the other cost most. A clock's loss is put down to limits only if
they were on for at least half of the time, for the clock is a median.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from gputuner.analysis.limits import POWER_SHARE, THERMAL, THERMAL_SHARE, share
from gputuner.model.points import Conditions
from gputuner.model.quantities import Limiter


class Cause(StrEnum):
    """What held a figure back most; words stand in ``language/benchmarks.py``."""

    NOTHING = "nothing"
    """Near the peak at the clock it ran, and the clock was not held back."""
    POWER_CAP = "power_cap"
    THERMAL = "thermal"
    HARDWARE = "hardware_slowdown"
    """The card's hardware, which does not tell why."""
    USER_CAP = "user_cap"
    LINK = "link"
    MEMORY_BANDWIDTH = "memory_bandwidth"
    """By the roofline: few operations per byte."""
    HOST = "host"
    """The card waited for launches or the host."""
    LOADER = "loader"
    """The training waited for its input."""
    SOFTWARE = "software"
    """Clock and card were free: kernels or shapes that do not fill the chip."""
    SOFTWARE_OR_MEMORY = "software_or_memory"
    """The same of a work whose traffic is not known, so that the memory may be it too."""
    EMULATED = "emulated"
    SHARED = "shared"
    NO_LIMIT_SEEN = "no_limit_seen"
    """Neither clock nor host; how far the chip's limit is cannot be told for this work."""
    UNKNOWN = "unknown"
    """No telemetry meanwhile."""


NEAR_PEAK = 0.90
"""From this share of the peak at the clock it ran on, software held nothing back."""
NEAR_DRAM_PEAK = 0.85
"""The same of the rate at DRAM's pins, of which refresh, opening rows and turning the bus around take the rest.

Published copies reach 86 % (A100), 89 % (RTX 3090) and 91 % (RTX 4090) of it.
"""
LITTLE_LOST = 0.02
"""Share of the clock below which a limit is not what held a figure back."""
MEMORY_CLOCK_LOWERED = 0.12
"""The same of the memory clock: GeForce computes in the state P2, whose memory clock is up to 10 % lower (a 3090: 9501
of 9751 MHz), and no limit did that."""
MOSTLY = 0.5
"""Share of the time from which on a limit explains the median of the clock."""
BUSY = 0.85
"""Use of the card below which it waited for the host."""
BUSY_FROM_S = 2.0
"""Shorter windows have no use of the card: what the driver tells trails by up to a second and holds what was before."""
STARVED = 0.05
"""Share of the time waiting for input from which on that is the cause."""
ON_THE_SLOPE = 0.6
"""Share of the roofline's slope from which on memory is named for a work that lies under it."""
OVER_THE_SLOPE = 1.1
"""Beyond this share of the slope a work came out of a cache, and DRAM did not bind it."""
NEAR_LINK = 0.80
"""Share of the link's coded rate from which on packet headers explain the rest (about 90 % is the most)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What is known of a figure; None: not known.

    ``of_peak``: share of the peak at the clock it ran (of DRAM's for a bandwidth). ``clock_share``: clock over the
    highest clock of the same domain. ``dram``: a bandwidth of DRAM, which follows the memory clock alone. ``cold``:
    measured after idling. ``memory_bound``: by the roofline the memory's slope lies below the peak there, and
    ``of_peak`` is of that slope, as ``of_slope`` is; ``traffic_unknown``: it has no place on the roofline. ``of_link``:
    share of the link's coded rate, for transfers. ``starved``: share of the time a training waited for input.
    """

    conditions: Conditions | None
    shared: bool = False
    emulated: bool = False
    link_below_max: bool = False
    over_link: bool = False
    of_peak: float | None = None
    clock_share: float | None = None
    dram: bool = False
    cold: bool = False
    memory_bound: bool = False
    of_slope: float | None = None
    traffic_unknown: bool = False
    of_link: float | None = None
    starved: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldBack:
    """The cause and what it cost: ``lost`` of the rate (0–1, None: cannot be told), ``share`` of time in a limit.

    ``beside``, ``beside_share``: a limit of the clock that was on too, and for which share of the time. ``most``: False
    where another cause may have cost more, since its loss is not known.
    """

    cause: Cause
    lost: float | None = None
    share: float | None = None
    beside: Cause | None = None
    beside_share: float | None = None
    most: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lowered:
    """Limits that lowered the clock: the one that is named, and what all of them cost (None: not known)."""

    named: HeldBack
    cost: float | None


def held_back(seen: Seen) -> HeldBack:
    """The one cause that cost most, or the one that is known."""
    if seen.shared:
        return HeldBack(cause=Cause.SHARED)
    if seen.starved is not None and seen.starved >= STARVED:
        return HeldBack(cause=Cause.LOADER, lost=seen.starved)
    if seen.over_link:
        return _link(seen)
    if seen.conditions is None or seen.conditions.samples == 0:  # a peak is known by a clock measured in band
        return HeldBack(cause=Cause.NOTHING if _near_peak(seen) else Cause.UNKNOWN)
    if seen.emulated:
        return HeldBack(cause=Cause.EMULATED)
    lowered = _clock(seen, seen.conditions)
    rest = _at_its_clock(seen, seen.conditions)
    return rest if lowered is None else _dearer(lowered, rest)


def _dearer(lowered: _Lowered, rest: HeldBack) -> HeldBack:
    """Of the lowered clock and what was lost at that clock the one that cost more."""
    named = lowered.named
    if rest.cause is Cause.NOTHING:
        return named
    if rest.cause is Cause.MEMORY_BANDWIDTH:  # at this clock the memory's slope still lies below the peak
        return rest
    if rest.lost is None:
        return replace(named, most=False)
    if lowered.cost is None:
        return replace(rest, beside=named.cause, beside_share=named.share, most=False)
    return named if lowered.cost >= rest.lost else rest


def _link(seen: Seen) -> HeldBack:
    if seen.link_below_max:
        return HeldBack(cause=Cause.LINK)
    if seen.of_link is None:
        return HeldBack(cause=Cause.UNKNOWN)
    near = seen.of_link >= NEAR_LINK
    return HeldBack(cause=Cause.NOTHING if near else Cause.HOST, lost=max(0.0, 1.0 - seen.of_link))


def _clock(seen: Seen, conditions: Conditions) -> _Lowered | None:
    """The limits that lowered the clock; None where none did, or they cost next to nothing."""
    on = _limits(conditions)
    lost = None if seen.clock_share is None else max(0.0, 1.0 - seen.clock_share)
    little = MEMORY_CLOCK_LOWERED if seen.dram else LITTLE_LOST
    if not on or (lost is not None and lost < little) or (seen.dram and lost is None):
        return None
    cause, *others = sorted(on, key=lambda each: on[each], reverse=True)
    beside = others[0] if others else None
    named = HeldBack(
        cause=cause,
        lost=lost if on[cause] >= MOSTLY else None,
        share=on[cause],
        beside=beside,
        beside_share=on[beside] if beside is not None else None,
    )
    explained = sum(on.values()) >= MOSTLY
    return _Lowered(named=named, cost=lost if lost is None or explained else 0.0)


def _limits(conditions: Conditions) -> dict[Cause, float]:
    """Share of the time in each kind of limit that is more than passing; heat first, which is named among equals."""
    shares = {
        Cause.THERMAL: (share(conditions, *THERMAL), THERMAL_SHARE),
        Cause.POWER_CAP: (share(conditions, Limiter.POWER, Limiter.POWER_BRAKE), POWER_SHARE),
        Cause.HARDWARE: (share(conditions, Limiter.HARDWARE), POWER_SHARE),
        Cause.USER_CAP: (share(conditions, Limiter.USER_CAP), POWER_SHARE),
    }
    return {cause: part for cause, (part, least) in shares.items() if part >= least}


def _near_peak(seen: Seen) -> bool:
    return seen.of_peak is not None and seen.of_peak >= (NEAR_DRAM_PEAK if seen.dram else NEAR_PEAK)


def _at_its_clock(seen: Seen, conditions: Conditions) -> HeldBack:
    """What was lost at the clock it ran."""
    short = seen.cold or conditions.duration_s < BUSY_FROM_S
    busy = None if short else conditions.gpu_utilisation
    lost = None if seen.of_peak is None else max(0.0, 1.0 - seen.of_peak)
    if seen.memory_bound and _near_peak(seen):  # at the end of the slope the memory is what binds it
        return HeldBack(cause=Cause.MEMORY_BANDWIDTH, lost=lost)
    if _near_peak(seen):
        return HeldBack(cause=Cause.NOTHING, lost=lost)
    if busy is not None and busy < BUSY:
        return HeldBack(cause=Cause.HOST, lost=max(1.0 - busy, lost or 0.0))
    if seen.memory_bound and seen.of_slope is not None and ON_THE_SLOPE <= seen.of_slope <= OVER_THE_SLOPE:
        return HeldBack(cause=Cause.MEMORY_BANDWIDTH, lost=lost)
    if lost is None:
        return HeldBack(cause=Cause.NO_LIMIT_SEEN)
    return HeldBack(cause=Cause.SOFTWARE_OR_MEMORY if seen.traffic_unknown else Cause.SOFTWARE, lost=lost)
