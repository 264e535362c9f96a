# pyright: standard
"""From the figures of a bench run to curves: bandwidth over size, latency over footprint, bandwidth over the VRAM."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import sqrt
from statistics import median

from gputuner.analysis.headlines import benchmark_of
from gputuner.gui.bench_words import operation_words, short_name
from gputuner.gui.plots.curves import Area, Dot, Series, Stretch, Upright
from gputuner.gui.results import figure
from gputuner.gui.results_bench import bench_hint
from gputuner.gui.theme import Theme
from gputuner.language import benchmarks
from gputuner.language.numbers import number
from gputuner.language.words import _
from gputuner.model.cards import CPU_CARD, CardInfo
from gputuner.model.points import Point

GIGA, NANO, GIB = 1e9, 1e-9, float(2**30)
LEAST_REGIONS, LEAST_GIB = 3, 0.1
"""Regions from which on one is the slowest; GiB of the VRAM that are worth to be called not reached."""
NAMED_AT = 0.04
"""Where the median's words stand, as a share of the VRAM that was measured."""
_SYMBOLS = {"read": "o", "write": "s", "copy": "t1", "scale": "d"}
"""Symbols of operations, so that curves that lie on each other are told apart; triad has a star."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePicture:
    """What a picture of curves shows."""

    series: tuple[Series, ...] = ()
    stretches: tuple[Stretch, ...] = ()
    uprights: tuple[Upright, ...] = ()
    areas: tuple[Area, ...] = ()
    ticks: tuple[float, ...] = ()


def size_sweep(points: Sequence[Point], cards: Sequence[CardInfo], theme: Theme) -> CurvePicture:
    """Bandwidth (GB/s) over bytes, a curve for each operation, with the levels and the size of the L2."""
    found = _grouped(points, "stream_bandwidth", _operation)
    colours = {"read": theme.blue, "write": theme.vermilion, "copy": theme.sky, "scale": theme.orange}
    series = [
        replace(
            _series(_named(name, several=len(found) > 1, title=operation_words(name[1]), cards=cards), entries,
                    colours.get(name[1], theme.green), "bytes", GIGA),
            symbol=_SYMBOLS.get(name[1], "star"), size=6.0, open=name[1] != "read",
        )
        for name, entries in found.items()
    ]  # fmt: skip
    everything = [point for entries in found.values() for point in entries]
    return CurvePicture(series=tuple(series), stretches=_levels(everything), uprights=_l2(cards, everything))


def latency_curve(points: Sequence[Point], cards: Sequence[CardInfo], theme: Theme) -> CurvePicture:
    """Latency (ns) over footprint in bytes with the levels."""
    found = _grouped(points, "access_latency", benchmark_of)
    colours = (theme.blue, theme.vermilion, theme.green, theme.purple)
    series = [
        _series(_named(name, several=len(found) > 1, title=short_name(name[1], "latency"), cards=cards), entries,
                colours[place % 4], "bytes", NANO)
        for place, (name, entries) in enumerate(found.items())
    ]  # fmt: skip
    everything = [point for entries in found.values() for point in entries]
    return CurvePicture(series=tuple(series), stretches=_levels(everything), uprights=_l2(cards, everything))


def region_curve(points: Sequence[Point], cards: Sequence[CardInfo], theme: Theme) -> CurvePicture:
    """Bandwidth (GB/s) over the offset in the VRAM (GiB)."""
    found = _grouped(points, "region_bandwidth", benchmark_of)
    colours = (theme.sky, theme.vermilion, theme.green, theme.purple)
    series = [
        _series(_named(name, several=len(found) > 1, title=short_name(name[1], "regions"), cards=cards), entries,
                colours[place % 4], "offset_bytes", GIGA, GIB)
        for place, (name, entries) in enumerate(found.items())
    ]  # fmt: skip
    middles = [series for entries in found.values() for series in _middle_and_slowest(entries, theme)]
    unreached = _unreached([point for entries in found.values() for point in entries], cards)
    return CurvePicture(series=(*series, *middles), stretches=unreached)


def _middle_and_slowest(points: list[Point], theme: Theme) -> tuple[Series, ...]:
    """The median as a dashed line, and the slowest region ringed with its distance from it."""
    if len(points) < LEAST_REGIONS:
        return ()
    middle, slowest = median(point.value for point in points), min(points, key=lambda point: point.value)
    ends = [_offset(point) for point in points]
    level = Series(
        name=_("median {value}").format(value=number(middle / GIGA)),
        colour=theme.muted,
        path=tuple((x, middle / GIGA) for x in (min(ends), max(ends))),
        dashed=True,
        named_at=(min(ends) + NAMED_AT * (max(ends) - min(ends)), middle / GIGA),
    )
    change = 100.0 * (slowest.value / middle - 1.0)
    ring = Series(
        name=_("slowest {value}, {change} %").format(
            value=number(slowest.value / GIGA), change=f"{change:+.1f}".replace("-", "−")
        ),
        colour=theme.vermilion,
        dots=(Dot(x=_offset(slowest), y=slowest.value / GIGA, hollow=True, hint=bench_hint(slowest)),),
    )
    return level, ring


def _offset(point: Point) -> float:
    return (figure(point.params.get("offset_bytes")) or 0.0) / GIB


def _unreached(points: Sequence[Point], cards: Sequence[CardInfo]) -> tuple[Stretch, ...]:
    """The end of the VRAM that no figure covers, of the one card that was measured."""
    totals = {card.uuid: card.memory_total_bytes for card in cards}
    measured = {point.card for point in points}
    total = totals.get(next(iter(measured), ""))
    if len(measured) != 1 or not total:
        return ()
    end = max(_offset(point) + (figure(point.params.get("bytes")) or 0.0) / GIB for point in points)
    whole = total / GIB
    return (Stretch(x0=end, x1=whole, name=_("not reached"), hatched=True),) if whole - end > LEAST_GIB else ()


_Name = tuple[str, str]


def _operation(point: Point) -> str:
    return str(point.params.get("operation") or short_name(benchmark_of(point), "memory"))


def _grouped(points: Sequence[Point], metric: str, name: Callable[[Point], str]) -> dict[_Name, list[Point]]:
    across = "offset_bytes" if metric == "region_bandwidth" else "bytes"
    found: dict[_Name, list[Point]] = {}
    for point in points:
        if point.metric == metric and figure(point.params.get(across)) is not None:
            found.setdefault((point.card, name(point)), []).append(point)
    return found


def _named(name: _Name, *, several: bool, title: str, cards: Sequence[CardInfo]) -> str:
    """Curves are named where there are several; by their card too where there are several cards."""
    if not several:
        return ""
    title_of = {card.uuid: card.title for card in cards}
    return f"{title} · {title_of.get(name[0], name[0])}" if len(title_of) > 1 else title


def _series(name: str, points: list[Point], colour: str, across: str, per: float, x_per: float = 1.0) -> Series:
    dots = [
        Dot(
            x=(figure(point.params.get(across)) or 0.0) / x_per,
            y=point.value / per,
            low=point.spread.ci95_low / per if point.spread and point.spread.ci95_low is not None else None,
            high=point.spread.ci95_high / per if point.spread and point.spread.ci95_high is not None else None,
            point_id=point.id,
            hint=bench_hint(point),
        )
        for point in points
    ]
    return Series(name=name, colour=colour, dots=tuple(sorted(dots, key=lambda dot: dot.x)))


def _levels(points: Sequence[Point]) -> tuple[Stretch, ...]:
    """Neighbouring sizes of one level as a stretch; between two levels it ends half-way (on a logarithmic scale)."""
    sizes = sorted({(figure(p.params.get("bytes")) or 1.0, str(p.params.get("level", ""))) for p in points})
    runs: list[tuple[float, float, str]] = []
    for size, level in sizes:
        if runs and runs[-1][2] == level:
            runs[-1] = runs[-1][0], size, level
        else:
            runs.append((size, size, level))
    if not runs:
        return ()
    cpu = all(point.card == CPU_CARD for point in points)
    edges = [runs[0][0], *(sqrt(one[1] * next_[0]) for one, next_ in pairwise(runs)), runs[-1][1]]
    return tuple(
        Stretch(x0=edges[number], x1=edges[number + 1], name=benchmarks.level(level, cpu=cpu))
        for number, (_low, _high, level) in enumerate(runs)
        if level
    )


def _l2(cards: Sequence[CardInfo], points: Sequence[Point]) -> tuple[Upright, ...]:
    """The size of the L2 of the one card that was measured, where the sizes reach it."""
    measured = {point.card for point in points}
    sizes = [figure(point.params.get("bytes")) or 0.0 for point in points]
    told = {size for point in points if (size := figure(point.extra.get("l2_bytes")))}
    known = [*told] or [size for card in cards if card.uuid in measured and (size := card.number("l2_bytes"))]
    if len(measured) != 1 or measured == {CPU_CARD} or len(known) != 1 or not min(sizes) < known[0] < max(sizes):
        return ()
    mib = known[0] / 2**20
    return (Upright(x=known[0], name=_("L2 {size} MiB").format(size=f"{mib:g}")),)
