# pyright: standard
"""From the figures of a bench run to its roofline: ceilings at the measured clock, and where the figures lie."""

from collections.abc import Sequence

from gputuner.analysis.headlines import benchmark_of, headlines
from gputuner.analysis.roofline import attainable
from gputuner.gui.bench_words import benchmark_words, format_words, row_name, setting_words, untold
from gputuner.gui.plots.curves import Dot, Series
from gputuner.gui.results import figure
from gputuner.gui.results_bench import bench_hint, peak_of
from gputuner.gui.results_curves import CurvePicture
from gputuner.gui.theme import Theme
from gputuner.language import numbers, sentences
from gputuner.language.numbers import number
from gputuner.language.words import _, listed
from gputuner.model.points import Point

LEAST, BEYOND = 0.5, 1.6
"""Where the picture begins (FLOP per byte), and how far ceilings reach beyond the rightmost figure."""
TERA = 1e12
FORMATS = 2
"""Formats in the words of a ceiling; the figures' own words tell the rest."""
ALIKE = 0.06


def intensity(point: Point) -> float | None:
    """FLOP per byte of a figure, as it was told with it."""
    return figure(point.extra.get("intensity"))


def roofline(points: Sequence[Point], theme: Theme) -> CurvePicture:
    """Ceilings (TFLOP/s) of each number format under the memory's, and the headline figures as dots."""
    rates = [p for p in headlines(points) if p.unit == "FLOP/s" and intensity(p) is not None]
    rates = [p for p in rates if p.params.get("setup_counted") is not True]
    kept = {(benchmark_of(p), p.params.get("precision")) for p in rates if p.params.get("phase") == "sustained"}
    rates = [
        p
        for p in rates
        if p.params.get("phase") != "steady" or (benchmark_of(p), p.params.get("precision")) not in kept
    ]
    bandwidth = _bandwidth(points)
    if not rates:
        return CurvePicture()
    ceilings = [] if bandwidth is None else _ceilings(rates, bandwidth, theme)
    told = frozenset(words for ceiling in ceilings for words, _colour in ceiling.parts)
    return CurvePicture(series=(*ceilings, *_dots(rates, told, theme)))


def _bandwidth(points: Sequence[Point]) -> float | None:
    """The memory's peak where it is known, else the best that was reached beyond the caches, bytes/s."""
    reached = [p for p in points if p.metric == "stream_bandwidth" and p.params.get("level") in (None, "dram")]
    peaks = [peak for p in reached if (peak := peak_of(p)) is not None]
    return max(peaks or [p.value for p in reached], default=None)


def _ceilings(rates: list[Point], bandwidth: float, theme: Theme) -> list[Series]:
    """Formats whose peaks differ by less than what clocks differ share a ceiling."""
    known = [(peak, p) for p in rates if p.metric == "matmul_rate" and (peak := peak_of(p)) is not None]
    peaks: list[tuple[float, list[Point]]] = []
    for peak, point in sorted(known, key=lambda each: -each[0]):
        if not peaks or peak < peaks[-1][0] * (1 - ALIKE):
            peaks.append((peak, [point]))
        else:
            peaks[-1][1].append(point)
    if not peaks:
        return []
    knees = [peak / bandwidth for peak, _points in peaks]
    places = [at for point in rates if (at := intensity(point))]
    first, last = min(LEAST, *knees, *places), BEYOND * max(*knees, *places)
    slope = Series(
        name=numbers.value(bandwidth, "bytes/s"),
        colour=theme.strong_line,
        path=tuple((x, x * bandwidth / TERA) for x in (first, max(knees))),
        named_at=((first * max(knees)) ** 0.5, (first * max(knees)) ** 0.5 * bandwidth / TERA),
    )
    return [slope, *(_ceiling(peak, points, bandwidth, last, theme) for peak, points in peaks)]


def _ceiling(peak: float, points: list[Point], bandwidth: float, last: float, theme: Theme) -> Series:
    """A level from the slope to the right end, with the formats that it belongs to."""
    colours = {_format(p): theme.precision(str(p.params.get("precision", ""))) for p in points}
    formats = sorted(colours, key=lambda words: (len(words), words))[:FORMATS]
    whole = {sentences.point_unit(point) for point in points}
    unit = "TOP/s" if whole == {"OP/s"} else "TFLOP/s" if len(whole) == 1 else _("T(FL)OP/s")
    value = f"{number(peak / TERA)} {unit}"
    parts = (*((each, colours[each]) for each in formats), (value, theme.strong_line))
    name = f"{listed(formats)} {value}"
    path = tuple((x, attainable(x, peak, bandwidth) / TERA) for x in (peak / bandwidth, last))
    return Series(name=name, colour=theme.strong_line, path=path, parts=parts)


def _format(point: Point) -> str:
    """The arithmetic that a ceiling belongs to."""
    words = format_words(str(point.params.get("precision", "")))
    return f"{row_name(benchmark_of(point), 'gemm')} {words}" if "sparse" in benchmark_of(point) else words


def _dots(rates: list[Point], told: frozenset[str], theme: Theme) -> list[Series]:
    """One series for each benchmark; those from cold are hollow and come last, so that they ring the others.

    Those that a ceiling in their colour names need no name (``told``); of a benchmark of many figures the best has one.
    """
    result: list[Series] = []
    best = {benchmark_of(point): point for point in sorted(rates, key=lambda point: point.value)}
    for point in sorted(rates, key=lambda point: point.params.get("phase") == "burst"):
        at = intensity(point)
        precision = str(point.params.get("precision", ""))
        burst = point.params.get("phase") == "burst"
        dot = Dot(x=at or LEAST, y=point.value / TERA, hollow=burst, point_id=point.id, hint=bench_hint(point))
        symbol = "o" if point.metric == "matmul_rate" else "d"
        named = point.metric == "matmul_rate" or best[benchmark_of(point)] is point
        name = _name(point) if named else ""
        name = "" if name in told else name
        told |= {name}
        result.append(Series(name=name, colour=theme.precision(precision), dots=(dot,), symbol=symbol))
    return result


def _name(point: Point) -> str:
    """Number format and what is special of it (from cold is a hollow dot); other benchmarks by their own name."""
    if point.metric != "matmul_rate":
        return benchmark_words(benchmark_of(point), point.metric)
    told = {name: entry for name, entry in untold(point).items() if name in {"precision", "fast_accumulate"}}
    return " ".join(part for part in (row_name(benchmark_of(point), "gemm"), setting_words(told)) if part)


def roofline_unit(points: Sequence[Point]) -> str:
    """What stands beside the title."""
    known = any(peak_of(p) is not None for p in points if p.metric == "stream_bandwidth")
    ceiling = _("ceilings at the measured clocks") if known else _("slope: the best bandwidth that was reached")
    whole = any(p.metric == "matmul_rate" and sentences.point_unit(p) == "OP/s" for p in points)
    words = _("{ceiling}, hollow: from cold").format(ceiling=ceiling)
    return _("{words}, INT8: TOP/s").format(words=words) if whole else words
