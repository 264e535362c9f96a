# pyright: standard
"""One question of the page Training: of one training, a built-in or the user's own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gputuner.gui.live import Live
from gputuner.gui.pages.experiment_page import ExperimentPage, PageKind
from gputuner.gui.questions import TRAINING
from gputuner.gui.run_state import RunState
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.training_form import TrainingForm
from gputuner.language import sentences
from gputuner.language.words import _

if TYPE_CHECKING:
    from gputuner.gui.pages.result_view import ResultView


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked: its name, what it says while nothing was measured, and its result (made when it is first seen)."""

    name: str
    about: str
    make_result: "Callable[[Theme], ResultView]"


class TrainingPage(ExperimentPage):
    """The form names the training, the rest follows the question."""

    def __init__(
        self,
        theme: Theme,
        question: Question,
        spec_type: type[object],
        live: Live,
        state: RunState,
        trainings: Sequence[str],
    ) -> None:
        kind = PageKind(title=_("Training"), about=question.about, make_result=question.make_result)
        self.form = TrainingForm(theme, spec_type, trainings)
        super().__init__(theme, kind, self.form, live, state)

    @property
    def subject(self) -> dict[str, object]:
        """The training that the form names."""
        return {**self.form.source.values(), **self.form.source.kept()}

    def _card_name(self) -> str:
        """The training that was measured, and the card."""
        names = dict.fromkeys(point.workload for point in self._state.facts.points)
        return " · ".join([*map(sentences.workload, names), super()._card_name()])

    def _plan_note(self) -> str:
        """A recipe is not run for the dry run."""
        own = self.form.source.own
        return _("Your training is not run: the steps are those that ResNet-50 would take.") if own else ""


def questions() -> dict[str, Question]:
    """The questions about a training that measure, by name."""
    return {
        name: Question(name=name, about=about, make_result=_result_of(result))
        for name, result, about in (
            (
                TRAINING,
                "batch",
                _(
                    "Training finds the batch size and the number format of one training, a built-in or your own: "
                    "what fits, what is safe for the whole run, and what is fastest."
                ),
            ),
            (
                "switches",
                "switches",
                _(
                    "Number formats, memory layout, torch.compile and the other switches of torch are compared at one "
                    "batch: what gains is measured once more before it is advised."
                ),
            ),
            (
                "numerics",
                "numerics",
                _(
                    "The numerical check trains some steps in each number format from one start, and tells whether the "
                    "loss stays within what FP32 varies by, which operations stay in FP32, and where half precision is "
                    "used wrongly."
                ),
            ),
            (
                "loading",
                "loading",
                _(
                    "Data loading is measured beside what the training could eat of batches that lie ready: how many "
                    "worker processes are enough, and which of the loader's switches help."
                ),
            ),
        )
    }


def _result_of(name: str) -> "Callable[[Theme], ResultView]":
    """Makes a result when it is first seen: plots load slowly."""

    def made(theme: Theme) -> "ResultView":
        from gputuner.gui.pages.tune_result import RESULTS

        return RESULTS[name](theme)

    return made
