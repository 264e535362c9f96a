# pyright: standard
"""The result of a thermal test: its pictures and the columns of its table."""

from collections.abc import Sequence

from gputuner.gui.others import Others
from gputuner.gui.pages.cooling_pictures import CoolingPictures
from gputuner.gui.pages.result_view import ResultKind, ResultView
from gputuner.gui.picture_names import cooling_picture_of_figure, cooling_picture_of_step, cooling_titles
from gputuner.gui.results import figure, interval_words, value_words
from gputuner.gui.results_cooler import figure_words, hint
from gputuner.gui.results_cooling import LOOK, band_words
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.tables import Cell, Column
from gputuner.language import sentences
from gputuner.language.words import _
from gputuner.model.points import Point

REMARKS = 640
"""Below this width in pixels the table has no remarks."""


def cooling_result(theme: Theme, others: Others) -> ResultView:
    """An empty result."""
    kind = ResultKind(
        titles=cooling_titles(),
        picture_of_step=cooling_picture_of_step,
        picture_of_figure=cooling_picture_of_figure,
        columns=[
            Column(_("Figure"), 0),
            Column(_("Value"), 13, right=True),
            Column(_("90 % band"), 16, right=True),
            Column(_("Remarks"), 14),
        ],
        row=_row,
        listed=listed,
        late=True,
        hides={3: REMARKS},
    )
    return ResultView(theme, kind, CoolingPictures(theme, others))


def listed(points: Sequence[Point]) -> list[Point]:
    """What the test found first, then how the forecast closed."""
    return sorted(points, key=lambda point: point.params.get("phase") == LOOK)


def _row(point: Point) -> list[Cell]:
    words, told = figure_words(point), hint(point)
    minutes = figure(point.params.get("load_min"))
    if point.params.get("phase") == LOOK and minutes is not None:
        words = _("after {minutes} min: {figure}").format(figure=words, minutes=f"{minutes:.0f}")
    remarks = [sentences.flag(flag) for flag in point.flags]
    return [
        Cell(words, f"{words}\n{told}"),
        Cell(value_words(point), told),
        Cell(band_words(point) or interval_words(point), told, True),
        Cell("; ".join(remarks), "\n".join(remarks), True),
    ]
