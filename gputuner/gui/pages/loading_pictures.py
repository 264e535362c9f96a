# pyright: standard
"""The pictures of data loading: rate against worker processes, and the training with each setting."""

from gputuner.gui.pages.pictures import Pictures
from gputuner.gui.pages.switches_pictures import scrolled
from gputuner.gui.plots.bars import Bars
from gputuner.gui.plots.curve_plot import CurvePlot
from gputuner.gui.plots.scales import linear
from gputuner.gui.results_loading import setting_groups, workers_picture
from gputuner.gui.run_state import RunFacts
from gputuner.gui.theme import Theme
from gputuner.language.words import _


class LoadingPictures(Pictures):
    """Filled from the figures as they come."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.workers = CurvePlot(
            theme,
            _("Rate against worker processes"),
            _("samples/s; bars: 95 % interval"),
            _("worker processes of the loader"),
            linear(),
            linear(),
        )
        self.settings = Bars(theme)
        self._answers: tuple[str, ...] = ()
        told = _("dashed: without waiting for data")
        self.add_pages(
            {"workers": self.workers, "settings": scrolled(self.settings, _("Training with each setting"), told)}
        )

    def filled(self, facts: RunFacts) -> list[str]:
        """The pictures that have something to show."""
        there = {"workers": bool(self.workers.series), "settings": bool(self.settings.groups)}
        return [name for name, filled in there.items() if filled]

    def show_facts(self, facts: RunFacts) -> None:
        """Fill both from figures."""
        self._answers = tuple(point.id for point in facts.points if point.metric == "loader_best")
        picture = workers_picture(facts.points, self._theme)
        self.workers.show_series(picture.series, uprights=picture.uprights, areas=picture.areas, ticks=picture.ticks)
        ringed = any(dot.hollow for series in picture.series for dot in series.dots)
        self.workers.show_unit(
            _("samples/s; ringed: other switches") if ringed else _("samples/s; bars: 95 % interval")
        )
        self.settings.show_groups(setting_groups(facts.points, self._theme))
        self.settings.setMinimumHeight(self.settings.sizeHint().height() if self.settings.groups else 0)

    def mark(self, point_ids: frozenset[str]) -> None:
        """Mark figures as evidence in both."""
        self.workers.mark(point_ids)
        self.settings.mark(point_ids)

    def rows_of(self, name: str) -> tuple[str, ...]:
        """Ids of the figures that the picture shows, in its order."""
        if name == "settings":
            return self._answers + tuple(row.point_id for group in self.settings.groups for row in group.rows)
        return self._answers + tuple(dot.point_id for series in self.workers.series for dot in series.dots)

    def picture_with(self, point_ids: frozenset[str]) -> str | None:
        """The first picture that can show one of these figures."""
        return "workers" if set(self.rows_of("workers")) & point_ids else None
