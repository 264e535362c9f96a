# pyright: standard
"""Rate and memory against batch, one above the other: the same in Tune and in Training."""

from PySide6.QtWidgets import QVBoxLayout, QWidget

from gputuner.gui.plots.batch_plot import BatchPlot
from gputuner.gui.results_batch import batch_picture
from gputuner.gui.run_state import RunFacts
from gputuner.gui.theme import Theme
from gputuner.language.words import _


class BatchPair(QWidget):
    """Filled from the figures as they come; the rates step aside where only memory was asked."""

    def __init__(self, theme: Theme, rate_share: int = 3, memory_share: int = 2) -> None:
        """Nothing yet; the shares are those of the height."""
        super().__init__()
        self.setProperty("role", "clear")
        self._theme = theme
        self.rate = BatchPlot(theme, _("Rate against batch"), "")
        memory_unit = _("GiB at peak; line fitted, hollow = checked, × = does not fit")
        self.memory = BatchPlot(theme, _("Memory against batch"), memory_unit, linear=True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(self.rate, rate_share)
        layout.addWidget(self.memory, memory_share)

    def show_facts(self, facts: RunFacts) -> None:
        """Fill both."""
        batch = batch_picture(facts, self._theme)
        self.rate.setVisible(not batch.memory_only)
        self.rate.show_unit(batch.unit)
        self.rate.show_series(batch.rates, batch.rate_marks, None, batch.rate_ends)
        self.memory.show_series(batch.memory, batch.memory_marks, batch.memory_limit, batch.memory_ends)

    def mark(self, point_ids: frozenset[str]) -> None:
        """Mark figures as evidence."""
        self.rate.mark(point_ids)
        self.memory.mark(point_ids)

    def shows(self, point_ids: frozenset[str]) -> bool:
        """Whether one of these figures is a dot here."""
        shown = (*self.rate.series, *self.memory.series)
        return any(dot.point_id in point_ids for series in shown for dot in series.dots)
