# pyright: standard
"""The result of a run of jobs that share a card: its pictures and the columns of its table."""

from gputuner.gui.pages.contention_pictures import ContentionPictures, listed_figures
from gputuner.gui.pages.result_view import ResultKind, ResultView
from gputuner.gui.picture_names import contention_picture_of_figure, contention_picture_of_step, contention_titles
from gputuner.gui.results import interval_words, point_hint, value_words
from gputuner.gui.results_contention import job_of
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.tables import Cell, Column
from gputuner.language import contention as words
from gputuner.language import sentences
from gputuner.language.words import _, listed
from gputuner.model.points import Point

INTERVAL, REMARKS = 480, 700
"""Below these widths in pixels the table has no intervals, and no remarks."""


def contention_result(theme: Theme) -> ResultView:
    """An empty result."""
    kind = ResultKind(
        titles=contention_titles(),
        picture_of_step=contention_picture_of_step,
        picture_of_figure=contention_picture_of_figure,
        columns=[
            Column(_("Figure"), 0),
            Column(_("Value"), 14, right=True),
            Column(_("95 % interval"), 11, right=True),
            Column(_("Remarks"), 14),
        ],
        row=_row,
        listed=lambda points: listed_figures(list(points)),
        hides={2: INTERVAL, 3: REMARKS},
    )
    return ResultView(theme, kind, ContentionPictures(theme))


def _row(point: Point) -> list[Cell]:
    hint = point_hint(point)
    name = figure_words(point)
    remarks = [sentences.flag(flag) for flag in point.flags]
    return [
        Cell(name, f"{name}\n{hint}"),
        Cell(value_words(point), hint),
        Cell(interval_words(point), hint, True),
        Cell("; ".join(remarks), "\n".join(remarks), True),
    ]


def figure_words(point: Point) -> str:
    """What a figure is of: the job, and in which mix."""
    params = point.params
    mix, mode = str(params.get("mix", "")), str(params.get("mode", ""))
    parts = [sentences.metric(point.metric)]
    if point.workload != mix:
        parts.append(job_of(point))
    if mix:
        parts.append(words.mix(mix) if point.workload == mix else _("in {mix}").format(mix=words.mix(mix)))
    if "cause" in params:
        parts.append(words.cause(str(params["cause"])))
    if not mix:
        told = {name: params[name] for name in ("phase",) if name in params}
        parts.append(sentences.settings(told))
    parts.append(words.mode(mode) if mode else "")
    parts.append(_("beside an idle partner") if params.get("null") else "")
    return listed(parts)
