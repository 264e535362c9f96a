# pyright: standard
"""From the figures of a bench run to bars: what was reached, against peak, sheet and what others published."""

from collections.abc import Iterable, Mapping, Sequence

from gputuner.analysis.headlines import benchmark_of, headlines, less_is_better
from gputuner.gui.bench_words import figure_words, group_of, group_order, row_names, shared_words
from gputuner.gui.plots.bar_marks import Band, signs_of
from gputuner.gui.plots.bars import BarGroup, BarRow
from gputuner.gui.results import figure, point_hint, value_words
from gputuner.gui.theme import Theme
from gputuner.language import benchmarks
from gputuner.language.bench_table import beaten_words
from gputuner.language.words import _
from gputuner.model.points import Point
from gputuner.model.readings import Scalar

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
    groups: list[BarGroup] = []
    for name, found in by_group(headlines(points)).items():
        for section in sections(found):
            names = row_names(section, name)
            if several:
                names = {point.id: f"{names[point.id]} · {point.card[-6:]}" for point in section}
            groups += _parts(name, section, names, theme)
    return groups


def sections(points: Sequence[Point]) -> list[list[Point]]:
    """A benchmark of many lengths in a section for each length; anything else in one."""
    for length in ("sequence", "context"):
        told = {(benchmark_of(point), length in point.params) for point in points}
        if len(told) == 1 and (*told,)[0][1]:
            found: dict[Scalar, list[Point]] = {}
            for point in points:
                found.setdefault(point.params[length], []).append(point)
            return list(found.values())
    return [list(points)]


def _parts(name: str, points: list[Point], names: Mapping[str, str], theme: Theme) -> list[BarGroup]:
    """A group in up to three: against a peak, without one, and times."""
    times = [point for point in points if less_is_better(point)]
    rates = [point for point in points if not less_is_better(point)]
    with_peak = [point for point in rates if peak_of(point) is not None]
    without = [point for point in rates if peak_of(point) is None]
    shared = shared_words(points)
    title = " · ".join(part for part in (benchmarks.group(name), shared) if part)
    parts = (
        (title, with_peak),
        (_("{title} (no peak known)").format(title=title), without),
        (_("{title} (shorter is better)").format(title=title), times),
    )
    return [_group(words, found, names, theme) for words, found in parts if found]


def _group(title: str, points: list[Point], names: Mapping[str, str], theme: Theme) -> BarGroup:
    stretch = max((_stretch(point) for point in points), default=1.0)
    rows = tuple(_row(point, names[point.id], _top(point, points, stretch), theme) for point in points)
    return BarGroup(title=title, rows=rows)


def _stretch(point: Point) -> float:
    """How far beyond its peak the longest thing of a row reaches (1: not at all)."""
    peak = peak_of(point)
    if peak is None:
        return 1.0
    band = published_of(point)
    reach = max(point.value, sheet_of(point) or 0.0, band.high if band else 0.0)
    return min(LIMIT, max(1.0, reach / peak))


def _top(point: Point, points: list[Point], stretch: float) -> float | None:
    """The full width of a row: peaks of a group stand in one line; without a peak, like figures share a scale.

    None for a figure with nothing beside it: a bar as wide as it can be would say nothing.
    """
    peak = peak_of(point)
    if peak is not None:
        return peak * stretch * ROOM
    alike = [other for other in points if _alike(other, point)]
    if len(alike) == 1 and sheet_of(point) is None and published_of(point) is None:
        return None
    return max(max(p.value, sheet_of(p) or 0.0, _highest(p)) for p in alike) * ROOM


def _alike(one: Point, other: Point) -> bool:
    """Whether two figures without a peak share a scale: times of a benchmark, and figures of a metric and level."""
    if less_is_better(one) and less_is_better(other):
        return benchmark_of(one) == benchmark_of(other)
    same_level = one.params.get("level") == other.params.get("level")
    by_name = benchmark_of(one) == benchmark_of(other) or "level" in one.params
    return one.metric == other.metric and same_level and by_name


def _highest(point: Point) -> float:
    band = published_of(point)
    return band.high if band else 0.0


def _row(point: Point, name: str, top: float | None, theme: Theme) -> BarRow:
    share = figure(point.extra.get("fraction_of_peak_at_clock"))
    beaten = beaten_words(point)
    notes = ["" if share is None else _percent(share)]
    notes.append(_("beats {beaten}").format(beaten=beaten) if beaten else "")
    spread = point.spread
    return BarRow(
        name=name,
        text=value_words(point),
        value=point.value,
        top=top,
        colour=colour_of(point, theme),
        reference=peak_of(point),
        mark=sheet_of(point),
        band=published_of(point),
        low=spread.ci95_low if spread else None,
        high=spread.ci95_high if spread else None,
        hollow=point.params.get("phase") == "burst",
        signs=signs_of(point.flags),
        note=" · ".join(note for note in notes if note),
        point_id=point.id,
        hint=bench_hint(point),
    )


def _percent(share: float) -> str:
    """In whole per cent, of less than one in tenths."""
    return f"{share * 100:.0f} %" if share >= 0.0095 else f"{share * 100:.1f} %"


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
    lines = [f"{figure_words(point)} ({benchmark_of(point)})", point_hint(point)]
    for words, name in ((_("{share} % of the peak at this clock"), "fraction_of_peak_at_clock"),
                        (_("{share} % of the sheet"), "fraction_of_sheet")):  # fmt: skip
        share = figure(point.extra.get(name))
        if share is not None:
            lines.append(words.format(share=f"{share * 100:.1f}"))
    lines += [published_words(point), benchmarks.held_back(point)]
    return "\n".join(line for line in lines if line)


def published_words(point: Point) -> str:
    """Where a figure stands among those that others published, with the source."""
    beaten = beaten_words(point)
    if not beaten:
        return ""
    words = _("beats {beaten} published").format(beaten=beaten)
    source = point.extra.get("published_source")
    return f"{words} ({source})" if source else words
