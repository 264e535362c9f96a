# pyright: standard
"""The result of a tune or a batch run: its pictures and the columns of its table."""

from collections.abc import Callable, Mapping

from gputuner.gui.pages.pictures import Pictures
from gputuner.gui.pages.result_view import ResultKind, ResultView
from gputuner.gui.pages.training_pictures import TrainingPictures
from gputuner.gui.pages.tune_pictures import TunePictures
from gputuner.gui.picture_names import (
    picture_of_figure,
    picture_of_step,
    training_picture_of_step,
    training_titles,
    tune_titles,
)
from gputuner.gui.results import interval_words, point_hint, value_words
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.tables import Cell, Column
from gputuner.language import sentences
from gputuner.language.words import _
from gputuner.model.points import Point

INTERVAL, REMARKS = 640, 480
"""Below these widths in pixels the table has no intervals, and no remarks."""


def tune_result(theme: Theme) -> ResultView:
    """An empty result of Tune."""
    return _result(
        theme, tune_titles(), TunePictures(theme), picture_of_step, lambda point: picture_of_figure(point.metric)
    )


def training_result(theme: Theme) -> ResultView:
    """An empty result of Training."""
    return _result(theme, training_titles(), TrainingPictures(theme), training_picture_of_step, lambda _point: "batch")


def _result(
    theme: Theme,
    titles: Mapping[str, str],
    pictures: Pictures,
    picture_of_step: Callable[[str], str],
    picture_of_figure: Callable[[Point], str],
) -> ResultView:
    kind = ResultKind(
        titles=titles,
        picture_of_step=picture_of_step,
        picture_of_figure=picture_of_figure,
        columns=[
            Column(_("Figure"), 0),
            Column(_("Value"), 14, right=True),
            Column(_("95 % interval"), 11, right=True),
            Column(_("Remarks"), 14),
        ],
        row=_row,
        hides={2: INTERVAL, 3: REMARKS},
    )
    return ResultView(theme, kind, pictures)


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
