# pyright: standard
"""The result of a tune run: its pictures and the columns of its table."""

from gputuner.gui.pages.result_view import ResultKind, ResultView
from gputuner.gui.pages.tune_pictures import TunePictures
from gputuner.gui.picture_names import picture_of_figure, picture_of_step, tune_titles
from gputuner.gui.results import interval_words, named_with_flags, point_hint, value_words
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.tables import Cell, Column
from gputuner.language.words import _
from gputuner.model.points import Point

NARROW = 480
"""Below this width in pixels the table has no intervals."""


def tune_result(theme: Theme) -> ResultView:
    """An empty result."""
    kind = ResultKind(
        titles=tune_titles(),
        picture_of_step=picture_of_step,
        picture_of_figure=lambda point: picture_of_figure(point.metric),
        columns=[
            Column(_("Figure and remarks"), 0),
            Column(_("Value"), 14, right=True),
            Column(_("95 % interval"), 11, right=True),
        ],
        row=_row,
        hides={2: NARROW},
    )
    return ResultView(theme, kind, TunePictures(theme))


def _row(point: Point) -> list[Cell]:
    hint = point_hint(point)
    return [
        Cell(named_with_flags(point), hint),
        Cell(value_words(point), hint),
        Cell(interval_words(point), hint, True),
    ]
