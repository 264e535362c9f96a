# pyright: standard
"""The page Training: batch size and number format of one training, a built-in or the user's own."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gputuner.gui.live import Live
from gputuner.gui.pages.experiment_page import ExperimentPage, PageKind
from gputuner.gui.run_state import RunState
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.training_form import TrainingForm
from gputuner.language import sentences
from gputuner.language.words import _

if TYPE_CHECKING:
    from gputuner.gui.pages.result_view import ResultView


class TrainingPage(ExperimentPage):
    """What fits, what is safe, what is fastest, in which number format."""

    def __init__(
        self, theme: Theme, spec_type: type[object], live: Live, state: RunState, trainings: Sequence[str]
    ) -> None:
        kind = PageKind(
            title=_("Training"),
            about=_(
                "Training finds the batch size and the number format of one training, a built-in or your own: "
                "what fits, what is safe for the whole run, and what is fastest."
            ),
            make_result=_result,
        )
        self.form = TrainingForm(theme, spec_type, trainings)
        super().__init__(theme, kind, self.form, live, state)

    def _card_name(self) -> str:
        """The training that was measured, and the card."""
        names = dict.fromkeys(point.workload for point in self._state.facts.points)
        return " · ".join([*map(sentences.workload, names), super()._card_name()])

    def _plan_note(self) -> str:
        """A recipe is not run for the dry run."""
        own = self.form.source.own
        return _("Your training is not run: the steps are those that ResNet-50 would take.") if own else ""


def _result(theme: Theme) -> "ResultView":
    from gputuner.gui.pages.tune_result import training_result

    return training_result(theme)
