"""Levels of a memory from its latency over footprints: L1, L2 (near and far halves where it is divided), DRAM.

A level is a plateau: footprints in a row whose latencies lie within :data:`BAND` of each other. Between two levels the
latency of a footprint is a mixture that no access has; such points belong to no level and are averaged into none.
Beyond DRAM's plateau the latency rises again where the translation buffers no longer reach.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

BAND = 0.06
"""Highest over lowest latency of a plateau, less one."""
SAME = 0.15
"""Neighbouring plateaus closer than this are one that slopes (translations that miss)."""
LEAST_POINTS = 3
L1_MOST_BYTES = 1 << 20
"""No L1 of an SM is larger (256 KiB in 2024)."""
CACHE_HOLDS = 1.05
"""A footprint of so many L2 still counts as cached; beyond is DRAM."""
BEYOND_CACHE = 4
"""From so many L2 on an access of a random chase reaches DRAM."""
ONE_STEP = 1.5
"""Last over first footprint at which a curve that is not quite even rises through the step: beyond, they are two."""
TLB_RISE = 0.10
"""Above DRAM's plateau by this share: the translation buffers do not reach any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One level. ``latency_s`` of an access in seconds; footprints from ``least_bytes`` to ``most_bytes`` lie on it."""

    name: str
    """``l1``, ``l2``, ``l2_near``, ``l2_far``, ``dram``."""
    latency_s: float
    least_bytes: int
    most_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """All levels, nearest first.

    ``tlb_reach_bytes``: the largest footprint whose address translations are at hand; None: no end was seen.
    """

    levels: tuple[Level, ...]
    tlb_reach_bytes: int | None = None

    def of(self, footprint: int) -> str:
        """The level that a footprint lies on; ``between``: on none."""
        return next((v.name for v in self.levels if v.least_bytes <= footprint <= v.most_bytes), "between")


Curve = Sequence[tuple[int, float]]


