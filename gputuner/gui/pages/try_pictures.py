# pyright: standard
"""The picture of an advice that was tried."""

from gputuner.gui.pages.pictures import Pictures, column
from gputuner.gui.pages.switches_pictures import scrolled
from gputuner.gui.plots.bars import Bars
from gputuner.gui.plots.frame import PictureFrame
from gputuner.gui.plots.gain_axis import GainAxis
from gputuner.gui.results_try import advice_words, session_words, trial_groups, tried_rows, verdict_words
from gputuner.gui.run_state import RunFacts
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.labels import label
from gputuner.language.words import _

EDGE = 10


class TryPictures(Pictures):
    """The answer: gain predicted and realised on one axis under its verdict; below it the trials it rests on."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.title = label("", "title", wrap=True)
        self.source = label("", "muted", wrap=True)
        self.verdict = label("", "heading", wrap=True)
        self.gains = GainAxis(theme)
        self.bars = Bars(theme)
        self._answer = PictureFrame(_("Gain"), _("of the rate; dot with 95 % interval, hollow = predicted"))
        for words in (self.title, self.source, self.verdict):
            words.setContentsMargins(EDGE, 2, EDGE, 2)
        self._answer.body.insertWidget(0, self.verdict)
        self._answer.body.insertWidget(0, self.source)
        self._answer.body.insertWidget(0, self.title)
        self._answer.set_picture(self.gains)
        trials = scrolled(self.bars, _("Trials in their order"), _("bars: 95 % interval"))
        self.add_pages({"trials": column((self._answer, 0), (trials, 1))})

    def filled(self, facts: RunFacts) -> list[str]:
        """The picture, once there is a trial."""
        return ["trials"] if self.bars.groups else []

    def show_facts(self, facts: RunFacts) -> None:
        """Fill it from figures."""
        spec = facts.started.spec if facts.started is not None else {}
        self.title.setText(advice_words(spec))
        self.source.setText(session_words(spec) if spec else "")
        self.verdict.setText(verdict_words(facts.points))
        self.gains.show_rows(tried_rows(facts.points, self._theme))
        self.gains.setVisible(bool(self.gains.rows))
        self.bars.show_groups(trial_groups(facts.points, self._theme))
        self.bars.setMinimumHeight(self.bars.sizeHint().height() if self.bars.groups else 0)

    def mark(self, point_ids: frozenset[str]) -> None:
        """Mark figures as evidence."""
        self.bars.mark(point_ids)
