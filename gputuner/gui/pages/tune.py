# pyright: standard
"""The page Tune: what this card does, what holds it back and what to change."""

from typing import TYPE_CHECKING

from gputuner.gui.live import Live
from gputuner.gui.pages.experiment_page import ExperimentPage, PageKind
from gputuner.gui.run_state import RunState
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.spec_form import SpecForm
from gputuner.language.words import _

if TYPE_CHECKING:
    from gputuner.gui.pages.result_view import ResultView


class TunePage(ExperimentPage):
    """Batch size, peaks, sustained load, two at once."""

    def __init__(self, theme: Theme, spec_type: type[object], live: Live, state: RunState) -> None:
        kind = PageKind(
            title=_("Tune"),
            about=_("Tune finds out what this card does, what holds it back and what to change."),
            make_result=_result,
        )
        super().__init__(theme, kind, SpecForm(theme, spec_type), live, state)


def _result(theme: Theme) -> "ResultView":
    from gputuner.gui.pages.tune_result import tune_result

    return tune_result(theme)
