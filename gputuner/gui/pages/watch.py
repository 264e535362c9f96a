# pyright: standard
"""The question where the time of one's own command goes: it is started here, followed live, judged at its end."""

from typing import TYPE_CHECKING

from gputuner.gui.live import Live
from gputuner.gui.pages.experiment_page import ExperimentPage, PageKind
from gputuner.gui.results_watch import now_words
from gputuner.gui.run_state import Phase, RunState
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.watch_form import WatchForm
from gputuner.language import numbers, sentences, watch
from gputuner.language.words import _
from gputuner.model.cards import Origin

if TYPE_CHECKING:
    from gputuner.gui.pages.result_view import ResultView


class WatchPage(ExperimentPage):
    """No card to choose and no dry run: the command does what it does."""

    def __init__(self, theme: Theme, live: Live, state: RunState) -> None:
        kind = PageKind(
            title=_("Training"),
            about=_(
                "Your own command runs unchanged while its processes and the cards are watched; at its end it is told "
                "where the time went and what would help."
            ),
            make_result=_result,
            of_card=False,
        )
        self.form = WatchForm(theme)
        super().__init__(theme, kind, self.form, live, state)
        self._ask_preview()

    def _ask_preview(self) -> None:
        """What will happen is always the same."""
        typed = bool(self.form.line.text().strip())
        problem = self.form.problem() if typed else None
        if problem is not None:
            self.setup.show_problem(sentences.error(problem))
            return
        told = _(
            "The command runs as in a terminal, without input from the keyboard. Stop asks it to end, as Ctrl-C does; "
            "closing this window leaves it running."
        )
        self.setup.show_words(told if typed else _("Type a command, as in a terminal.") + "\n" + told)

    def _show_bar(self) -> None:
        state, facts = self._state, self._state.facts
        if not state.busy:
            super()._show_bar()
            return
        words = now_words(facts) or _("starting the command…")
        if state.phase is Phase.STOPPING:
            words = _("asked to end; Stop once more asks harder")
        begin = facts.command.t_ns if facts.command is not None else facts.t_ns
        passed = numbers.duration(round((facts.t_ns - begin) / 1e9))
        self.bar.show_running(self._card_name(), words, passed, 0.0, stopping=False)

    def _card_name(self) -> str:
        """The command."""
        return self._state.facts.command.command if self._state.facts.command is not None else ""

    def _idle_words(self) -> str:
        ended = self._state.facts.ended
        return watch.ending(ended.exit_code, ended.signal) if ended is not None else super()._idle_words()

    @property
    def can_start(self) -> bool:
        """True if Start would do something: a command runs on real cards."""
        return super().can_start and self._live.origin is Origin.MEASURED

    def _message(self) -> tuple[str, str, str]:
        if self._state.phase is Phase.IDLE and self._live.origin is not Origin.MEASURED:
            option = "--simulate" if self._live.origin is Origin.SIMULATED else "--replay"
            return _("Nothing to watch here"), sentences.error("watch_real_only", {"option": option}), ""
        return super()._message()

    def _nothing_yet(self) -> str:
        return _("Nothing watched yet")

    def _shows_result(self) -> bool:
        return self._state.busy or self._state.facts.command is not None

    def _advice_hint(self) -> str:
        if self._state.outcome is not None:
            return super()._advice_hint()
        return _("Advice appears here when the command has ended")


def _result(theme: Theme) -> "ResultView":
    from gputuner.gui.pages.tune_result import watch_result

    return watch_result(theme)
