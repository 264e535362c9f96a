# pyright: standard
"""The page Power: what a lower power limit or clock costs and saves, with a question before anything is set."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox

from gputuner.experiments.power_dial import dial_of
from gputuner.gui.live import Live
from gputuner.gui.pages.experiment_page import ExperimentPage, PageKind
from gputuner.gui.run_state import Phase, RunState
from gputuner.gui.supply_desk import Draws
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.power_form import CLOCKS, PowerForm
from gputuner.gui.widgets.supply_form import SupplyForm
from gputuner.language import sentences
from gputuner.language.words import _
from gputuner.model.cards import CardInfo

if TYPE_CHECKING:
    from gputuner.gui.pages.result_view import ResultView


class PowerPage(ExperimentPage):
    """A sweep, its visits as they come, and its answers."""

    def __init__(
        self,
        theme: Theme,
        spec_type: type[object],
        live: Live,
        state: RunState,
        trainings: Sequence[str],
        draws: Draws,
    ) -> None:
        kind = PageKind(
            title=_("Power"),
            about=_(
                "A power sweep tells which limit costs little speed, which needs the least energy per sample, and "
                "above which more watts change nothing. Nothing is set unless you choose it in the form. The view "
                "Supply sizes power supply, circuit and air for what the card drew."
            ),
            make_result=self._made,
        )
        self.form = PowerForm(theme, spec_type, trainings)
        self.supply_form = SupplyForm()
        self.supply_form.keep(draws.typed)
        self.question: QMessageBox | None = None
        self._draws = draws
        super().__init__(theme, kind, self.form, live, state)
        self.sweep_fold, self.supply_fold = self.setup.fold_form(_("Sweep"), self.supply_form, _("Supply"))
        self.form.price.valueChanged.connect(lambda value: self.supply_form.price.tell(value or None))
        self.supply_form.price.valueChanged.connect(lambda _value: self._price_told())

    def _price_told(self) -> None:
        """A kWh costs the same for sweep and supply."""
        self.form.price.setValue(self.supply_form.price.told or 0.0)

    def _made(self, theme: Theme) -> "ResultView":
        from gputuner.gui.pages.power_result import power_result

        result = power_result(theme, self._draws, self.supply_form)
        result.shown.connect(self._fit_folds)
        return result

    def _fit_folds(self, name: str) -> None:
        """Open what the shown picture is set up by; before a sweep was measured both."""
        from gputuner.gui.pages.power_result import SUPPLY

        supply = name == SUPPLY
        self.supply_fold.unfold(supply)
        self.sweep_fold.unfold(not supply or not self._state.facts.points)

    def refresh(self) -> None:
        """Repaint everything from the state; size the supply for the chosen card."""
        if self.result is not None:
            from gputuner.gui.pages.power_result import PowerPictures

            pictures = self.result.pictures
            card = self.setup.card
            assert isinstance(pictures, PowerPictures)
            pictures.show_card("" if card is None or card.info.is_cpu else card.info.uuid)
        super().refresh()

    def _shows_result(self) -> bool:
        card = self.setup.card
        return super()._shows_result() or (card is not None and not card.info.is_cpu)

    @property
    def can_start(self) -> bool:
        """True if Start would do something: a processor's limits are not changed."""
        card = self.setup.card
        return super().can_start and card is not None and not card.info.is_cpu

    def start(self) -> None:
        """Start with what the form says; before anything is set it is asked."""
        card = self.setup.card
        if not self.can_start or card is None:
            return
        if not self.form.sets_something:
            super().start()
            return
        if self.question is None:
            box = QMessageBox(QMessageBox.Icon.Warning, _("Power"), self._warning(card.info), parent=self)
            box.setWindowModality(Qt.WindowModality.WindowModal)
            go = box.addButton(_("Set and sweep"), QMessageBox.ButtonRole.AcceptRole)
            stay = box.addButton(_("Change nothing"), QMessageBox.ButtonRole.RejectRole)
            box.setDefaultButton(stay)
            box.setEscapeButton(stay)
            box.finished.connect(lambda _code: self._answered(allowed=box.clickedButton() is go))
            self.question = box
            box.open()

    def _answered(self, *, allowed: bool) -> None:
        box, self.question = self.question, None
        if box is not None:
            box.deleteLater()
        if allowed:
            super().start()

    def _warning(self, card: CardInfo) -> str:
        """What will be set, and that it is put back."""
        clocks = self.form.sets.currentData() == CLOCKS
        dial = dial_of(card, clocks=clocks, up_to_w=self.form.up_to_w)
        span = "" if dial is None else f"{dial.low:.0f} … {dial.high:.0f} {dial.unit}"
        words = (
            _("The highest clock of {card} will be locked to several values")
            if clocks
            else _("The power limit of {card} will be set to several values")
        )
        told = [words.format(card=card.title) + (f" ({span})." if span else ".")]
        told.append(
            _("What was found is put back when the sweep ends, is stopped or fails, and when this program is killed.")
        )
        if clocks:
            told.append(_("No driver tells what clocks are locked to: a lock set by another program would be lost."))
        elif dial is not None and dial.found is not None and dial.high > dial.found:
            above = _("That is above the limit that stands now ({found} W): the card may draw more and get hotter.")
            told.append(above.format(found=f"{dial.found:.0f}"))
        else:
            told.append(_("Nothing above the limit that stands now is set."))
        return "\n\n".join(told)

    def _message(self) -> tuple[str, str, str]:
        card = self.setup.card
        if self._state.phase is Phase.IDLE and card is not None and card.info.is_cpu:
            return _("No card to measure"), sentences.error("power_needs_card"), ""
        return super()._message()
