# pyright: standard
"""The page Benchmarks: choose, run, watch the figures come, see what held the card back."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gputuner.gui.live import Live
from gputuner.gui.others import Others
from gputuner.gui.pages.experiment_page import ExperimentPage, PageKind
from gputuner.gui.ports import BenchmarkEntry
from gputuner.gui.run_state import RunState
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.bench_form import BenchForm
from gputuner.gui.widgets.held_back import HeldBack
from gputuner.language.words import _

if TYPE_CHECKING:
    from gputuner.gui.pages.result_view import ResultView

Suite = Callable[[str], Sequence[BenchmarkEntry]]
"""The benchmarks as they stand on the card with this UUID."""


class BenchPage(ExperimentPage):
    """The suite, its run and its figures."""

    def __init__(
        self, theme: Theme, spec_type: type[object], live: Live, state: RunState, suite: Suite, others: Others
    ) -> None:
        self.form = BenchForm(theme, spec_type)
        self._suite = suite
        self._suited: str | None = None
        self.held_back = HeldBack()
        kind = PageKind(
            title=_("Benchmarks"),
            about=_(
                "Benchmarks tell what this card truly reaches, how far that is from its limit at the clock it ran, "
                "and what held it back."
            ),
            make_result=lambda theme: _result(theme, others),
            roomy=True,
        )
        super().__init__(theme, kind, self.form, live, state)
        self.advice.put_above(self.held_back)
        self.held_back.evidence_wanted.connect(self._show_evidence)
        self.refresh()

    def refresh(self) -> None:
        """Repaint everything from the state; offer the suite of the chosen card."""
        card = self.setup.card
        if card is not None and card.info.uuid != self._suited:
            self._suited = card.info.uuid
            self.form.show_entries(self._suite(card.info.uuid))
        self.held_back.show_points(self._state.facts.points)
        super().refresh()

    def load_plots(self) -> None:
        """Load the drawing library and put the pictures in (once); a chosen figure tells what held it back."""
        if self.result is None:
            super().load_plots()
            if self.result is not None:
                self.result.table.on_current(self._figure_chosen)

    def _figure_chosen(self, key: str) -> None:
        self.held_back.show_one(next((p for p in self._state.facts.points if p.id == key), None))

    def _advice_hint(self) -> str:
        """What the right column says while it has no advice."""
        if self.held_back.causes:
            return ""
        return _("What held the card back appears here with the figures")


def _result(theme: Theme, others: Others) -> "ResultView":
    from gputuner.gui.pages.bench_result import bench_result

    return bench_result(theme, others)
