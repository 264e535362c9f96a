# pyright: standard
"""The result of a bench run: its pictures and the columns of its table."""

from gputuner.gui.bench_words import brief_words
from gputuner.gui.others import Others
from gputuner.gui.pages.bench_pictures import BenchPictures
from gputuner.gui.pages.result_view import ResultKind, ResultView
from gputuner.gui.picture_names import bench_picture_of_figure, bench_picture_of_step, bench_titles
from gputuner.gui.results import figure, interval_words, value_words
from gputuner.gui.results_bench import bench_hint
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.tables import Cell, Column
from gputuner.language import numbers, sentences
from gputuner.language.words import _
from gputuner.model.points import Point

INTERVAL, CONDITIONS, REMARKS = 860, 720, 480
"""Below these widths in pixels the table has no intervals, no clock, power and temperature, and no remarks."""


def bench_result(theme: Theme, others: Others) -> ResultView:
    """An empty result."""
    kind = ResultKind(
        titles=bench_titles(),
        picture_of_step=bench_picture_of_step,
        picture_of_figure=bench_picture_of_figure,
        columns=[
            Column(_("Figure"), 0),
            Column(_("Value"), 12, right=True),
            Column(_("95 % interval"), 13, right=True),
            Column(_("% of peak"), 8, right=True),
            Column("MHz", 5, right=True),
            Column("W", 5, right=True),
            Column("°C", 4, right=True),
            Column(_("Remarks"), 14),
        ],
        row=_row,
        hides={2: INTERVAL, 4: CONDITIONS, 5: CONDITIONS, 6: CONDITIONS, 7: REMARKS},
    )
    return ResultView(theme, kind, BenchPictures(theme, others))


def _row(point: Point) -> list[Cell]:
    hint = bench_hint(point)
    share = figure(point.extra.get("fraction_of_peak_at_clock"))
    conditions = point.conditions
    measured = (
        (conditions.sm_clock_mhz, conditions.power_w, conditions.core_temperature_end_c)
        if conditions is not None
        else (None, None, None)
    )
    name, remarks = brief_words(point), [sentences.flag(flag) for flag in point.flags]
    cells = [Cell(name, f"{name}\n{hint}"), Cell(value_words(point), hint), Cell(interval_words(point), hint, True)]
    cells.append(Cell(numbers.MISSING if share is None else f"{share * 100:.1f}", hint))
    cells += [Cell(numbers.MISSING if entry is None else numbers.grouped(entry), hint, True) for entry in measured]
    return [*cells, Cell("; ".join(remarks), "\n".join(remarks), True)]
