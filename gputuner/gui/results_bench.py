# pyright: standard
"""From the figures of a bench run to bars: what was reached, against peak, sheet and what others published."""

from collections.abc import Iterable, Sequence

from gputuner.analysis.headlines import benchmark_of, headlines, less_is_better
from gputuner.gui.bench_words import group_of, group_order, row_words, shape_words
from gputuner.gui.plots.bars import Band, BarGroup, BarRow
from gputuner.gui.results import figure, point_hint, value_words
from gputuner.gui.theme import Theme
from gputuner.language import benchmarks
from gputuner.language.words import _
from gputuner.model.points import Point

ROOM = 1.03
LIMIT = 1.6
"""References beyond this share of the peak do not stretch the scale of their group."""


def peak_of(point: Point) -> float | None:
    """The peak at the clock that was measured, in the figure's unit."""
    return _reference(point, "fraction_of_peak_at_clock")


def sheet_of(point: Point) -> float | None:
    """The sheet's figure, in the figure's unit."""
    return _reference(point, "fraction_of_sheet")


def _reference(point: Point, name: str) -> float | None:
    share = figure(point.extra.get(name))
    return point.value / share if share else None


def published_of(point: Point) -> Band | None:
    """What others published for this card, lowest, median and highest."""
    low, median, high = (figure(point.extra.get(f"published_{name}")) for name in ("low", "median", "high"))
    return None if low is None or high is None else Band(low=low, middle=median, high=high)


def by_group(points: Iterable[Point]) -> dict[str, list[Point]]:
    """Figures by their benchmark's group, in the order of the suite."""
    found: dict[str, list[Point]] = {}
    for point in points:
        found.setdefault(group_of(benchmark_of(point), point.metric), []).append(point)
    order = group_order()
    names = sorted(found, key=lambda name: order.index(name) if name in order else len(order))
    return {name: found[name] for name in names}


def bench_groups(points: Sequence[Point], theme: Theme) -> list[BarGroup]:
    """Bars of all benchmarks below their groups' headings."""
    several = len({point.card for point in points}) > 1
    return [_group(name, found, theme, several) for name, found in by_group(headlines(points)).items()]


def _group(name: str, points: list[Point], theme: Theme, several: bool) -> BarGroup:
    stretch = max((_stretch(point) for point in points), default=1.0)
    tops = [_top(point, points, stretch) for point in points]
    rows = tuple(_row(point, name, top, theme, several) for point, top in zip(points, tops, strict=True))
    title = benchmarks.group(name)
    if all(less_is_better(point) for point in points):
        title = _("{title} (shorter is better)").format(title=title)
    return BarGroup(title=title, rows=rows)


def _stretch(point: Point) -> float:
    """How far beyond its peak the longest thing of a row reaches (1: not at all)."""
    peak = peak_of(point)
    if peak is None:
        return 1.0
    band = published_of(point)
    reach = max(point.value, sheet_of(point) or 0.0, band.high if band else 0.0)
    return min(LIMIT, max(1.0, reach / peak))


def _top(point: Point, points: list[Point], stretch: float) -> float:
    """The full width of a row: peaks of a group stand in one line; without a peak, rows of one metric share a scale."""
    peak = peak_of(point)
    if peak is not None:
        return peak * stretch * ROOM
    alike = [
        p for p in points if p.metric == point.metric and peak_of(p) is None and benchmark_of(p) == benchmark_of(point)
    ]
    return max(max(p.value, sheet_of(p) or 0.0, _highest(p)) for p in alike) * ROOM


def _highest(point: Point) -> float:
    band = published_of(point)
    return band.high if band else 0.0


def _row(point: Point, group: str, top: float, theme: Theme, several: bool) -> BarRow:
    share = figure(point.extra.get("fraction_of_peak_at_clock"))
    rank = figure(point.extra.get("published_percentile"))
    notes = ["" if share is None else f"{share * 100:.0f} %", "" if rank is None else f"P{rank:.0f}"]
    name = row_words(point, group)
    spread = point.spread
    return BarRow(
        name=f"{name} · {point.card[-6:]}" if several else name,
        text=value_words(point),
        value=point.value,
        top=top,
        colour=colour_of(point, theme),
        reference=peak_of(point),
        mark=sheet_of(point),
        band=published_of(point),
        low=spread.ci95_low if spread else None,
        high=spread.ci95_high if spread else None,
        hatched=point.params.get("phase") == "burst",
        note=" · ".join(note for note in notes if note),
        point_id=point.id,
        hint=bench_hint(point),
    )


def colour_of(point: Point, theme: Theme) -> str:
    """Number formats keep their colour; memory is sky blue, links orange, host and launch purple."""
    precision = str(point.params.get("precision", ""))
    if precision:
        return theme.precision(precision)
    match point.metric:
        case "stream_bandwidth" | "region_bandwidth" | "access_latency":
            return theme.sky
        case "transfer_bandwidth" | "peer_bandwidth" | "allreduce_busbw":
            return theme.orange
        case "loader_rate" | "launch_time" | "graph_launch_time" | "host_rate":
            return theme.purple
        case _:
            return theme.green


def bench_hint(point: Point) -> str:
    """A figure with shapes, conditions, references and what held it back, as lines."""
    lines = [point_hint(point), shape_words(point)]
    for words, name in ((_("{share} % of the peak at this clock"), "fraction_of_peak_at_clock"),
                        (_("{share} % of the sheet"), "fraction_of_sheet")):  # fmt: skip
        share = figure(point.extra.get(name))
        if share is not None:
            lines.append(words.format(share=f"{share * 100:.1f}"))
    lines += [published_words(point), benchmarks.held_back(point)]
    return "\n".join(line for line in lines if line)


def published_words(point: Point) -> str:
    """Where a figure stands among those that others published, with the source."""
    rank, count = figure(point.extra.get("published_percentile")), figure(point.extra.get("published_n"))
    if rank is None or count is None:
        return ""
    words = _("percentile {rank} of {count} published").format(rank=f"{rank:.0f}", count=f"{count:.0f}")
    source = point.extra.get("published_source")
    return f"{words} ({source})" if source else words
