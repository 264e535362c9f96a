"""Whether one session is worse than another (methods §1), and what makes a comparison void.

Worse = by more than max(2 %, the spread of that metric between stored sessions), beyond both intervals, and significant
after Holm's correction over all metrics. Sessions of an unchanged card differ by more than the intervals within one
show; that spread enters the error of the difference (``session_spread``). A guard measures once more what looks worse,
and decides by both measurements.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import log, sqrt
from statistics import median

from gputuner.analysis.comparing import apart, bounds, change_interval, holm, improvement, worse_p
from gputuner.analysis.contention_figures import newest
from gputuner.analysis.headlines import BESIDE, BETWEEN, NULL, PASSING, benchmark_of, headlines
from gputuner.analysis.session_spread import ASSUMED, SessionSpread, session_spreads
from gputuner.model.points import Flag, Point
from gputuner.model.readings import Scalar

LEAST_CHANGE = 0.02
ALPHA = 0.05
SUSPECT_ALPHA = 0.25
"""What falls below this after Holm's correction is measured once more: an unchanged card is so in a quarter of cases
at most.
"""
STORED_FACTOR = 2.0
"""A metric's spread between sessions is this many standard deviations; of a difference of two √2 times that."""
NOISE = ("seed", "verified", "job", "repeat")
"""Parameters that do not say what was measured."""
FOUND: dict[str, tuple[str, ...]] = {
    "matmul_rate": ("m", "n", "k", "transposed"),
    "access_latency": ("bytes",),
    "region_bandwidth": ("offset_bytes",),
}
"""Parameters that a measurement found by itself, by metric: the best shape, the footprint on a level's plateau, the
place of the region.
"""
REGION = "region"
"""Which of many regions a figure is of: ``slowest`` or ``median``."""
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
    """One side has no interval (no ``p``), or it lies beyond 2 % but within what sessions may differ by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The same figure of two sessions. ``change``: relative, positive = better. ``p``: one-sided, after Holm's
    correction over all metrics.

    ``limit``: the change that has to be exceeded. ``spread``: between sessions, as stored or assumed. ``void``: why
    the comparison means nothing (flags).
    """

    before: Point
    after: Point
    change: float
    limit: float
    verdict: Verdict
    p: float | None = None
    low: float | None = None
    high: float | None = None
    """Of the change, 95 %, with what sessions of an unchanged card differ by; None where a side has no interval."""
    void: str = ""
    spread: SessionSpread = ASSUMED


def key_of(point: Point) -> Key:
    """What makes two figures the same: metric, workload (or benchmark) and parameters without noise."""
    left_out = (*NOISE, *FOUND.get(point.metric, ()), *(("bytes",) if point.params.get("phase") == "sweep" else ()))
    params = tuple(sorted((k, v) for k, v in point.params.items() if k not in left_out))
    return point.metric, benchmark_of(point), params


