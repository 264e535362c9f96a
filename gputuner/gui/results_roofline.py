# pyright: standard
"""From the figures of a bench run to its roofline: ceilings at the measured clock, and where the figures lie."""

from collections.abc import Sequence

from gputuner.analysis.headlines import benchmark_of, headlines
from gputuner.analysis.roofline import attainable
from gputuner.gui.bench_words import row_name, setting_words, untold
from gputuner.gui.plots.curve_plot import Dot, Series
from gputuner.gui.results import figure
from gputuner.gui.results_bench import bench_hint, peak_of
from gputuner.gui.results_curves import CurvePicture
from gputuner.gui.theme import Theme
from gputuner.language.numbers import number
from gputuner.language.words import _
from gputuner.model.points import Point

LEAST, MOST = 0.5, 1e4
"""Intensities that are always in the picture, FLOP per byte."""
TERA = 1e12
ALIKE = 0.06


def intensity(point: Point) -> float | None:
    """FLOP per byte of a figure, as it was told with it."""
    return figure(point.extra.get("intensity"))


def roofline(points: Sequence[Point], theme: Theme) -> CurvePicture:
    """Ceilings (TFLOP/s) of each number format under the memory's, and the headline figures as dots."""
    rates = [p for p in headlines(points) if p.unit == "FLOP/s" and intensity(p) is not None]
    rates = [p for p in rates if p.params.get("setup_counted") is not True]
    bandwidth = _bandwidth(points)
    if not rates:
        return CurvePicture()
    ceilings = [] if bandwidth is None else _ceilings(rates, bandwidth, theme)
    return CurvePicture(series=(*ceilings, *_dots(rates, theme)))


def _bandwidth(points: Sequence[Point]) -> float | None:
    """The memory's peak where it is known, else the best that was reached beyond the caches, bytes/s."""
    reached = [p for p in points if p.metric == "stream_bandwidth" and p.params.get("level") in (None, "dram")]
    peaks = [peak for p in reached if (peak := peak_of(p)) is not None]
    return max(peaks or [p.value for p in reached], default=None)


def _ceilings(rates: list[Point], bandwidth: float, theme: Theme) -> list[Series]:
    """Formats whose peaks differ by less than what clocks differ share a ceiling."""
    known = (peak_of(point) for point in rates if point.metric == "matmul_rate")
    peaks: list[float] = []
    for peak in sorted((peak for peak in known if peak is not None), reverse=True):
        if not peaks or peak < peaks[-1] * (1 - ALIKE):
            peaks.append(peak)
    return [_ceiling(peak, bandwidth, theme) for peak in peaks]


def _ceiling(peak: float, bandwidth: float, theme: Theme) -> Series:
    knee = peak / bandwidth
    path = tuple((x, attainable(x, peak, bandwidth) / TERA) for x in (LEAST, min(knee, MOST), max(MOST, knee)))
    name = _("peak {peak}").format(peak=number(peak / TERA))
    return Series(name=name, colour=theme.strong_line, path=path)


def _dots(rates: list[Point], theme: Theme) -> list[Series]:
    """One series for each benchmark, hollow: from cold."""
    result: list[Series] = []
    for point in rates:
        at = intensity(point)
        precision = str(point.params.get("precision", ""))
        burst = point.params.get("phase") == "burst"
        dot = Dot(x=at or LEAST, y=point.value / TERA, hollow=burst, point_id=point.id, hint=bench_hint(point))
        symbol = "o" if point.metric == "matmul_rate" else "d"
        name = "" if burst else _name(point)
        result.append(Series(name=name, colour=theme.precision(precision), dots=(dot,), symbol=symbol))
    return result


def _name(point: Point) -> str:
    """Number format and what is special of it; other benchmarks by their own name."""
    if point.metric != "matmul_rate":
        return benchmark_of(point)
    told = {name: entry for name, entry in untold(point).items() if name in {"precision", "fast_accumulate"}}
    return " ".join(part for part in (row_name(benchmark_of(point), "gemm"), setting_words(told)) if part)


def roofline_unit(points: Sequence[Point]) -> str:
    """What stands beside the title."""
    known = any(peak_of(p) is not None for p in points if p.metric == "stream_bandwidth")
    ceiling = _("ceilings at the measured clocks") if known else _("slope: the best bandwidth that was reached")
    return _("TFLOP/s over FLOP per byte; {ceiling}, hollow: from cold").format(ceiling=ceiling)
