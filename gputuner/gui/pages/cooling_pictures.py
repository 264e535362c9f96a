# pyright: standard
"""The pictures of a thermal test: how the forecast closed, the cooler, two tests, the card meanwhile."""

from time import monotonic

from gputuner.gui.others import Others
from gputuner.gui.pages.card_traces import CardTraces
from gputuner.gui.pages.cooling_compare import ThermalComparePicture
from gputuner.gui.pages.pictures import Pictures
from gputuner.gui.pages.switches_pictures import scrolled
from gputuner.gui.picture_names import cooling_titles
from gputuner.gui.plots.bars import Bars
from gputuner.gui.plots.thermal_plot import ThermalPlot
from gputuner.gui.results_cooler import closed_words, cooler_groups, cooler_markdown, looks_markdown
from gputuner.gui.results_cooling import LOOK, of_phase, thermal_shown
from gputuner.gui.run_state import RunFacts
from gputuner.gui.theme import Theme
from gputuner.language.words import _

REDRAW_S = 1.0
"""A trace that grows is drawn anew no more often: a kelvin takes longer."""


class CoolingPictures(Pictures):
    """Filled from figures and telemetry as they come."""

    def __init__(self, theme: Theme, others: Others) -> None:
        super().__init__()
        self._theme = theme
        self._drawn_s = 0.0
        self.heat = ThermalPlot(theme)
        self.cooler = Bars(theme)
        self.found = scrolled(self.cooler, _("What was found"), "")
        self.compare = ThermalComparePicture(theme, others)
        self.card = CardTraces(theme)
        pages = {
            "heat": self.heat,
            "cooler": self.found,
            "compare": self.compare,
            "card": self.card,
        }
        self.add_pages({name: pages[name] for name in cooling_titles()})

    def filled(self, facts: RunFacts) -> list[str]:
        """The pictures that have something to show."""
        there = {
            "heat": bool(self.heat.series),
            "cooler": bool(self.cooler.groups),
            "compare": bool(facts.finished is not None and self.cooler.groups) or len(self.compare.tests) > 1,
            "card": bool(facts.traces),
        }
        return [name for name, is_there in there.items() if is_there]

    def show_facts(self, facts: RunFacts) -> None:
        """Fill all pictures from figures."""
        self._draw_heat(facts)
        self.cooler.show_groups(cooler_groups(facts.points, self._theme))
        self.cooler.setMinimumHeight(self.cooler.sizeHint().height() if self.cooler.groups else 0)
        self.found.show_unit(closed_words(facts.points))
        self.compare.show_facts(facts)
        self._show_card(facts)

    def show_trace(self, facts: RunFacts) -> None:
        """Follow telemetry."""
        if facts.finished is None and monotonic() - self._drawn_s >= REDRAW_S and self.heat.isVisible():
            self._draw_heat(facts)
        self._show_card(facts)

    def _draw_heat(self, facts: RunFacts) -> None:
        shown = thermal_shown(facts, self._theme)
        self.heat.show_test(shown.series, shown.areas, shown.stretches, shown.uprights)
        self._drawn_s = monotonic()

    def _show_card(self, facts: RunFacts) -> None:
        if self.card.isVisible() or facts.finished is not None:
            self.card.show_stretch(facts, None)

    def mark(self, point_ids: frozenset[str]) -> None:
        """Mark figures as evidence in every picture."""
        self.heat.mark(point_ids)
        for bars in (self.cooler, self.compare.bars):
            bars.mark(point_ids)

    def rows_of(self, name: str) -> tuple[str, ...]:
        """Ids of the figures that a picture shows, in its order."""
        if name == "heat":
            return tuple(dot.point_id for series in self.heat.series for dot in series.dots)
        if name == "cooler":
            return tuple(row.point_id for group in self.cooler.groups for row in group.rows if row.point_id)
        return ()

    def markdown(self, facts: RunFacts) -> str:
        """What the shown picture rests on; of the card what the test found."""
        if self.current is self.compare and self.compare.found is not None:
            return self.compare.markdown()
        if self.current is self.heat and of_phase(facts.points, LOOK):
            return looks_markdown(facts.points)
        return cooler_markdown(facts.points)

    def picture_with(self, point_ids: frozenset[str]) -> str | None:
        """The first picture that can show one of these figures."""
        return next((name for name in ("cooler", "heat") if set(self.rows_of(name)) & point_ids), None)
