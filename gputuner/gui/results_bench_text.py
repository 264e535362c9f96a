# pyright: standard
"""Figures of a bench run, and the comparison of two, as Markdown to take along."""

from collections.abc import Sequence

from gputuner.analysis.headlines import benchmark_of
from gputuner.analysis.regression import Difference
from gputuner.gui.bench_words import benchmark_words, figure_words, setting_words, shape_words, untold
from gputuner.gui.results import figure, interval_words, value_words
from gputuner.gui.results_bench import published_words
from gputuner.gui.results_compare import verdict_words
from gputuner.gui.results_text import origin_lines, table
from gputuner.language import benchmarks, numbers, sentences
from gputuner.language.words import _
from gputuner.model.points import Point


def bench_markdown(points: Sequence[Point]) -> str:
    """A table with references, conditions and remarks; its first line says if the figures were not measured."""
    head = [
        (_("Benchmark"), False),
        (_("Settings"), False),
        (_("Value"), True),
        (_("95 % interval"), True),
        (_("% of peak at clock"), True),
        (_("% of sheet"), True),
        ("MHz", True),
        ("W", True),
        ("°C", True),
        (_("Remarks"), False),
    ]
    return "\n".join([*origin_lines(points), *table(head, [_cells(point) for point in points])]) + "\n"


def _cells(point: Point) -> list[str]:
    conditions = point.conditions
    measured = [None, None, None]
    if conditions is not None:
        measured = [conditions.sm_clock_mhz, conditions.power_w, conditions.core_temperature_end_c]
    remarks = [published_words(point), benchmarks.held_back(point), *(sentences.flag(flag) for flag in point.flags)]
    return [
        benchmark_words(benchmark_of(point), point.metric),
        " · ".join(part for part in (setting_words(untold(point)), shape_words(point)) if part),
        value_words(point),
        interval_words(point),
        _share(point, "fraction_of_peak_at_clock"),
        _share(point, "fraction_of_sheet"),
        *(numbers.MISSING if entry is None else f"{entry:.0f}" for entry in measured),
        "; ".join(remark for remark in remarks if remark),
    ]


def _share(point: Point, name: str) -> str:
    share = figure(point.extra.get(name))
    return numbers.MISSING if share is None else f"{share * 100:.1f}"


def comparison_markdown(differences: Sequence[Difference], other: str) -> str:
    """The figures that two runs have in common; ``other`` names the one that this run is compared with."""
    head = [(_("Figure"), False), (_("This run"), True), (other, True), (_("Difference"), True)]
    rows = [
        [
            figure_words(each.after),
            value_words(each.after),
            value_words(each.before),
            verdict_words(each),
        ]
        for each in differences
    ]
    points = [point for each in differences for point in (each.after, each.before)]
    return "\n".join([*origin_lines(points), *table(head, rows)]) + "\n"
