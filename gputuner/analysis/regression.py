"""Whether one session is worse than another (methods §1), and what makes a comparison void.

Worse = by more than max(2 %, that metric's stored run-to-run spread), beyond both intervals, and significant after
Holm's correction over all metrics; a guard confirms it by one re-run.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import log
from statistics import median, stdev

from gputuner.analysis.comparing import apart, bounds, holm, improvement, worse_p
from gputuner.analysis.headlines import BESIDE, benchmark_of, headlines
from gputuner.model.points import Flag, Point
from gputuner.model.readings import Scalar

LEAST_CHANGE = 0.02
ALPHA = 0.05
STORED_FACTOR = 2.0
"""A metric's stored run-to-run spread is this many standard deviations between sessions."""
LEAST_SESSIONS = 3
"""Sessions from which on their spread is believed."""
NOISE = ("seed", "verified", "job", "null", "repeat")
"""Parameters that do not say what was measured."""
SHAPE = ("m", "n", "k", "transposed")
"""Found by a search: of a settled figure the best shape counts, whichever it was."""
VOID_FLAGS = frozenset({Flag.SHARED, Flag.IMPLAUSIBLE, Flag.TOO_SLOW, Flag.EXTRAPOLATED})
ONE_SIDED = frozenset({Flag.EMULATED})
"""Void where only one side has it."""

Key = tuple[str, str, tuple[tuple[str, Scalar], ...]]


class Verdict(StrEnum):
    """What a difference means."""

    WORSE = "worse"
    BETTER = "better"
    SAME = "same"
    VOID = "void"
    UNCERTAIN = "uncertain"
    """One side has no interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The same figure of two sessions. ``change``: relative, positive = better. ``p``: one-sided, after Holm's
    correction over all metrics.

    ``limit``: the change that has to be exceeded. ``void``: why the comparison means nothing (flags).
    """

    before: Point
    after: Point
    change: float
    limit: float
    verdict: Verdict
    p: float | None = None
    void: str = ""


def key_of(point: Point) -> Key:
    """What makes two figures the same: metric, workload (or benchmark) and parameters without noise."""
    left_out = (*NOISE, *SHAPE) if point.metric == "matmul_rate" else NOISE
    params = tuple(sorted((k, v) for k, v in point.params.items() if k not in left_out))
    return point.metric, benchmark_of(point), params


def by_key(points: Iterable[Point]) -> dict[Key, Point]:
    """One figure for each key: of repeats the middle one. Those of a search count for nothing."""
    groups: dict[Key, list[Point]] = {}
    for point in points:
        if point.params.get("phase") != "search" and point.metric not in BESIDE and point.value > 0:
            groups.setdefault(key_of(point), []).append(point)
    return {key: sorted(found, key=lambda p: p.value)[(len(found) - 1) // 2] for key, found in groups.items()}


def stored_spread(sessions: Iterable[Sequence[Point]]) -> dict[Key, float]:
    """Run-to-run spread of each metric: twice the standard deviation of its logarithm between sessions.

    Only metrics that at least three sessions measured without flags that void them.
    """
    logs: dict[Key, list[float]] = {}
    for points in sessions:
        for key, point in by_key(points).items():
            if not VOID_FLAGS & set(point.flags):
                logs.setdefault(key, []).append(log(point.value))
    return {key: STORED_FACTOR * stdev(values) for key, values in logs.items() if len(values) >= LEAST_SESSIONS}


def compare(
    before: Iterable[Point], after: Iterable[Point], spreads: Mapping[Key, float] | None = None
) -> tuple[Difference, ...]:
    """Every figure that both sessions have, in the order of the earlier one.

    Args:
        before: figures of the session to hold on to.
        after: figures of the newer one.
        spreads: stored run-to-run spread by key (``stored_spread``).
    """
    known, stored = by_key(after), spreads or {}
    found = [_raw(point, known[key], stored.get(key, 0.0)) for key, point in by_key(before).items() if key in known]
    judged = [i for i, each in enumerate(found) if each.p is not None]
    falls = holm([found[i].p or 0.0 for i in judged])
    rises = holm([1.0 - (found[i].p or 0.0) for i in judged])
    for i, fall, rise in zip(judged, falls, rises, strict=True):
        found[i] = _judged(found[i], fall if found[i].change < 0 else rise)
    return tuple(found)


def _raw(before: Point, after: Point, stored: float) -> Difference:
    change, limit = improvement(before, after), max(LEAST_CHANGE, stored)
    void = _void(before, after)
    if void:
        return Difference(before=before, after=after, change=change, limit=limit, verdict=Verdict.VOID, void=void)
    ours, theirs = bounds(before), bounds(after)
    if ours is None or theirs is None:
        return Difference(before=before, after=after, change=change, limit=limit, verdict=Verdict.UNCERTAIN)
    p = worse_p(before, after, ours, theirs)
    verdict = Verdict.SAME if not apart(ours, theirs) or abs(change) <= limit else Verdict.UNCERTAIN
    return Difference(before=before, after=after, change=change, limit=limit, verdict=verdict, p=p)


def _judged(of: Difference, p: float) -> Difference:
    verdict = of.verdict
    if verdict is Verdict.UNCERTAIN:
        certain = Verdict.WORSE if of.change < 0 else Verdict.BETTER
        verdict = certain if p < ALPHA else Verdict.SAME
    return Difference(before=of.before, after=of.after, change=of.change, limit=of.limit, verdict=verdict, p=p)


def _void(before: Point, after: Point) -> str:
    for point in (before, after):
        for flag in point.flags:
            if flag in VOID_FLAGS:
                return flag.value
    one = (set(before.flags) ^ set(after.flags)) & ONE_SIDED
    if one:
        return next(iter(one)).value
    return "origin" if before.origin is not after.origin else ""


def worse(differences: Iterable[Difference]) -> tuple[Difference, ...]:
    """Those that are worse."""
    return tuple(each for each in differences if each.verdict is Verdict.WORSE)


def telling(differences: Iterable[Difference]) -> tuple[Difference, ...]:
    """Those to show: the headlines of the earlier session, and all that became better or worse."""
    kept = tuple(differences)
    shown = {point.id for point in headlines(each.before for each in kept)}
    changed = (Verdict.WORSE, Verdict.BETTER)
    return tuple(each for each in kept if each.before.id in shown or each.verdict in changed)


def confirmed(first: Iterable[Difference], again: Iterable[Difference]) -> tuple[Difference, ...]:
    """Those that were worse at first and are again: of the re-run's figures.

    The re-run looks at few metrics, so Holm corrects over these alone.
    """
    suspects = {key_of(each.before) for each in worse(first)}
    return tuple(each for each in worse(again) if key_of(each.before) in suspects)


def benchmarks_of(differences: Iterable[Difference]) -> tuple[str, ...]:
    """Names of the benchmarks that the figures belong to."""
    return tuple(dict.fromkeys(benchmark_of(each.before) for each in differences))


def middle_change(differences: Iterable[Difference]) -> float | None:
    """Median relative change of all figures that can be compared; None without any."""
    changes = [each.change for each in differences if each.verdict is not Verdict.VOID]
    return median(changes) if changes else None
