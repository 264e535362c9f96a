# pyright: standard
"""The page Share: what jobs gain and lose beside each other on one card, and why."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gputuner.experiments.contention_commands import LEAST_STARTS
from gputuner.gui.live import Live
from gputuner.gui.pages.experiment_page import ExperimentPage, PageKind
from gputuner.gui.run_state import RunState
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.contention_form import ContentionForm
from gputuner.language.words import _, ngettext

if TYPE_CHECKING:
    from gputuner.gui.pages.result_view import ResultView


class ContentionPage(ExperimentPage):
    """The mix, its run, and what each job and the card as a whole did."""

    def __init__(
        self, theme: Theme, spec_type: type[object], live: Live, state: RunState, trainings: Sequence[str]
    ) -> None:
        kind = PageKind(
            title=_("Share"),
            about=_(
                "Share runs several jobs on one card at once: what each of them loses, what the card gains against one "
                "after the other, and what they contend for."
            ),
            make_result=_result,
        )
        self.form = ContentionForm(theme, spec_type, trainings)
        super().__init__(theme, kind, self.form, live, state)

    def _plan_note(self) -> str:
        """Before a command of the user's is started it is said how often, and that it is ended."""
        commands = self.form.mix.commands
        if not commands:
            return ""
        return ngettext(
            "Your command is started {times} times or more, and ended each time with SIGTERM; what it writes, it "
            "writes each time.",
            "Your commands are started {times} times or more each, and ended each time with SIGTERM; what they write, "
            "they write each time.",
            len(commands),
        ).format(times=LEAST_STARTS)


def _result(theme: Theme) -> "ResultView":
    from gputuner.gui.pages.contention_result import contention_result

    return contention_result(theme)
