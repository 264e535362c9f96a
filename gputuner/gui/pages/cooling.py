# pyright: standard
"""The page Cooling: how hot the card gets, what its cooler is good for, and whether a change of it paid."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtGui import QShowEvent

from gputuner.gui.live import Live
from gputuner.gui.others import Others
from gputuner.gui.pages.experiment_page import ExperimentPage, PageKind
from gputuner.gui.run_state import Phase, RunState
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.cooling_form import CoolingForm
from gputuner.language import sentences
from gputuner.language.words import _

if TYPE_CHECKING:
    from gputuner.gui.pages.result_view import ResultView

COMPARED = 2
"""From so many stored tests on they can be compared without a new one."""


class CoolingPage(ExperimentPage):
    """A thermal test, its forecast as it closes, and its verdict."""

    def __init__(
        self,
        theme: Theme,
        spec_type: type[object],
        live: Live,
        state: RunState,
        trainings: Sequence[str],
        others: Others,
    ) -> None:
        kind = PageKind(
            title=_("Cooling"),
            about=_(
                "A thermal test tells how hot the core will get under one load, how many watts the cooler is good "
                "for, and, with a second one, what a new cooler, paste or pad changed."
            ),
            make_result=lambda theme: _result(theme, others),
        )
        self._others = others
        super().__init__(theme, kind, CoolingForm(theme, spec_type, trainings), live, state)
        others.listed.connect(self._schedule)

    def showEvent(self, event: QShowEvent) -> None:
        """See which tests are stored."""
        super().showEvent(event)
        self._others.refresh()

    def refresh(self) -> None:
        """Repaint everything from the state; offer the stored tests of the chosen card."""
        pictures = None if self.result is None else self.result.pictures
        card = self.setup.card
        if pictures is not None and card is not None and not self._state.facts.cards:
            from gputuner.gui.pages.cooling_pictures import CoolingPictures

            assert isinstance(pictures, CoolingPictures)
            pictures.compare.show_card(card.info.uuid)
        super().refresh()

    @property
    def can_start(self) -> bool:
        """True if Start would do something: a processor has no cooler that can be judged."""
        card = self.setup.card
        return super().can_start and card is not None and not card.info.is_cpu

    def _shows_result(self) -> bool:
        if super()._shows_result() or self._state.facts.traces:  # too short for a figure: what was seen is there
            return True
        from gputuner.gui.pages.cooling_compare import tests_of

        card = self.setup.card
        return card is not None and len(tests_of(self._others, card.info.uuid)) >= COMPARED

    def _message(self) -> tuple[str, str, str]:
        card = self.setup.card
        if self._state.phase is Phase.IDLE and card is not None and card.info.is_cpu:
            return _("No card to measure"), sentences.error("cooling_needs_card"), ""
        return super()._message()


def _result(theme: Theme, others: Others) -> "ResultView":
    from gputuner.gui.pages.cooling_result import cooling_result

    return cooling_result(theme, others)
