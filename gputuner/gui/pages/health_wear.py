# pyright: standard
"""What stored sessions tell of a card's wear: hours, thermal cycles, the cooler over weeks, changes, errors."""

from datetime import datetime
from time import time

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QScrollArea, QVBoxLayout, QWidget

from gputuner.advice.naming import names
from gputuner.advice.wear import wear_advice
from gputuner.analysis.wear import Wear
from gputuner.analysis.wear_drift import Basis, Drift, Trend
from gputuner.gui.pages.health_tables import TableFrame
from gputuner.gui.pages.pictures import column, framed
from gputuner.gui.plots.bars import Bars
from gputuner.gui.plots.curve_plot import CurvePlot
from gputuner.gui.plots.scales import Scale, free
from gputuner.gui.refusals import refusal
from gputuner.gui.results_health_wear import (
    cycle_groups,
    drift_areas,
    drift_reach,
    drift_series,
    hour_groups,
    wear_markdown,
)
from gputuner.gui.theme import Theme
from gputuner.gui.wear_desk import WearDesk
from gputuner.gui.widgets.advice_column import AdviceCard, QuestionCard
from gputuner.gui.widgets.labels import label
from gputuner.gui.widgets.notice import Notice
from gputuner.language import numbers
from gputuner.language import wear as words
from gputuner.language.words import _
from gputuner.model.cards import CardInfo, Origin

FRESH_S = 120.0
"""An answer is asked for anew after so long, when the page is seen again."""
CURVE_TALL = 210
"""Pixels of the curve over weeks."""
NOTHING = Wear(
    card=CardInfo(uuid="", index=0, name=""),
    origin=Origin.MEASURED,
    drift=Drift(verdict=Trend.TOO_FEW, basis=Basis.NONE),
)
"""Whose tables have headings alone."""


class WearAdvice(QWidget):
    """What the history advises, the most urgent first, and below it what is still to be measured."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("role", "clear")
        self.cards: list[AdviceCard] = []
        self.questions: list[QuestionCard] = []
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(8)

    def show_wear(self, wear: Wear) -> None:
        """Show the advice of this card's history."""
        advice, questions = wear_advice(wear)
        for old in (*self.cards, *self.questions):
            old.hide()
            old.deleteLater()
        self.cards = [AdviceCard(entry, name) for entry, name in zip(advice, names(advice), strict=True)]
        self.questions = [QuestionCard(question) for question in questions]
        for card in self.cards:
            for part in (card.evidence_button, card.tried, card.tried.button):
                part.hide()  # what it rests on stands below it, and it cannot be tried
        for each in (*self.cards, *self.questions):
            self._layout.addWidget(each)
        self.setVisible(bool(self.cards or self.questions))


class WearPicture(QScrollArea):
    """Follows the chosen card."""

    def __init__(self, theme: Theme, desk: WearDesk) -> None:
        super().__init__()
        self.setProperty("role", "clear")
        self._theme, self._desk = theme, desk
        self._card: CardInfo | None = None
        self._asked_s: dict[str, float] = {}
        self._shown: Wear | None = None
        self.notice = Notice()
        self.advised = WearAdvice()
        self.hours, self.cycles = Bars(theme), Bars(theme)
        days: Scale = free(lambda value: datetime.fromtimestamp(value).strftime("%m-%d"))
        self.drift = CurvePlot(theme, _("The cooler over weeks"), "K/W", _("day"), days, free())
        self._drift_words = label("", "muted", wrap=True)
        self._drift_words.setContentsMargins(12, 2, 12, 6)
        self.drift.body.addWidget(self._drift_words)
        self.drift.plot.setFixedHeight(CURVE_TALL)
        hours_frame = framed(self.hours, _("How hot, how long"), "")
        cycles_frame = framed(self.cycles, _("Thermal cycles of the core"), "")
        self.limited = TableFrame(theme, _("Held back"), words.limited_table(NOTHING).headers, (1, 2))
        self.changes = TableFrame(theme, _("Changes between sessions"), words.changes_table(NOTHING).headers)
        self.counters = TableFrame(theme, _("Error counters"), words.counters_table(NOTHING).headers, (1, 2, 3))
        self._head = label("", "muted", wrap=True)
        self._parts: list[QWidget] = [
            self.drift, hours_frame, cycles_frame, self.limited, self.changes, self.counters
        ]  # fmt: skip
        inside = column((self.notice, 0), (self._head, 0), (self.advised, 0), *((part, 0) for part in self._parts))
        layout = inside.layout()
        if isinstance(layout, QVBoxLayout):
            layout.addStretch(1)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWidget(inside)
        desk.changed.connect(self._draw)

    @property
    def there(self) -> bool:
        """Whether there is something to tell of the chosen card."""
        uuid = "" if self._card is None else self._card.uuid
        return self._desk.found.get(uuid) is not None or uuid in self._desk.failed

    @property
    def head_text(self) -> str:
        """What is said of how much was observed."""
        return self._head.text()

    def show_card(self, card: CardInfo | None) -> None:
        """Show the wear of this card; reads its sessions where that was not done lately."""
        self._card = None if card is None or card.is_cpu else card
        stale = self._card is not None and time() - self._asked_s.get(self._card.uuid, 0.0) > FRESH_S
        if self._card is not None and stale and not self._desk.pending:
            self._asked_s[self._card.uuid] = time()
            self._desk.ask(self._card.uuid)
        self._draw()

    def forget(self) -> None:
        """A session was added: ask anew when next shown."""
        self._asked_s.clear()

    def _draw(self) -> None:
        uuid = "" if self._card is None else self._card.uuid
        wear, err = self._desk.found.get(uuid), self._desk.failed.get(uuid)
        done, total = self._desk.progress
        if err is not None:
            self.notice.say(_("The stored sessions could not be read"), refusal(err))
        elif wear is None and self._desk.pending:
            told = _("{done} of {total} sessions read") if total else ""
            self.notice.say(_("Reading the stored sessions of this card…"), told.format(done=done, total=total))
        elif wear is None:
            self.notice.say(_("No session of this card is stored yet"), _("Record ordinary work to see it age."))
        else:
            self.notice.say("")
        self.advised.setVisible(wear is not None and bool(self.advised.cards or self.advised.questions))
        for part in (self._head, *self._parts):
            part.setVisible(wear is not None)
        if wear is not None and wear is not self._shown:
            self._shown = wear
            self._fill(wear)

    def _fill(self, wear: Wear) -> None:
        theme = self._theme
        self._head.setText("\n".join(words.head_lines(wear)))
        self.advised.show_wear(wear)
        self.hours.show_groups(hour_groups(wear, theme))
        self.cycles.show_groups(cycle_groups(wear, theme))
        for bars in (self.hours, self.cycles):
            bars.setMinimumHeight(bars.sizeHint().height() if bars.groups else 0)
        self.drift.show_unit(numbers.scale(1.0, wear.drift.line_unit)[1])
        self.drift.show_series(drift_series(wear, theme), areas=drift_areas(wear, theme), reach=drift_reach(wear))
        self.drift.plot.setVisible(bool(wear.drift.shown))
        self._drift_words.setText("\n".join(words.drift_lines(wear)))
        self.limited.show_table(words.limited_table(wear))
        self.changes.show_table(words.changes_table(wear))
        self.counters.show_table(words.counters_table(wear))
        for frame in (self.limited, self.changes, self.counters):
            frame.setVisible(bool(frame.texts))

    def markdown(self) -> str:
        """What is shown, in Markdown."""
        return "" if self._shown is None else wear_markdown(self._shown)
