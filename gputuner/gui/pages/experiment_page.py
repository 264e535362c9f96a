# pyright: standard
"""The page of an experiment: set up, run, see the result, read the advice."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QHideEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gputuner.gui.desk import Desk
from gputuner.gui.held_cards import HeldCards
from gputuner.gui.live import Live
from gputuner.gui.pages.setup_panel import SetupPanel, SetupState
from gputuner.gui.refusals import refusal
from gputuner.gui.run_state import Phase, RunFacts, RunState
from gputuner.gui.theme import Theme
from gputuner.gui.try_desk import Tries
from gputuner.gui.widgets.advice_column import AdviceColumn
from gputuner.gui.widgets.notice import Notice
from gputuner.gui.widgets.pane import BAR, WIDE, setup_width
from gputuner.gui.widgets.run_bar import RunBar
from gputuner.gui.widgets.spec_form import Form
from gputuner.language import numbers, sentences
from gputuner.language.progress import step_progress
from gputuner.language.words import _
from gputuner.model.events import Outcome
from gputuner.model.planned import Planned

if TYPE_CHECKING:
    from gputuner.gui.pages.result_view import ResultView

PREVIEW_MS = 350
"""Pause after the last change of the form before the dry run is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageKind:
    """Title of the page, what it says while nothing was measured, and its result (made when the page is first seen)."""

    title: str
    about: str
    make_result: "Callable[[Theme], ResultView]"
    roomy: bool = False
    """The form takes the height that is left."""
    of_card: bool = True
    """A card is chosen, and a dry run tells what will happen."""


