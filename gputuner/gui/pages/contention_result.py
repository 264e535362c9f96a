# pyright: standard
"""The result of a run of jobs that share a card: its pictures and the columns of its table."""

from collections.abc import Sequence

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


class _Figures:
    """Rows of the table: what is the same in all of them is left out."""

    def __init__(self) -> None:
        self._several = False

    def listed(self, points: Sequence[Point]) -> list[Point]:
        """The figures that get a row."""
        found = listed_figures(list(points))
        self._several = len({point.params["mode"] for point in found if "mode" in point.params}) > 1
        return found

    def row(self, point: Point) -> list[Cell]:
        """Figure, value, interval, remarks."""
        hint = point_hint(point)
        name = figure_words(point, with_mode=self._several)
        remarks = [sentences.flag(flag) for flag in point.flags]
        return [
            Cell(name, f"{name}\n{hint}"),
            Cell(value_words(point), hint),
            Cell(interval_words(point), hint, True),
            Cell("; ".join(remarks), "\n".join(remarks), True),
        ]


def contention_result(theme: Theme) -> ResultView:
    """An empty result."""
    figures = _Figures()
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
        row=figures.row,
        listed=figures.listed,
        alone=frozenset({"sensitivity"}),  # its curves have no rows in the table
        tall=frozenset({"slowdown"}),  # a bar for each job of each mix, with its figure beside it
        hides={2: INTERVAL, 3: REMARKS},
    )
    return ResultView(theme, kind, ContentionPictures(theme))


def figure_words(point: Point, *, with_mode: bool = True) -> str:
    """What a figure is of: what tells it from the next one first, then the mix it ran in and the kind of figure."""
    params = point.params
    mix, mode = str(params.get("mix", "")), str(params.get("mode", ""))
    parts = [words.cause(str(params["cause"]))] if "cause" in params else []
    whole = bool(mix) and point.workload == mix
    parts.append(words.mix(mix) if whole else job_of(point))
    parts.append(words.mode(mode, point.card) if mode and with_mode else "")
    if mix and not whole:
        parts.append(_("in {mix}").format(mix=words.mix(mix)))
    parts.append(sentences.metric(point.metric))
    if not mix:
        told = {name: params[name] for name in ("phase",) if name in params}
        parts.append(sentences.settings(told))
    parts.append(_("beside an idle partner") if params.get("null") else "")
    return listed(parts)
