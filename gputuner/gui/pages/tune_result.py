# pyright: standard
"""The result of a tune run, or of a question about a training: its pictures and the columns of its table."""

from collections.abc import Callable, Mapping, Sequence

from gputuner.gui.pages.contention_result import contention_result
from gputuner.gui.pages.health_result import health_result
from gputuner.gui.pages.loading_pictures import LoadingPictures
from gputuner.gui.pages.numerics_pictures import NumericsPictures
from gputuner.gui.pages.pictures import Pictures
from gputuner.gui.pages.power_result import power_result
from gputuner.gui.pages.result_view import ResultKind, ResultView
from gputuner.gui.pages.switches_pictures import SwitchesPictures
from gputuner.gui.pages.training_pictures import TrainingPictures
from gputuner.gui.pages.try_pictures import TryPictures
from gputuner.gui.pages.tune_pictures import TunePictures
from gputuner.gui.pages.watch_pictures import WatchPictures
from gputuner.gui.picture_names import (
    loading_titles,
    numerics_titles,
    picture_of_figure,
    picture_of_step,
    switches_picture_of_step,
    switches_titles,
    training_picture_of_step,
    training_titles,
    tune_titles,
    watch_titles,
)
from gputuner.gui.results import interval_words, point_hint, value_words
from gputuner.gui.results_numerics import listed as numerics_listed
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


def numerics_result(theme: Theme) -> ResultView:
    """An empty result of a numerical check."""
    return _result(
        theme, numerics_titles(), NumericsPictures(theme), lambda _label: "loss", lambda _point: "loss", numerics_listed
    )


def switches_result(theme: Theme) -> ResultView:
    """An empty result of formats and switches."""
    return _result(theme, switches_titles(), SwitchesPictures(theme), switches_picture_of_step, lambda _point: "rate")


def loading_result(theme: Theme) -> ResultView:
    """An empty result of data loading."""
    return _result(theme, loading_titles(), LoadingPictures(theme), lambda _label: "workers", lambda _point: "workers")


def watch_result(theme: Theme) -> ResultView:
    """An empty result of a watched command."""
    pictures = WatchPictures(theme)
    return _result(theme, watch_titles(), pictures, lambda _label: "live", lambda _point: "where", late=True)


def try_result(theme: Theme) -> ResultView:
    """An empty result of an advice that is tried."""
    titles = {"trials": _("The advice tried")}
    return _result(theme, titles, TryPictures(theme), lambda _label: "trials", lambda _point: "trials")


def _result(
    theme: Theme,
    titles: Mapping[str, str],
    pictures: Pictures,
    picture_of_step: Callable[[str], str],
    picture_of_figure: Callable[[Point], str],
    listed: Callable[[Sequence[Point]], Sequence[Point]] = list,
    *,
    late: bool = False,
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
        listed=listed,
        late=late,
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


RESULTS: Mapping[str, Callable[[Theme], ResultView]] = {
    "batch": training_result,
    "switches": switches_result,
    "numerics": numerics_result,
    "loading": loading_result,
    "watch": watch_result,
    "try": try_result,
    "contend": contention_result,
    "power": power_result,
    "health": health_result,
}
"""The results of questions about trainings, by the name of their experiment."""