class ExperimentPage(QWidget):
    """Set-up left, run bar on top, result in the centre, advice right. Pages bring form and result."""

    start_wanted = Signal(object, object, bool)
    """Spec, UUIDs (tuple) and whether to share the card."""
    stop_wanted = Signal()
    """Stop and keep what was measured."""
    preview_wanted = Signal(object, object, bool)
    """As ``start_wanted``, but only tell what would happen."""
    sessions_wanted = Signal()
    """Show the stored session."""

    def __init__(self, theme: Theme, kind: PageKind, form: Form, live: Live, state: RunState) -> None:
        super().__init__()
        self.setProperty("role", "page")
        self._theme = theme
        self._live = live
        self._state = state
        self.result: ResultView | None = None
        self._kind = kind
        self.setup = SetupPanel(theme, live, form, roomy=kind.roomy, of_card=kind.of_card)
        self.bar = RunBar(theme, kind.title)
        self.notice = Notice()
        self.advice = AdviceColumn()
        self._build()
        self._preview = QTimer(self)
        self._preview.setSingleShot(True)
        self._preview.setInterval(PREVIEW_MS)
        self._preview.timeout.connect(self._ask_preview)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(250)
        self._timer.timeout.connect(self.refresh)
        self.setup.changed.connect(self._form_changed)
        self.bar.start_wanted.connect(self.start)
        self.bar.stop_wanted.connect(self.stop_wanted)
        self.bar.open_wanted.connect(self.sessions_wanted)
        self.notice.acted.connect(self.start)
        self._tries: Callable[[RunFacts], Tries] = lambda _facts: Tries()
        self._held: HeldCards | None = None
        self._desk: Desk | None = None
        self.advice.evidence_wanted.connect(self._show_evidence)
        state.changed.connect(self._schedule)
        state.traced.connect(self._schedule)
        state.progressed.connect(self._schedule)
        live.cards_changed.connect(self._cards_changed)
        self.refresh()

    def _build(self) -> None:
        self._centre = QVBoxLayout()
        self._centre.setSpacing(8)
        self._centre.addWidget(self.notice)
        self._filler = QWidget()
        self._filler.setProperty("role", "clear")
        self._centre.addWidget(self._filler, 1)
        top = QHBoxLayout()
        top.setContentsMargins(0, 0, BAR + 2, 0)
        top.addWidget(self.bar)
        columns = QHBoxLayout()
        columns.setSpacing(8)
        columns.addWidget(self.setup)
        columns.addLayout(self._centre, 1)
        columns.addWidget(self.advice)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 10, 4, 12)  # the advice's scroll bar stands in the page's margin
        layout.setSpacing(8)
        layout.addLayout(top)
        layout.addLayout(columns, 1)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Narrow side columns in a narrow window."""
        super().resizeEvent(event)
        self.setup.setFixedWidth(setup_width(self.width()))
        self.advice.setFixedWidth((320 if self.width() >= WIDE else 264) + BAR + 2)

    def showEvent(self, event: QShowEvent) -> None:
        """Load the pictures once, and say what would happen."""
        super().showEvent(event)
        QTimer.singleShot(0, self, self.load_plots)
        self._schedule()
        if self.setup.planned is None:
            self._preview.start()

    def hideEvent(self, event: QHideEvent) -> None:
        """No repaint while hidden."""
        super().hideEvent(event)
        self._timer.stop()
        self._preview.stop()

    def load_plots(self) -> None:
        """Load the drawing library and put the pictures in (once)."""
        if self.result is None:
            self.result = self._kind.make_result(self._theme)
            self._centre.replaceWidget(self._filler, self.result)
            self._centre.setStretch(1, 1)
            self._filler.deleteLater()
            self.refresh()

    def use_tries(self, tries: Callable[[RunFacts], Tries]) -> None:
        """``tries``: how the advice of the run that is shown stands."""
        self._tries = tries
        self.refresh()

    def use_held(self, held: HeldCards, desk: Desk) -> None:
        """``held``: which cards are measured from this window; ``desk``: where this page's runs are."""
        self._held, self._desk = held, desk
        held.changed.connect(self._schedule)

    @property
    def held(self) -> str:
        """Who else in this window measures on the chosen cards, in a sentence; empty: none."""
        if self._held is None or self._desk is None or not self._kind.of_card:
            return ""
        return self._held.by(self.setup.cards, self._desk)

    def show_tries(self) -> None:
        """Show anew how the advice stands."""
        self.advice.show_tries(self._tries(self._state.facts))

    @property
    def can_start(self) -> bool:
        """True if Start would do something."""
        ready = self.setup.card is not None or not self._kind.of_card
        return not self._state.busy and ready and not self.held and self.setup.form.problem() is None

    def start(self) -> None:
        """Start with what the form says."""
        if self.can_start:
            self.start_wanted.emit(self.setup.form.spec(), self.setup.cards, self.setup.shared)

    def set_up(self, state: SetupState) -> None:
        """Choose card, values and sharing."""
        self.setup.choose_card(state.card)
        self.refresh()
        self.setup.form.set_values(state.values)
        self.setup.share.setChecked(state.shared)

    @property
    def subject(self) -> dict[str, object]:
        """What the form says of the thing that is examined; empty where it is the card itself."""
        return {}

    def take_subject(self, other: "ExperimentPage") -> None:
        """Choose the card and the thing to examine that another question was asked of, unless a run holds the form."""
        if self._state.busy:
            return
        self.setup.choose_card(str(other.setup.chooser.currentData()))
        if other.subject and self.subject:
            self.setup.form.set_values(other.subject)

    def copy(self) -> None:
        """Copy the figures as Markdown."""
        if self.result is not None and self.result.copy_button.isEnabled():
            self.result.copy_markdown()

    def save(self) -> None:
        """Ask for a file and save picture or figures."""
        if self.result is not None and self.result.save_button.isEnabled():
            self.result.ask_save()

    def show_picture(self, name: str) -> None:
        """Show one picture of the result."""
        if self.result is not None and self.result.segments[name].isEnabled():
            self.result.show_name(name)

    def show_planned(self, planned: Planned) -> None:
        """Show the answer to ``preview_wanted``."""
        self.setup.show_planned(planned, self._plan_note())

    def _plan_note(self) -> str:
        """What a reader must know of the dry run."""
        return ""

    def show_preview_error(self, err: Exception) -> None:
        """Show why there is no dry run."""
        self.setup.show_problem(refusal(err))

    def refresh(self) -> None:
        """Repaint everything from the state."""
        self._timer.stop()
        state, facts = self._state, self._state.facts
        self.setup.set_busy(state.busy)
        self._show_bar()
        self.bar.open_button.setVisible(not state.busy and facts.finished is not None)
        title, more, button = self._message()
        self.notice.say(title, more, button)
        self.advice.show_advice(facts.advice, facts.questions, self._advice_hint())
        self.show_tries()
        if self.result is not None:
            self.result.setVisible(self._shows_result())
            self.result.show_facts(facts)
        self._filler_visible()

    def _shows_result(self) -> bool:
        return bool(self._state.facts.points) or self._state.busy

    def _nothing_yet(self) -> str:
        stored = self.result is not None and self._shows_result()
        return _("Not run in this window yet") if stored else _("Nothing measured yet")

    def _filler_visible(self) -> None:
        if self.result is not None and self.result.isHidden():
            self._centre.setStretch(1, 0)
            if self._centre.count() == 2:
                self._centre.addStretch(1)
        elif self._centre.count() == 3:
            self._centre.setStretch(1, 1)
            self._centre.takeAt(2)

    def _schedule(self) -> None:
        if self.isVisible() and not self._timer.isActive():
            self._timer.start()

    def _show_bar(self) -> None:
        state, step = self._state, self._state.facts.step
        name = self._card_name()
        remarks = dict.fromkeys(sentences.warning(w.code, w.params) for w in state.facts.warnings)
        told = state.phase is not Phase.REFUSED or state.outcome is not None
        self.bar.show_remarks(tuple(remarks) if told else ())
        if not state.busy:
            self.bar.show_idle(name, self.held or self._idle_words(), self.can_start, self._done(), self.held)
            return
        words, left = _("starting the measuring process…"), ""
        if step is not None:
            what = sentences.step(step.label, step.params)
            total = state.facts.steady_total
            step_words = _("step {index} · {what}") if total is None else _("step {index} of {total} · {what}")
            words = step_words.format(index=step.index, total=total, what=what)
            left = _("about {time} left").format(time=numbers.duration(round(state.facts.remaining_s)))
            if told := self._step_words():
                words = f"{words} · {told}"
        if state.phase is Phase.STOPPING:
            words = _("stopping; what was measured is kept")
        self.bar.show_running(name, words, left, self._done(), state.phase is Phase.STOPPING)

    def _done(self) -> float:
        """Share of the run that is done, 0–1; it stays where a run was stopped."""
        return 1.0 if self._state.outcome is Outcome.COMPLETED else self._state.facts.fraction

    def _step_words(self) -> str:
        facts = self._state.facts
        return step_progress(facts.progress, facts.since_s(facts.progress)) if facts.progress is not None else ""

    def _card_name(self) -> str:
        cards = self._state.facts.cards
        if cards:
            return ", ".join(card.title for card in cards)
        return self.setup.card.info.title if self.setup.card else ""

    def _idle_words(self) -> str:
        if self._state.outcome is not None:
            return sentences.outcome(self._state.outcome)
        return ""

    def _message(self) -> tuple[str, str, str]:
        state, facts = self._state, self._state.facts
        if state.phase is Phase.REFUSED:
            return _("The run could not be done"), refusal(state.error), ""
        finished = facts.finished
        if state.phase is Phase.OVER and finished is not None:
            told: list[str] = []
            if finished.error_code is not None and finished.outcome is not Outcome.CANCELLED:
                told.insert(0, sentences.error(finished.error_code, finished.error_params, finished.error_text))
            if finished.settings_restored is False:
                told.insert(0, _("The card's settings could not all be put back"))
            if finished.outcome in (Outcome.COMPLETED, Outcome.CANCELLED) and not told:
                return "", "", ""  # the bar says it
            title = sentences.outcome(finished.outcome)
            return title[:1].upper() + title[1:], "\n".join(dict.fromkeys(told)), ""
        if state.phase is Phase.IDLE:
            if self.setup.card is None and self._kind.of_card:
                return _("No card to measure"), sentences.error("no_cards"), ""
            return self._nothing_yet(), self._kind.about, _("Start") if self.can_start else ""
        return "", "", ""

    def _advice_hint(self) -> str:
        if self._state.busy:
            return _("Advice appears here when the run has measured enough")
        match self._state.outcome:
            case None:
                return _("What a run advises appears here; it always rests on what was measured")
            case Outcome.COMPLETED:
                return _("This run has nothing to advise")
            case Outcome.CANCELLED:
                return _("Cancelled before there was advice")
            case _:
                return _("Ended before there was advice")

    def _show_evidence(self, evidence: tuple[str, ...]) -> None:
        if self.result is not None:
            self.result.mark(frozenset(evidence))

    def _form_changed(self) -> None:
        self.refresh()
        self.setup.planned = None
        if self.isVisible():
            self._preview.start()

    def _ask_preview(self) -> None:
        problem = self.setup.form.problem()
        if problem is not None:
            self.setup.show_problem(refusal(problem))
        elif self.setup.card is not None and not self._state.busy:
            self.preview_wanted.emit(self.setup.form.spec(), self.setup.cards, self.setup.shared)

    def _cards_changed(self) -> None:
        self.setup.show_cards()
        if self.isVisible():
            self._preview.start()
        self._schedule()
