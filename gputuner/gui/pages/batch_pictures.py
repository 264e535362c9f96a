# pyright: standard
"""Pictures over batch: rate above memory (Tune); rate above energy on one axis, and memory by itself (Training)."""

from PySide6.QtWidgets import QWidget

from gputuner.gui.pages.pictures import column
from gputuner.gui.plots.batch_plot import BatchPlot
from gputuner.gui.results_batch import BatchPicture, batch_picture
from gputuner.gui.run_state import RunFacts
from gputuner.gui.theme import Theme
from gputuner.language.words import _


class BatchPlots:
    """Rate and memory against batch, and energy where it is asked; filled from the figures as they come."""

    def __init__(self, theme: Theme, *, energy: bool) -> None:
        self._theme = theme
        self.rate = BatchPlot(theme, _("Rate against batch"), "")
        unit = _("J per sample, whole card")
        self.energy = BatchPlot(theme, _("Energy against batch"), unit) if energy else None
        memory_unit = _("GiB at peak; line fitted, hollow = checked, × = does not fit")
        self.memory = BatchPlot(theme, _("Memory against batch"), memory_unit, linear=True)
        if self.energy is not None:
            self.rate.spanned.connect(self.energy.align)

    def rate_over_memory(self) -> QWidget:
        """Both in one picture."""
        return column((self.rate, 3), (self.memory, 2))

    def rate_over_energy(self) -> QWidget:
        """Both over the same axis."""
        return column((self.rate, 5), *([(self.energy, 3)] if self.energy is not None else []))

    def show_facts(self, facts: RunFacts) -> BatchPicture:
        """Fill all; the energy steps aside where the card tells none."""
        batch = batch_picture(facts, self._theme)
        self.rate.show_unit(batch.unit)
        self.rate.show_series(batch.rates, batch.rate_marks, None, batch.rate_ends)
        if self.energy is not None:
            self.energy.setVisible(bool(batch.energies) or _awaited(facts))
            ticks = [dot.batch for series in batch.rates for dot in series.dots]
            self.energy.show_series(batch.energies, batch.energy_marks, None, batch.rate_ends, ticks)
            self.energy.show_hint(_("measured once the fastest batch is known"))
        self.memory.show_series(batch.memory, batch.memory_marks, batch.memory_limit, batch.memory_ends)
        return batch

    def mark(self, point_ids: frozenset[str]) -> None:
        """Mark figures as evidence."""
        for plot in self._plots:
            plot.mark(point_ids)

    def shows(self, point_ids: frozenset[str]) -> bool:
        """Whether one of these figures is a dot here."""
        return any(dot.point_id in point_ids for plot in self._plots for series in plot.series for dot in series.dots)

    @property
    def _plots(self) -> list[BatchPlot]:
        return [plot for plot in (self.rate, self.energy, self.memory) if plot is not None]


def _awaited(facts: RunFacts) -> bool:
    """Whether the run still goes on, on a card that may tell its energy."""
    return facts.finished is None and bool(facts.cards) and not facts.cards[0].is_cpu
