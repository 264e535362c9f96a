# pyright: standard
"""The result of a health test: its pictures and the columns of its table."""

from gputuner.gui.pages.health_pictures import HealthPictures
from gputuner.gui.pages.result_view import ResultKind, ResultView
from gputuner.gui.picture_names import health_picture_of_figure, health_picture_of_step, health_titles
from gputuner.gui.results import point_hint, value_words
from gputuner.gui.results_health import listed
from gputuner.gui.results_health_verdict import sold_words
from gputuner.gui.theme import Theme
from gputuner.gui.wear_desk import WearDesk
from gputuner.gui.widgets.tables import Cell, Column
from gputuner.language import health, sentences
from gputuner.language.words import _
from gputuner.model.points import Point

REMARKS = 640
"""Below this width in pixels the table has no remarks."""
ALONE = frozenset({"identity", "counters", "certificate", "wear"})
"""Pictures that are tables themselves, or need the height."""


def health_result(theme: Theme, wear: WearDesk | None = None) -> ResultView:
    """An empty result; ``wear``: with the picture of the card's history."""
    kind = ResultKind(
        titles=health_titles(wear=wear is not None),
        picture_of_step=health_picture_of_step,
        picture_of_figure=health_picture_of_figure,
        columns=[Column(_("Figure"), 0), Column(_("Value"), 13, right=True), Column(_("Remarks"), 24)],
        row=_row,
        listed=listed,
        late=True,
        alone=ALONE,
        hides={2: REMARKS},
    )
    return ResultView(theme, kind, HealthPictures(theme, wear))


def _row(point: Point) -> list[Cell]:
    hint = point_hint(point)
    name, told = sentences.metric(point.metric), value_words(point)
    match point.metric:
        case "vram_errors":
            name = f"{name} · {health.pass_name(str(point.params['pass']), str(point.params['heat']))}"
        case "burn_errors":
            name = f"{name} · {str(point.params['precision']).upper()}"
        case "identity_verdict":
            told, hint = sold_words([point]), health.identity(point)
        case _:
            name = f"{name} · {sentences.settings(point.params)}".rstrip(" ·")
    remarks = [sentences.flag(flag) for flag in point.flags]
    return [
        Cell(name, f"{name}\n{hint}"),
        Cell(told, f"{told}\n{hint}"),
        Cell("; ".join(remarks), "\n".join(remarks), True),
    ]