def levels(curve: Curve, l2_bytes: int) -> Levels:
    """The levels of a latency curve.

    Args:
        curve: footprints in bytes with the latency of an access in seconds, in any order.
        l2_bytes: size of the L2; 0: not known.
    """
    points = sorted(curve)
    plateaus = _merged([points[a:b] for a, b in _plateaus([latency for _, latency in points])])
    if not plateaus:
        return Levels(levels=())
    named = _named(plateaus, points, l2_bytes)
    dram = next((v for v in named if v.name == "dram"), None)
    return Levels(levels=tuple(named), tlb_reach_bytes=_tlb_reach(points, dram) if dram else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheStep:
    """The footprint of the step behind the L2, in bytes; else why there is none (``missing``).

    ``no_cache_seen``: no plateau of an L2; ``no_step_seen``: the curve does not rise above it; ``two_steps``: it rises
    through the middle more than once, too far apart to be one step.
    """

    size_bytes: float | None = None
    missing: str = ""


def cache_step(curve: Curve, l2_bytes: int) -> CacheStep:
    """The footprint at which an access takes the mean of the L2's own latency and DRAM's.

    Where lines are replaced at random an access of a footprint f finds its line with probability L2 / f: at most twice
    the L2. Somewhat below the L2 where that is divided and its far half is slower (an H200: 51 of 60 MiB); where the
    near plateau ends says less (25 MiB there). One footprint that was disturbed is no step: of each three in a row the
    middle latency counts. Where the curve passes the mean more than once within :data:`ONE_STEP`, the geometric mean.

    Args:
        curve: footprints in bytes with the latency of an access in seconds; the largest several times the L2.
        l2_bytes: size of the L2 as told; 0: not known.
    """
    points = sorted(curve)
    near = next((v for v in levels(points, l2_bytes).levels if v.name in ("l2", "l2_near")), None)
    if near is None:
        return CacheStep(missing="no_cache_seen")
    if points[-1][1] <= near.latency_s * (1 + SAME):
        return CacheStep(missing="no_step_seen")
    middle = (near.latency_s + points[-1][1]) / 2
    found = [
        size + (larger - size) * (middle - latency) / (higher - latency)
        for (size, latency), (larger, higher) in pairwise(_even(points))
        if size >= near.most_bytes and latency < middle <= higher
    ]
    if not found:
        return CacheStep(missing="no_step_seen")
    if found[-1] > ONE_STEP * found[0]:
        return CacheStep(missing="two_steps")
    return CacheStep(size_bytes=(found[0] * found[-1]) ** 0.5)


def _even(points: Curve) -> list[tuple[int, float]]:
    """Each latency the middle one of its own and its neighbours': a running median keeps steps and drops spikes."""
    inner = [
        (here[0], statistics.median((before[1], here[1], after[1])))
        for before, here, after in zip(points, points[1:], points[2:], strict=False)
    ]
    return [*points[:1], *inner, *points[-1:]]


def _plateaus(latencies: Sequence[float]) -> list[tuple[int, int]]:
    """Stretches [start, end) within the band, the longest first taken, in order."""
    stretches: list[tuple[int, int]] = []
    for start in range(len(latencies)):
        end, low, high = start, latencies[start], latencies[start]
        while end < len(latencies):
            low, high = min(low, latencies[end]), max(high, latencies[end])
            if high > low * (1 + BAND):
                break
            end += 1
        stretches.append((start, end))
    chosen: list[tuple[int, int]] = []
    for start, end in sorted(stretches, key=lambda s: (s[0] - s[1], s[0])):
        if end - start >= LEAST_POINTS and all(end <= a or start >= b for a, b in chosen):
            chosen.append((start, end))
    return sorted(chosen)


def _merged(plateaus: list[list[tuple[int, float]]]) -> list[list[tuple[int, float]]]:
    """Neighbours that differ little are one: the nearer keeps its latency, so the longer of the two counts."""
    merged: list[list[tuple[int, float]]] = []
    for plateau in plateaus:
        if merged and _latency(plateau) <= _latency(merged[-1]) * (1 + SAME):
            longer = max(merged[-1], plateau, key=len)
            middle = _latency(longer)
            both = merged[-1] + plateau
            merged[-1] = sorted((size, middle) for size, _ in both)
        else:
            merged.append(plateau)
    return merged


def _latency(plateau: Sequence[tuple[int, float]]) -> float:
    return statistics.median(latency for _, latency in plateau)


def _dram(beyond: list[list[tuple[int, float]]], points: Curve, l2_bytes: int) -> list[tuple[int, float]]:
    """The first plateau that reaches to where all is DRAM; where the curve only slopes there, its first points."""
    far = [(size, latency) for size, latency in points if size >= BEYOND_CACHE * l2_bytes]
    reaching = [p for p in beyond if far and p[-1][0] >= far[0][0]]
    if reaching:
        return reaching[0]
    if l2_bytes and len(far) >= LEAST_POINTS:
        return far[:LEAST_POINTS]
    return beyond[0] if beyond else []


def _named(plateaus: list[list[tuple[int, float]]], points: Curve, l2_bytes: int) -> list[Level]:
    first = plateaus[0]
    l1 = [first] if first[-1][0] <= L1_MOST_BYTES else []
    rest = plateaus[len(l1) :]
    if l2_bytes:
        cached = [p for p in rest if statistics.median(size for size, _ in p) <= l2_bytes * CACHE_HOLDS]
        beyond = rest[len(cached) :]
    else:
        cached, beyond = rest[:-1], rest[-1:]
    names = ["l2"] if len(cached) == 1 else ["l2_near", "l2_far"]
    ends = cached if len(cached) < 3 else [cached[0], cached[-1]]
    found = [("l1", p) for p in l1] + list(zip(names, ends, strict=False))
    last = found[-1][1][-1][0] if found else 0
    found.append(("dram", _dram(beyond, [point for point in points if point[0] > last], l2_bytes)))
    found = [(name, plateau) for name, plateau in found if plateau]
    return [Level(name=name, latency_s=_latency(p), least_bytes=p[0][0], most_bytes=p[-1][0]) for name, p in found]


def _tlb_reach(points: Curve, dram: Level) -> int | None:
    above = [size for size, latency in points if size > dram.least_bytes and latency > dram.latency_s * (1 + TLB_RISE)]
    if not above:
        return None
    return max((size for size, _ in points if size < above[0]), default=None)
