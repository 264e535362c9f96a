"""Why a job slows beside others: which resource explains most of it (methods §6).

In order: the lower clock that two jobs' draw brings is divided out and named; the host's processor is looked at first,
since a loader without cores makes every resource of the card look free; then what the probes say, by resource. A cause
explains its share of the logarithm of the slowdown. It is the verdict where it explains half or more, else causes are
mixed; where all together explain less than half, the cause is unknown.

Contexts that alternate in time slices never meet on a cache, on memory or on pipes: there the card's part is time
slicing, and nothing is said of resources.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log

from gputuner.analysis.contention_prediction import predict
from gputuner.analysis.contention_pressure import HOST, PCIE, PROBES, SLICES, SM, TENSOR, Pressures, log_slowdown

TIME_SLICING, CLOCK, MEMORY, MIXED, UNKNOWN = "time_slicing", "clock", "memory_capacity", "mixed", "unknown"
HOST_SERIALISED = "host_serialised"
"""The jobs of one process took turns at its Python: seen by the trials themselves, before any probe."""
CAUSES = (
    TIME_SLICING,
    *(probe for probe in PROBES if probe != SLICES),
    HOST_SERIALISED,
    CLOCK,
    MEMORY,
    MIXED,
    UNKNOWN,
)
PIPES = (SM, TENSOR)
"""Both are issued by the same schedulers and fill the same SMs: together they explain, the larger one is named."""
NO_SLOWDOWN = 1.05
"""Below this there is nothing to explain."""
HALF = 0.5
LEAST_SHARE = 0.01
"""A smaller part of a slowdown is not told."""
HOST_FULL = 0.9
"""Share of the machine's processor time in use from which on it is short."""
IDLER = 0.85
"""The card's use together over alone: below this it waits for something else than itself."""
IDLE_CARD = 0.05
"""Use of the card by a job alone below which nothing on the card can be what holds it back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSeen:
    """The host while jobs ran together and alone; shares 0 … 1, None: not known."""

    processor: float
    """Processor time in use together, over all cores the jobs may use."""
    card_together: float | None = None
    """Use of the card together …"""
    card_alone: float | None = None
    """… and the largest of a job alone."""

    @property
    def short(self) -> bool:
        """Whether the host holds the jobs back: its processor is full, and the card does less than alone, or none."""
        if self.processor < HOST_FULL:
            return False
        if self.card_together is None or self.card_alone is None or self.card_alone < IDLE_CARD:
            return True
        return self.card_together < IDLER * self.card_alone


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySeen:
    """The card's memory while jobs ran together."""

    retries: int = 0
    """Allocations that only succeeded after the allocator gave back what it kept; alone there were none."""
    failed: bool = False
    """A job ran out of memory."""

    @property
    def short(self) -> bool:
        """Whether it was short."""
        return self.failed or self.retries > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Why a job slowed, with the share of the slowdown (of its logarithm) that each cause explains."""

    verdict: str
    slowdown: float
    shares: Mapping[str, float] = field(default_factory=lambda: {})
    """Largest first; they add up to 1 at most."""
    by_probes: bool = False
    """Probes told; False: only what was seen of clock, host and memory."""
    alternating: bool = False
    """Contexts alternated, so that nothing can be said of caches, memory and pipes."""

    @property
    def explained(self) -> float:
        """Share of the slowdown that is explained."""
        return min(1.0, sum(self.shares.values()))


def cause_of(
    found: Pressures,
    job: str,
    partners: Sequence[str],
    slowdown: float,
    *,
    clock_factor: float | None = None,
    busy_alone: float | None = None,
    host: HostSeen | None = None,
    memory: MemorySeen | None = None,
) -> Cause | None:
    """The cause by probes; None where there is nothing to explain.

    What probes say of several partners adds up. Where they say more than was measured, all shares shrink alike.

    Args:
        found: what jobs and probes did beside each other.
        job: the job that slowed.
        partners: those beside it.
        slowdown: as measured.
        clock_factor: SM clock alone over that together.
        busy_alone: share of the time for which the job alone keeps the card busy.
        host: what the host did.
        memory: what the memory did.

    Raises:
        KeyError: a job was not measured beside the probes.
    """
    plain = plain_cause(
        slowdown, alternating=found.alternating, clock_factor=clock_factor, busy_alone=busy_alone, host=host,
        memory=memory,
    )  # fmt: skip
    if plain is None or plain.verdict in (MEMORY, HOST):
        return plain
    if host is None or host.processor < HOST_FULL:  # idle cores are no cause, however much full ones would cost
        found = found.without(HOST)
    whole = log_slowdown(slowdown)
    shares = {name: share for name, share in plain.shares.items() if name == CLOCK}
    told: dict[str, float] = {}
    for partner in partners:
        for setting, part in predict(found, job, partner).parts.items():
            name = _named(setting.probe, found.alternating)
            told[name] = told.get(name, 0.0) + part / whole
    room, asked = 1.0 - shares.get(CLOCK, 0.0), sum(told.values())
    shrink = min(1.0, room / asked) if asked > 0 else 1.0
    shares |= {name: share * shrink for name, share in told.items() if share * shrink >= LEAST_SHARE}
    return _judged(slowdown, shares, found.alternating, by_probes=True)


def plain_cause(
    slowdown: float,
    *,
    alternating: bool,
    clock_factor: float | None = None,
    busy_alone: float | None = None,
    host: HostSeen | None = None,
    memory: MemorySeen | None = None,
) -> Cause | None:
    """The cause as far as clock, host and memory tell it, without probes; None where there is nothing to explain."""
    if slowdown < NO_SLOWDOWN and not (memory is not None and memory.failed):
        return None
    clock = _clock_share(slowdown, clock_factor, busy_alone)
    shares = {CLOCK: clock} if clock > 0 else {}
    if memory is not None and memory.short:
        return Cause(verdict=MEMORY, slowdown=slowdown, shares={MEMORY: 1.0 - clock, **shares}, alternating=alternating)
    if host is not None and host.short:
        return Cause(verdict=HOST, slowdown=slowdown, shares={HOST: 1.0 - clock, **shares}, alternating=alternating)
    return _judged(slowdown, shares, alternating, by_probes=False)


def _clock_share(slowdown: float, clock_factor: float | None, busy_alone: float | None) -> float:
    """Share that the lower clock explains at most: a job that waits for memory loses less by it.

    The clock stretches only the time in which the card works for the job: 1 + u · (ratio − 1) over the whole step.
    """
    if clock_factor is None or clock_factor <= 1.0 or slowdown <= 1.0:
        return 0.0
    busy = 1.0 if busy_alone is None else min(1.0, max(0.0, busy_alone))
    return min(1.0, log(1.0 + busy * (clock_factor - 1.0)) / log(slowdown))


def _named(probe: str, alternating: bool) -> str:
    """A probe's cause: in time slices everything on the card itself is a matter of slices."""
    if probe == SLICES or (alternating and probe not in (HOST, PCIE)):
        return TIME_SLICING
    return probe


def _judged(slowdown: float, shares: Mapping[str, float], alternating: bool, *, by_probes: bool) -> Cause:
    ordered = dict(sorted(shares.items(), key=lambda entry: -entry[1]))
    verdict = MIXED if sum(ordered.values()) >= HALF else UNKNOWN
    for group in (PIPES, *((name,) for name in ordered)):
        if sum(ordered.get(name, 0.0) for name in group) >= HALF:
            verdict = max(group, key=lambda name: ordered.get(name, 0.0))
            break
    return Cause(verdict=verdict, slowdown=slowdown, shares=ordered, by_probes=by_probes, alternating=alternating)
