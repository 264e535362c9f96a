# pyright: standard
"""The page Health: is the card sound, and the one that was sold; and how it wears."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from gputuner.gui.live import Live
from gputuner.gui.pages.experiment_page import ExperimentPage, PageKind
from gputuner.gui.results_health import tested_of
from gputuner.gui.run_state import Phase, RunState
from gputuner.gui.theme import Theme
from gputuner.gui.wear_desk import WearDesk
from gputuner.gui.widgets.health_form import HealthForm
from gputuner.language import numbers, sentences
from gputuner.language.health_certificate import certificate, page, written
from gputuner.language.words import _
from gputuner.model.cards import CardInfo, Origin

if TYPE_CHECKING:
    from gputuner.gui.pages.health_pictures import HealthPictures
    from gputuner.gui.pages.result_view import ResultView


class HealthPage(ExperimentPage):
    """A health test, its map as it fills, its verdicts and certificate; beside it the card's history."""

    def __init__(
        self,
        theme: Theme,
        spec_type: type[object],
        live: Live,
        state: RunState,
        sold_names: Mapping[str, str],
        wear: WearDesk,
    ) -> None:
        kind = PageKind(
            title=_("Health"),
            about=_(
                "A health test writes and reads all free video memory, cold and hot, computes the same products "
                "again and again, and holds the card against its sheet: is it sound, and is it what was sold? "
                "Nothing is set."
            ),
            make_result=lambda theme: _result(theme, wear),
        )
        self.form = HealthForm(theme, spec_type, sold_names)
        self.warned = False
        """Whether the warning before the long load stands now."""
        self._wear = wear
        self._certified = ""
        self._kept = ""
        super().__init__(theme, kind, self.form, live, state)
        self.notice.acted_otherwise.connect(self.leave_warning)
        state.changed.connect(self._keep_certificate)
        wear.changed.connect(self._schedule)

    @property
    def can_start(self) -> bool:
        """True if Start would do something: the long load is for graphics cards."""
        card = self.setup.card
        return super().can_start and not (self.form.burn_in and card is not None and card.info.is_cpu)

    def start(self) -> None:
        """Start with what the form says; before the long load it is said what that means, and asked."""
        if not self.can_start:
            return
        if self.form.burn_in and not self.warned:
            self.warned = True
            self.refresh()
            self.notice.other_button.setFocus()
            return
        self.warned = False
        super().start()

    def leave_warning(self) -> None:
        """Do not start the long load."""
        self.warned = False
        self.refresh()

    def refresh(self) -> None:
        """Repaint everything from the state; show the history of the chosen card."""
        self.form.show_simulated(self._live.origin is Origin.SIMULATED)
        pictures = self._pictures()
        card = self._shown_card()
        if pictures is not None and pictures.wear is not None and self.isVisible():
            if self._state.busy:
                pictures.wear.forget()
            else:
                pictures.wear.show_card(card)
        self.warned = self.warned and self.form.burn_in and self.can_start
        super().refresh()
        if self.warned:
            title, more = self._warning()
            self.notice.say(title, more, _("Start the load"), _("Not now"))

    def _pictures(self) -> "HealthPictures | None":
        if self.result is None:
            return None
        from gputuner.gui.pages.health_pictures import HealthPictures

        pictures = self.result.pictures
        assert isinstance(pictures, HealthPictures)
        return pictures

    def _shown_card(self) -> CardInfo | None:
        """The card of the run that is shown, else the chosen one."""
        if self._state.facts.cards:
            return self._state.facts.cards[0]
        return self.setup.card.info if self.setup.card is not None else None

    def _shows_result(self) -> bool:
        if self.warned:
            return False  # nothing beside it that would draw the eye away
        pictures = self._pictures()
        there = pictures is not None and pictures.wear is not None and pictures.wear.there
        return super()._shows_result() or there

    def _warning(self) -> tuple[str, str]:
        """What the long load means, in words that hide nothing."""
        card = self.setup.card
        minutes = self.form.values()["minutes"]
        time = numbers.duration(float(minutes) * 60.0) if isinstance(minutes, int | float) else ""
        watts = None if card is None else card.info.number("power_limit_enforced_w")
        draw = "" if watts is None else _(" at up to {watts}").format(watts=numbers.value(round(watts), "W"))
        title = _("⚠ {time} of full load{draw}: stay near the card").format(time=time, draw=draw)
        told = [
            _("All free video memory is taken. Whatever else needs the card fails or waits until the test ends."),
            _("The card, its connector, the supply and the room get hot; a poor solder joint, pad or cable may fail."),
            _(
                "The load stops by itself 3 °C before the core slows down, on an XID, on a fan that stands still, or "
                "when telemetry falls silent. It cannot see a hot connector, a hot cable or smoke."
            ),
            _("Stop ends it at any time; what was found until then is kept. No setting of the card is changed."),
        ]
        return title, "\n\n".join(told)

    def _message(self) -> tuple[str, str, str]:
        card = self.setup.card
        if self._state.phase is Phase.IDLE and self.form.burn_in and card is not None and card.info.is_cpu:
            return _("No card to measure"), sentences.error("burn_in_card"), ""
        title, more, button = super()._message()
        if self._kept and not title:
            return _("Certificate"), self._kept, ""
        return title, more, button

    def _keep_certificate(self) -> None:
        """Write the certificate of a run of this page that has just ended, where the form says so."""
        if self._state.busy:
            self._kept = ""
        tested, folder = tested_of(self._state.facts), self.form.certificate
        if folder is None or tested is None or tested.run_id == self._certified:
            return
        self._certified = tested.run_id
        body = certificate(tested)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            stem = folder / f"health-{tested.run_id}"
            stem.with_suffix(".json").write_text(written(body), encoding="utf-8")
            stem.with_suffix(".html").write_text(page(tested, body), encoding="utf-8")
        except OSError as err:
            told = {"path": str(folder), "reason": err.strerror or str(err)}
            self._kept = sentences.error("certificate_unwritable", told)
        else:
            self._kept = _("Certificate: {path}").format(path=Path(folder) / f"health-{tested.run_id}.html")


def _result(theme: Theme, wear: WearDesk) -> "ResultView":
    from gputuner.gui.pages.health_result import health_result

    return health_result(theme, wear)
