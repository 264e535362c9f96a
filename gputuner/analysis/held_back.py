"""What held a figure back: the one cause that cost most, from limits, clocks, roofline and how busy the card was.

Two losses are compared: that of the clock (1 − clock / highest clock, the work of a power, heat or user's limit) and
that at the clock it ran (1 − share of the peak, the work of memory, host, shape or software). The larger is named.
"""

from dataclasses import dataclass
from enum import StrEnum

from gputuner.analysis.limits import POWER_SHARE, THERMAL, what_limits
from gputuner.model.points import Conditions
from gputuner.model.quantities import Limiter


class Cause(StrEnum):
    """What held a figure back most; words stand in ``language/benchmarks.py``."""

    NOTHING = "nothing"
    """At least 90 % of the peak at the clock it ran, and the clock was not held back."""
    POWER_CAP = "power_cap"
    THERMAL = "thermal"
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
    EMULATED = "emulated"
    SHARED = "shared"
    NO_LIMIT_SEEN = "no_limit_seen"
    """Neither clock nor host; how far the chip's limit is cannot be told for this work."""
    UNKNOWN = "unknown"
    """No telemetry meanwhile."""


NEAR_PEAK = 0.90
"""From this share of the peak at the clock it ran on, software held nothing back."""
LITTLE_LOST = 0.02
"""Share of the clock below which a limit is not what held a figure back."""
BUSY = 0.85
"""Use of the card below which it waited for the host."""
STARVED = 0.05
"""Share of the time waiting for input from which on that is the cause."""
ON_THE_SLOPE = 0.6
"""Share of the roofline's slope from which on memory is named for a work that lies under it."""
NEAR_LINK = 0.80
"""Share of the link's coded rate from which on packet headers explain the rest (about 90 % is the most)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What is known of a figure; None: not known.

    ``of_peak``: share of the peak at the clock it ran (of DRAM's for a bandwidth). ``clock_share``: clock over the
    highest clock of the same domain. ``memory_bound``: by the roofline the memory's slope lies below the peak there;
    ``of_slope``: share of that slope. ``of_link``: share of the link's coded rate, for transfers. ``starved``: share
    of the time a training waited for input.
    """

    conditions: Conditions | None
    shared: bool = False
    emulated: bool = False
    link_below_max: bool = False
    over_link: bool = False
    of_peak: float | None = None
    clock_share: float | None = None
    memory_bound: bool = False
    of_slope: float | None = None
    of_link: float | None = None
    starved: float | None = None
    busy: float | None = None
    """Use of the card (0–1) where another figure than the conditions' is meant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldBack:
    """The cause and what it cost: ``lost`` of the rate (0–1, None: cannot be told), ``share`` of time in a limit."""

    cause: Cause
    lost: float | None = None
    share: float | None = None


def held_back(seen: Seen) -> HeldBack:
    """The one cause that cost most."""
    if seen.shared:
        return HeldBack(cause=Cause.SHARED)
    if seen.starved is not None and seen.starved >= STARVED:
        return HeldBack(cause=Cause.LOADER, lost=seen.starved)
    if seen.over_link:
        return _link(seen)
    if seen.conditions is None or seen.conditions.samples == 0:
        near = seen.of_peak is not None and seen.of_peak >= NEAR_PEAK  # by a clock measured in band
        return HeldBack(cause=Cause.NOTHING if near else Cause.UNKNOWN)
    if seen.emulated:
        return HeldBack(cause=Cause.EMULATED)
    clock = _clock(seen.conditions, seen.clock_share)
    rest = _at_its_clock(seen)
    if clock is not None and (rest.lost is None or (clock.lost or 0.0) >= rest.lost or rest.cause is Cause.NOTHING):
        return clock
    return rest


def _link(seen: Seen) -> HeldBack:
    if seen.link_below_max:
        return HeldBack(cause=Cause.LINK)
    if seen.of_link is None:
        return HeldBack(cause=Cause.UNKNOWN)
    near = seen.of_link >= NEAR_LINK
    return HeldBack(cause=Cause.NOTHING if near else Cause.HOST, lost=max(0.0, 1.0 - seen.of_link))


def _clock(conditions: Conditions, clock_share: float | None) -> HeldBack | None:
    """The limit that lowered the clock; None where none did, or it cost next to nothing."""
    held = what_limits((conditions,))
    cause = {Limiter.POWER: Cause.POWER_CAP, Limiter.POWER_BRAKE: Cause.POWER_CAP, Limiter.USER_CAP: Cause.USER_CAP}
    named = Cause.THERMAL if held.limiter in THERMAL else cause.get(held.limiter)
    if named is None or (named is not Cause.THERMAL and held.share < POWER_SHARE):
        return None
    lost = None if clock_share is None else max(0.0, 1.0 - clock_share)
    if lost is not None and lost < LITTLE_LOST:
        return None
    return HeldBack(cause=named, lost=lost, share=held.share)


def _at_its_clock(seen: Seen) -> HeldBack:
    """What was lost at the clock it ran."""
    busy = seen.busy if seen.busy is not None else seen.conditions.gpu_utilisation if seen.conditions else None
    waited = busy is not None and busy < BUSY
    lost = None if seen.of_peak is None else max(0.0, 1.0 - seen.of_peak)
    if seen.of_peak is not None and seen.of_peak >= NEAR_PEAK:
        return HeldBack(cause=Cause.NOTHING, lost=lost)
    if waited and busy is not None:
        return HeldBack(cause=Cause.HOST, lost=max(1.0 - busy, lost or 0.0))
    if seen.memory_bound and seen.of_slope is not None and seen.of_slope >= ON_THE_SLOPE:
        return HeldBack(cause=Cause.MEMORY_BANDWIDTH, lost=lost)
    if lost is None:
        return HeldBack(cause=Cause.NO_LIMIT_SEEN)
    return HeldBack(cause=Cause.SOFTWARE, lost=lost)
