"""What heat held back in a health test, and whether it was the memory's (methods §7: never a degree without a sensor).

Passes of the VRAM test do the same work cold and hot, so the rate of those that the software thermal limit held back,
against those of the same kind that no limit held back, is what the heat took.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from math import comb
from statistics import mean, median
from typing import Literal

from gputuner.analysis.limits import POWER_SHARE, THERMAL, THERMAL_SHARE, memory_heat_suspected, share
from gputuner.analysis.statistics import Interval
from gputuner.model.points import Conditions, Point
from gputuner.model.quantities import Limiter

Cause = Literal["memory", "other"]
MARGIN_C = 10.0
"""A sensor of the memory that stays so far below the memory's limit shows that it is not the memory."""
LEAST_FREE = 3
"""Passes of a kind that no limit held back, from which on their median is a base."""
TRUSTED_S = 1.0
"""Shorter windows hold too few samples to speak of a share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldByHeat:
    """Passes and products that a thermal limit held back."""

    cause: Cause
    """``memory``: the core was cool meanwhile, and no sensor shows a cool memory."""
    points: tuple[Point, ...]
    seconds: float
    share: float
    """Of the time of these points, 0–1."""
    shares: Interval | None
    """The same of the trials of the VRAM test among them, with its 95 % interval; None: fewer than six trials."""
    core_c: float | None
    """Highest reading at the end of one."""
    memory_c: float | None = None
    """The same of the memory's own sensor; None: it has none."""
    lost: Interval | None = None
    """Share of the rate that the memory's passes lost, with its 95 % interval; None: nothing to compare with."""


def held_by_heat(
    points: Sequence[Point], *, target_c: float | None, slowdown_c: float | None, memory_limit_c: float | None
) -> HeldByHeat | None:
    """What heat held back in a health test; None: nothing for 1 % of any pass.

    Args:
        points: figures of the test.
        target_c: current target of the core, °C; None: not told.
        slowdown_c: temperature at which the core slows down, °C; None: not told.
        memory_limit_c: highest temperature of the memory, °C; None: not told.
    """
    seen = [(p, p.conditions) for p in points if p.metric in ("vram_errors", "burn_errors") and p.conditions]
    told = [(p, c) for p, c in seen if c.samples > 0 and c.duration_s >= TRUSTED_S]
    held = [(p, c) for p, c in told if share(c, *THERMAL) >= THERMAL_SHARE]
    if not held:
        return None
    moved = len({c.core_temperature_end_c for _, c in told}) > 1  # a sensor that stands says nothing of a cool core
    cool = [
        (p, c)
        for p, c in held
        if moved
        and share(c, Limiter.THERMAL_HARDWARE) < THERMAL_SHARE
        and memory_heat_suspected(c, target_c=target_c, slowdown_c=slowdown_c) is not None
        and _may_be_hot(c, memory_limit_c)
    ]
    if 2.0 * _seconds(cool) <= _seconds(held):
        return _held("other", held)
    own = frozenset(p.id for p, _ in cool)
    return _held("memory", cool, _lost(own, told), _shares(own, told))


def _may_be_hot(conditions: Conditions, limit_c: float | None) -> bool:
    memory_c = conditions.memory_temperature_end_c
    return memory_c is None or (limit_c is not None and memory_c >= limit_c - MARGIN_C)


def _seconds(windows: Iterable[tuple[Point, Conditions]]) -> float:
    return sum(share(c, *THERMAL) * c.duration_s for _, c in windows)


def _held(
    cause: Cause,
    windows: Sequence[tuple[Point, Conditions]],
    lost: Interval | None = None,
    shares: Interval | None = None,
) -> HeldByHeat:
    core = [c.core_temperature_end_c for _, c in windows if c.core_temperature_end_c is not None]
    memory = [c.memory_temperature_end_c for _, c in windows if c.memory_temperature_end_c is not None]
    return HeldByHeat(
        cause=cause,
        points=tuple(p for p, _ in windows),
        seconds=_seconds(windows),
        share=_seconds(windows) / sum(c.duration_s for _, c in windows),
        shares=shares,
        core_c=max(core, default=None),
        memory_c=max(memory, default=None),
        lost=lost,
    )


def _kinds(told: Sequence[tuple[Point, Conditions]]) -> dict[str, list[tuple[Point, Conditions]]]:
    """Passes of the VRAM test by kind: the n-th of each is of the n-th trial."""
    kinds: dict[str, list[tuple[Point, Conditions]]] = {}
    for p, c in told:
        if "pass" in p.params and _rate(p) > 0:
            kinds.setdefault(str(p.params["pass"]), []).append((p, c))
    return kinds


def _shares(own: Collection[str], told: Sequence[tuple[Point, Conditions]]) -> Interval | None:
    trials: dict[int, list[float]] = {}
    for windows in _kinds(told).values():
        for n, (p, c) in enumerate(windows):
            if p.id in own:
                trials.setdefault(n, []).append(share(c, *THERMAL))
    found = _of_trials([mean(each) for each in trials.values()])
    return Interval(value=found[1], low=found[0], high=found[2]) if found else None


def _lost(own: Collection[str], told: Sequence[tuple[Point, Conditions]]) -> Interval | None:
    """What held passes lost, by trials: passes of one trial share its heat, and trials drift as the card warms up.

    Each pass counts against the median of its kind free of limits; those in the power limit are left out.
    """
    slowed: dict[int, list[float]] = {}
    free: dict[int, list[float]] = {}
    for windows in _kinds(told).values():
        unpowered = [(n, p, share(c, *THERMAL)) for n, (p, c) in enumerate(windows) if not _powered(c)]
        loose = [(n, _rate(p)) for n, p, heat in unpowered if heat < THERMAL_SHARE]
        if len(loose) >= LEAST_FREE:
            base = median(rate for _, rate in loose)
            for n, rate in loose:
                free.setdefault(n, []).append(rate / base)
            for n, p, _ in unpowered:
                if p.id in own:
                    slowed.setdefault(n, []).append(_rate(p) / base)
    above, below = (_of_trials([mean(each) for each in trials.values()]) for trials in (slowed, free))
    if above is None or below is None:
        return None
    return Interval(value=1.0 - above[1] / below[1], low=1.0 - above[2] / below[0], high=1.0 - above[0] / below[2])


def _of_trials(values: Sequence[float]) -> tuple[float, float, float] | None:
    """Low end, median and high end by the sign test: ≥ 95 % whatever the distribution; None: fewer than six trials."""
    n, ordered = len(values), sorted(values)
    rank, below = -1, 0.5**n
    while 2.0 * below <= 0.05:
        rank += 1
        below += comb(n, rank + 1) * 0.5**n
    return (ordered[rank], median(ordered), ordered[-1 - rank]) if rank >= 0 else None


def _powered(conditions: Conditions) -> bool:
    return share(conditions, Limiter.POWER, Limiter.POWER_BRAKE) >= POWER_SHARE


def _rate(point: Point) -> float:
    return float(point.extra.get("rate", 0.0))
