# pyright: standard
"""The result of a tune run: its pictures and the columns of its table."""

from gputuner.gui.pages.result_view import ResultKind, ResultView
from gputuner.gui.pages.tune_pictures import TunePictures
from gputuner.gui.picture_names import picture_of_figure, picture_of_step, tune_titles
from gputuner.gui.results import interval_words, point_hint, value_words
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.tables import Cell, Column
from gputuner.language import sentences
from gputuner.language.words import _
from gputuner.model.points import Point

INTERVAL, REMARKS = 640, 480
"""Below these widths in pixels the table has no intervals, and no remarks."""


def tune_result(theme: Theme) -> ResultView:
    """An empty result."""
    kind = ResultKind(
        titles=tune_titles(),
        picture_of_step=picture_of_step,
        picture_of_figure=lambda point: picture_of_figure(point.metric),
        columns=[
            Column(_("Figure"), 0),
            Column(_("Value"), 14, right=True),
            Column(_("95 % interval"), 11, right=True),
            Column(_("Remarks"), 14),
        ],
        row=_row,
        hides={2: INTERVAL, 3: REMARKS},
    )
    return ResultView(theme, kind, TunePictures(theme))


def _row(point: Point) -> list[Cell]:
    hint = point_hint(point)
    name = f"{sentences.metric(point.metric)} · {sentences.settings(point.params)}".rstrip(" ·")
    remarks = [sentences.flag(flag) for flag in point.flags]
    return [
        Cell(name, f"{name}\n{hint}"),
        Cell(value_words(point), hint),
        Cell(interval_words(point), hint, True),
        Cell("; ".join(remarks), "\n".join(remarks), True),
    ]
