# pyright: standard
"""The result of a power sweep: rate and energy over the setting, and the columns of its table."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from gputuner.gui.pages.contention_pictures import BesideEachOther
from gputuner.gui.pages.pictures import Pictures
from gputuner.gui.pages.result_view import ResultKind, ResultView
from gputuner.gui.pages.supply import SupplyView
from gputuner.gui.plots.curve_plot import CurvePlot
from gputuner.gui.plots.scales import Scale, free, linear
from gputuner.gui.results import interval_words, point_hint, value_words
from gputuner.gui.results_power import (
    ENERGY,
    NULL,
    RATE,
    answer_uprights,
    card_range,
    interval95_words,
    listed,
    setting_text,
    visit_series,
)
from gputuner.gui.run_state import RunFacts
from gputuner.gui.supply_desk import Draws
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.supply_form import SupplyForm
from gputuner.gui.widgets.tables import Cell, Column
from gputuner.language import sentences
from gputuner.language.power import null_line
from gputuner.language.words import _
from gputuner.model.points import Point

REMARKS = 640
"""Below this width in pixels the table has no remarks."""
CURVES, SUPPLY = "curves", "supply"


class PowerPictures(Pictures):
    """Filled from the visits as they come."""

    def __init__(self, theme: Theme, supply: SupplyView | None = None) -> None:
        """``supply``: the view Supply; None: there is none."""
        super().__init__()
        self._theme = theme
        self.supply = supply
        settings: Scale = free(lambda value: f"{value:.0f}")
        self.rate = CurvePlot(theme, _("Rate"), _("samples/s"), "", settings, linear())
        self.energy = CurvePlot(theme, _("Energy"), _("J/sample"), "", settings, linear())
        pages: dict[str, QWidget] = {CURVES: BesideEachOther(self.rate, self.energy)}
        self.add_pages(pages if self.supply is None else {**pages, SUPPLY: self.supply})

    def filled(self, facts: RunFacts) -> list[str]:
        """The curves once there is a visit; a supply can be sized at any time."""
        return [*([CURVES] if self.rate.series else []), *([] if self.supply is None else [SUPPLY])]

    def show_card(self, uuid: str) -> None:
        """Size the supply for this card; "": for none."""
        if self.supply is not None:
            self.supply.show_card(uuid)

    def markdown(self, facts: RunFacts) -> str:
        """What is copied beside the shown picture."""
        if self.supply is not None and self.current is self.supply:
            return self.supply.markdown()
        return super().markdown(facts)

    def show_facts(self, facts: RunFacts) -> None:
        """Fill it from figures."""
        uprights = answer_uprights(facts.points)
        self.rate.name_setting(setting_text(facts.points))
        self.energy.name_setting(setting_text(facts.points))
        reach = (*(upright.x for upright in uprights), *card_range(facts.points, next(iter(facts.cards), None)))
        rates = visit_series(facts.points, RATE, self._theme.green)
        self.rate.show_series(rates, uprights=uprights, reach=reach)
        energy = visit_series(facts.points, ENERGY, self._theme.blue)
        self.energy.show_series(energy, uprights=uprights if energy else (), reach=reach)
        self.energy.setVisible(bool(energy))

    def mark(self, point_ids: frozenset[str]) -> None:
        """Ring the visits that are evidence."""
        for plot in (self.rate, self.energy):
            plot.mark(point_ids)

    def picture_with(self, point_ids: frozenset[str]) -> str | None:
        """All that a sweep measured is on the one picture."""
        return CURVES


class PowerResult(ResultView):
    """The table of figures belongs to the curves; the view Supply has one of its own, and needs its room."""

    shown = Signal(str)
    """Another picture is shown."""

    def show_name(self, name: str, chosen: bool = True) -> None:
        """Show one picture."""
        super().show_name(name, chosen)
        self._fit_below()
        self.shown.emit(name)

    def _draw(self) -> None:
        super()._draw()
        self._fit_below()

    def _fit_below(self) -> None:
        supply = self.name == SUPPLY
        self._below.setVisible(bool(self._facts.points) and not supply)
        self.copy_button.setEnabled(bool(self._facts.points) or supply)


def power_result(theme: Theme, draws: Draws | None = None, form: SupplyForm | None = None) -> PowerResult:
    """An empty result; with ``draws`` (what the cards drew) and a form it has the view Supply."""
    titles = {CURVES: _("Rate and energy")}
    supply = None if draws is None or form is None else SupplyView(theme, draws, form)
    kind = ResultKind(
        titles=titles if supply is None else {**titles, SUPPLY: _("Supply")},
        picture_of_step=lambda _label: CURVES,
        picture_of_figure=lambda _point: CURVES,
        columns=[
            Column(_("Figure"), 0),
            Column(_("Value"), 14, right=True),
            Column(_("95 % interval"), 11, right=True),
            Column(_("Remarks"), 14),
        ],
        row=_row,
        listed=listed,
        late=True,
        hides={3: REMARKS},
    )
    return PowerResult(theme, kind, PowerPictures(theme, supply))


def _row(point: Point) -> list[Cell]:
    hint = point_hint(point)
    name = f"{sentences.metric(point.metric)} · {sentences.settings(point.params)}".rstrip(" ·")
    remarks = [sentences.flag(flag) for flag in point.flags]
    if point.metric == NULL:
        remarks.insert(0, null_line([point]))
    return [
        Cell(name, f"{name}\n{hint}"),
        Cell(value_words(point), hint),
        Cell(interval95_words(point) or interval_words(point), hint, True),
        Cell("; ".join(remarks), "\n".join(remarks), True),
    ]