def by_key(points: Iterable[Point]) -> dict[Key, Point]:
    """One settled figure for each key: of several the middle one.

    Those of a search and the repeats of a null check count for nothing; of a sweep only the best of a level that
    nothing else was measured on; of regions the slowest and the middle one.
    """
    groups: dict[Key, list[Point]] = {}
    for point in _settled(
        [p for p in newest(points) if p.value > 0 and p.metric not in BESIDE and NULL not in p.params]
    ):
        groups.setdefault(key_of(point), []).append(point)
    return {key: sorted(found, key=lambda p: p.value)[(len(found) - 1) // 2] for key, found in groups.items()}


def _settled(points: Sequence[Point]) -> Iterator[Point]:
    regions: dict[tuple[str, str], list[Point]] = {}
    swept = [p.params.get("phase") == "sweep" and p.params.get("level") != BETWEEN for p in points]
    levels = {point.id for point in headlines(points)} if any(swept) else set[str]()
    for point, sweep in zip(points, swept, strict=True):
        if point.metric == "region_bandwidth":
            regions.setdefault((point.card, benchmark_of(point)), []).append(point)
        elif point.params.get("phase") not in PASSING or (sweep and point.id in levels):
            yield point
    for found in regions.values():
        ranked = sorted(found, key=lambda p: p.value)
        for name, point in (("slowest", ranked[0]), ("median", ranked[(len(ranked) - 1) // 2])):
            params = {k: v for k, v in point.params.items() if k != "offset_bytes"}
            yield replace(point, params={**params, REGION: name})


def stored_spread(sessions: Iterable[Sequence[Point]]) -> dict[Key, SessionSpread]:
    """How far stored sessions lie apart, by metric, from figures without flags that void them."""
    logs: dict[Key, list[float]] = {}
    for points in sessions:
        for key, point in by_key(points).items():
            if not VOID_FLAGS & set(point.flags):
                logs.setdefault(key, []).append(log(point.value))
    return session_spreads(logs, {key: key[1] for key in logs})


def compare(
    before: Iterable[Point], after: Iterable[Point], spreads: Mapping[Key, SessionSpread] | None = None
) -> tuple[Difference, ...]:
    """Every figure that both sessions have, in the order of the earlier one.

    Args:
        before: figures of the session to hold on to.
        after: figures of the newer one.
        spreads: spread between stored sessions by key (``stored_spread``); what is not in it is assumed.
    """
    known, stored = by_key(after), spreads or {}
    found = [_raw(point, known[key], stored.get(key, ASSUMED)) for key, point in by_key(before).items() if key in known]
    judged = [i for i, each in enumerate(found) if each.p is not None]
    falls = holm([found[i].p or 0.0 for i in judged])
    rises = holm([1.0 - (found[i].p or 0.0) for i in judged])
    for i, fall, rise in zip(judged, falls, rises, strict=True):
        found[i] = _judged(found[i], fall if found[i].change < 0 else rise)
    return tuple(found)


def _raw(before: Point, after: Point, spread: SessionSpread) -> Difference:
    change, limit = improvement(before, after), max(LEAST_CHANGE, STORED_FACTOR * sqrt(2.0) * spread.deviation)
    void = _void(before, after)
    raw = Difference(before=before, after=after, change=change, limit=limit, verdict=Verdict.UNCERTAIN, spread=spread)
    if void:
        return replace(raw, verdict=Verdict.VOID, void=void)
    ours, theirs = bounds(before), bounds(after)
    if ours is None or theirs is None:
        return raw
    p = worse_p(before, [after], spread.deviation, spread.freedom)
    same = not apart(ours, theirs) or abs(change) <= (limit if spread.known else LEAST_CHANGE)
    low, high = change_interval(before, after, spread.deviation, spread.freedom) or (None, None)
    return replace(raw, verdict=Verdict.SAME if same else Verdict.UNCERTAIN, p=p, low=low, high=high)


def _judged(of: Difference, p: float) -> Difference:
    """With the corrected p-value; what is sure enough becomes worse or better."""
    verdict = of.verdict
    if verdict is Verdict.UNCERTAIN and abs(of.change) > of.limit and p < ALPHA:
        verdict = Verdict.WORSE if of.change < 0 else Verdict.BETTER
    return replace(of, verdict=verdict, p=p)


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


def suspects(differences: Iterable[Difference]) -> tuple[Difference, ...]:
    """Those that are worth measuring once more: worse, or beyond the limit and nearly sure."""
    return tuple(
        each
        for each in differences
        if each.verdict in (Verdict.WORSE, Verdict.UNCERTAIN)
        and each.p is not None
        and each.change < -each.limit
        and each.p < SUSPECT_ALPHA
    )


def confirmed(first: Iterable[Difference], again: Iterable[Difference]) -> tuple[Difference, ...]:
    """Those that looked worse and are so by both measurements together, with the re-run's figures.

    Both are held against the same earlier figure, so the second is no independent witness: their mean is tested, with
    the earlier figure's error counted once in full, and Holm corrects over all figures of the first comparison, not
    over the few that the re-run looked at. Each must itself be worse by more than 2 %, and the mean by more than the
    limit.
    """
    kept, second = tuple(first), {key_of(each.before): each for each in again}
    chosen = {key_of(each.before) for each in suspects(kept)}
    joint = [_joint(each, second.get(key_of(each.before)) if key_of(each.before) in chosen else None) for each in kept]
    judged = [each for each in joint if each is not None]
    return tuple(
        replace(each, verdict=Verdict.WORSE, p=p)
        for each, p in zip(judged, _holm_among(judged, len([each for each in kept if each.p is not None])), strict=True)
        if p < ALPHA
    )


def _joint(first: Difference, again: Difference | None) -> Difference | None:
    """The re-run's difference with the p-value of both; None where one of them is not worse."""
    if again is None or again.void or again.change >= -LEAST_CHANGE:
        return None
    if (first.change + again.change) / 2.0 >= -first.limit:
        return None
    p = worse_p(first.before, [first.after, again.after], first.spread.deviation, first.spread.freedom)
    low, high = change_interval(first.before, again.after, first.spread.deviation, first.spread.freedom) or (None, None)
    return None if p is None else replace(again, p=p, low=low, high=high, spread=first.spread, limit=first.limit)


def _holm_among(judged: Sequence[Difference], count: int) -> list[float]:
    """Their p-values, corrected over ``count`` figures; the others count as equal."""
    return holm([*(each.p or 0.0 for each in judged), *[1.0] * (count - len(judged))])[: len(judged)]


def benchmarks_of(differences: Iterable[Difference]) -> tuple[str, ...]:
    """Names of the benchmarks that the figures belong to."""
    return tuple(dict.fromkeys(benchmark_of(each.before) for each in differences))


def middle_change(differences: Iterable[Difference]) -> float | None:
    """Median relative change of all figures that can be compared; None without any."""
    changes = [each.change for each in differences if each.verdict is not Verdict.VOID]
    return median(changes) if changes else None
