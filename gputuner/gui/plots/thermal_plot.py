# pyright: standard
"""The picture of a thermal test: a measured trace among forecasts whose words keep off it."""

from collections.abc import Sequence
from itertools import pairwise

from gputuner.gui.plots.curve_plot import CurvePlot
from gputuner.gui.plots.curves import Area, Series, Stretch, Upright
from gputuner.gui.plots.labelling import Segment
from gputuner.gui.plots.scales import Scale, free, linear
from gputuner.gui.theme import Theme
from gputuner.language.words import _

PIECES = 48
"""Pieces of a trace that words keep off: enough for its bend."""


class ThermalPlot(CurvePlot):
    """Core temperature over minutes of load."""

    def __init__(self, theme: Theme) -> None:
        minutes: Scale = linear(lambda value: f"{value:g}".replace("-", "−"))
        super().__init__(
            theme,
            _("Core temperature"),
            "°C",
            _("minutes of load"),
            minutes,
            free(lambda value: f"{value:g}"),
        )

    def show_test(
        self, series: Sequence[Series], areas: Sequence[Area], stretches: Sequence[Stretch], uprights: Sequence[Upright]
    ) -> None:
        """Show a test as far as it is; the same again costs nothing."""
        self.show_series(series, stretches, uprights, areas)

    def _segments(self) -> list[Segment]:
        traced: list[Segment] = []
        for series in self.series:
            if series.bare and series.path:
                step = max(1, len(series.path) // PIECES)
                spots = [*series.path[::step], series.path[-1]]
                traced += list(pairwise(self._pixel(self._place(spot)) for spot in spots))
        return [*super()._segments(), *traced]
