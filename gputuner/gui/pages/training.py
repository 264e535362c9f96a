# pyright: standard
"""One question of the page Training: of one training, a built-in or the user's own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gputuner.gui.live import Live
from gputuner.gui.pages.experiment_page import ExperimentPage, PageKind
from gputuner.gui.questions import TRAINING, question_words
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
        first = question.name == TRAINING
        kind = PageKind(
            title=_("Training") if first else question_words()[question.name],
            about=question.about,
            make_result=question.make_result,
        )
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
    return {question.name: question for question in (_batch(),)}


def _batch() -> Question:
    def made(theme: Theme) -> "ResultView":
        from gputuner.gui.pages.tune_result import training_result

        return training_result(theme)

    return Question(
        name=TRAINING,
        about=_(
            "Training finds the batch size and the number format of one training, a built-in or your own: "
            "what fits, what is safe for the whole run, and what is fastest."
        ),
        make_result=made,
    )
