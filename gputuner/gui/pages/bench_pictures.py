# pyright: standard
"""The pictures of a bench run: against peak, bandwidth over size, latency, regions, roofline, against another run."""

from collections.abc import Callable

from PySide6.QtWidgets import QScrollArea, QWidget

from gputuner.gui.others import Others
from gputuner.gui.pages.bench_compare import ComparePicture
from gputuner.gui.pages.pictures import Pictures, framed
from gputuner.gui.plots.bars import Bars
from gputuner.gui.plots.curve_plot import CurvePlot
from gputuner.gui.plots.scales import decades, linear, sizes
from gputuner.gui.results_bench import bench_groups
from gputuner.gui.results_bench_text import bench_markdown, comparison_markdown
from gputuner.gui.results_curves import latency_curve, region_curve, size_sweep
from gputuner.gui.results_roofline import roofline, roofline_unit
from gputuner.gui.run_state import RunFacts
from gputuner.gui.theme import Theme
from gputuner.language.words import _


class BenchPictures(Pictures):
    """Filled from the figures as they come."""

    def __init__(self, theme: Theme, others: Others) -> None:
        super().__init__()
        self._theme = theme
        self.bars = Bars(theme, keyed=True)
        self._scroll = QScrollArea()
        self._scroll.setProperty("role", "clear")
        self._scroll.setWidgetResizable(True)
        self._scroll.setWidget(self.bars)
        self.sizes = CurvePlot(
            theme,
            _("Bandwidth over size"),
            _("GB/s read and written; bars: 95 % interval"),
            _("bytes touched"),
            sizes(),
            linear(),
            "GB/s",
        )
        self.latency = CurvePlot(
            theme, _("Latency over footprint"), _("ns for each access"), _("footprint"), sizes(), linear(), "ns"
        )
        self.regions = CurvePlot(
            theme,
            _("Bandwidth by region"),
            _("GB/s; an even card gives a level line; hatched: not reached"),
            _("offset in the VRAM, GiB"),
            linear(),
            linear(),
            "GB/s",
        )
        self.roofline = CurvePlot(theme, _("Roofline"), "", _("FLOP per byte"), decades(), decades(), "TFLOP/s")
        self.compare = ComparePicture(theme, others)
        self.compare.compared.connect(self.rows_changed)
        pages: dict[str, QWidget] = {
            "bars": framed(self._scroll, _("Measured against peak"), _("% = of the peak at the clock it ran")),
            "sizes": self.sizes,
            "latency": self.latency,
            "regions": self.regions,
            "roofline": self.roofline,
            "compare": self.compare,
        }
        self.add_pages(pages)

    def filled(self, facts: RunFacts) -> list[str]:
        """The pictures that have something to show."""
        there: dict[str, Callable[[], bool]] = {
            "bars": lambda: bool(facts.points),
            "sizes": lambda: len(self.sizes.dot_spots) > 1,
            "latency": lambda: len(self.latency.dot_spots) > 1,
            "regions": lambda: len(self.regions.dot_spots) > 1,
            "roofline": lambda: bool(self.roofline.series),
            "compare": lambda: bool(facts.points),
        }
        return [name for name, is_there in there.items() if is_there()]

    def show_facts(self, facts: RunFacts) -> None:
        """Fill all pictures from figures."""
        points, cards, theme = facts.points, facts.cards, self._theme
        self.bars.show_groups(bench_groups(points, theme))
        self.bars.setMinimumHeight(self.bars.sizeHint().height())
        for plot, picture in (
            (self.sizes, size_sweep(points, cards, theme)),
            (self.latency, latency_curve(points, cards, theme)),
            (self.regions, region_curve(points, cards, theme)),
            (self.roofline, roofline(points, theme)),
        ):
            plot.show_series(picture.series, picture.stretches, picture.uprights)
        self.roofline.show_unit(roofline_unit(points))
        self.compare.show_facts(facts)

    def mark(self, point_ids: frozenset[str]) -> None:
        """Mark figures as evidence in every picture."""
        for picture in (self.bars, self.sizes, self.latency, self.regions, self.roofline):
            picture.mark(point_ids)
        span = self.bars.marked_span()
        if span is not None:
            top, bottom = span
            self._scroll.ensureVisible(0, (top + bottom) // 2, 0, (bottom - top) * 2)

    def rows_of(self, name: str) -> tuple[str, ...]:
        """The figures of a picture that shows headlines of several groups, in its order."""
        if name == "roofline":
            return tuple(dot.point_id for series in self.roofline.series for dot in series.dots)
        if name == "compare":
            return tuple(row.point_id for group in self.compare.bars.groups for row in group.rows if row.point_id)
        return ()

    def markdown(self, facts: RunFacts) -> str:
        """The figures, or beside a comparison what it compares."""
        if self.current is self.compare and self.compare.differences:
            return comparison_markdown(self.compare.differences, self.compare.chooser.currentText())
        return bench_markdown(facts.points)

    def picture_with(self, point_ids: frozenset[str]) -> str | None:
        """The first picture that can show one of these figures."""
        if {row.point_id for group in self.bars.groups for row in group.rows} & point_ids:
            return "bars"
        curves = {"sizes": self.sizes, "latency": self.latency, "regions": self.regions}
        for name, plot in curves.items():
            if {dot.point_id for series in plot.series for dot in series.dots} & point_ids:
                return name
        return None
