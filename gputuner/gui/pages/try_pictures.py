# pyright: standard
"""The picture of an advice that was tried."""

from gputuner.gui.pages.pictures import Pictures
from gputuner.gui.pages.switches_pictures import scrolled
from gputuner.gui.plots.bars import Bars
from gputuner.gui.results_try import trial_groups
from gputuner.gui.run_state import RunFacts
from gputuner.gui.theme import Theme
from gputuner.language.words import _


class TryPictures(Pictures):
    """Trials, and the gain."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.bars = Bars(theme)
        told = _("bars: 95 % interval; outlined = predicted")
        self.add_pages({"trials": scrolled(self.bars, _("The advice tried"), told)})

    def filled(self, facts: RunFacts) -> list[str]:
        """The picture, once there is a trial."""
        return ["trials"] if self.bars.groups else []

    def show_facts(self, facts: RunFacts) -> None:
        """Fill it from figures."""
        self.bars.show_groups(trial_groups(facts.points, self._theme))
        self.bars.setMinimumHeight(self.bars.sizeHint().height() if self.bars.groups else 0)

    def mark(self, point_ids: frozenset[str]) -> None:
        """Mark figures as evidence."""
        self.bars.mark(point_ids)
