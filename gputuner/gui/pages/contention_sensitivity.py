# pyright: standard
"""How a job suffers from probes that press on the card, and how much it presses on them: a curve for each probe."""

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from gputuner.gui.plots.curve_plot import CurvePlot
from gputuner.gui.plots.curves import Series
from gputuner.gui.plots.scales import Scale, free, linear
from gputuner.gui.results_pairs import Probed, pressure_series, probed
from gputuner.gui.theme import Theme
from gputuner.gui.widgets.entry_boxes import ChoiceBox
from gputuner.gui.widgets.labels import label
from gputuner.language.words import _
from gputuner.model.points import Point

BOTH = 900
"""From this width on (pixels) both sides are seen at once."""


class SensitivityPicture(QWidget):
    """A choice of the job; left what it suffers, right what it does to the probes."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setProperty("role", "clear")
        self._theme = theme
        self._points: list[Point] = []
        self.probed: list[Probed] = []
        self.chooser = ChoiceBox()
        self.chooser.setAccessibleName(_("job"))
        self.chooser.currentIndexChanged.connect(lambda _index: self._draw())

        def plot(title: str, unit: str) -> CurvePlot:
            scale: Scale = free(lambda value: f"{value:.2f}")
            return CurvePlot(
                theme,
                title,
                unit,
                _("load of the probe, %"),
                linear(lambda value: f"{100 * value:.0f}"),
                scale,
                _("slowdown, ×"),
            )

        self.suffers = plot(_("What it suffers"), _("beside a probe"))
        self.exerts = plot(_("What it does"), _("to the probe beside it"))
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(label(_("Job"), "muted"))
        head.addWidget(self.chooser, 1)
        group = QButtonGroup(self)
        self.sides: dict[str, QPushButton] = {}
        for name, words in (("suffers", _("What it suffers")), ("exerts", _("What it does"))):
            button = QPushButton(words)
            button.setCheckable(True)
            button.setProperty("segment", True)
            button.clicked.connect(lambda _checked=False: self._show_side())
            group.addButton(button)
            head.addWidget(button)
            self.sides[name] = button
        self.sides["suffers"].setChecked(True)
        plots = QHBoxLayout()
        plots.setSpacing(8)
        plots.addWidget(self.suffers, 1)
        plots.addWidget(self.exerts, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addLayout(head)
        layout.addLayout(plots, 1)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Both sides where they have room, else one of them."""
        super().resizeEvent(event)
        self._show_side()

    def _show_side(self) -> None:
        both = self.width() >= BOTH
        for name, plot in (("suffers", self.suffers), ("exerts", self.exerts)):
            self.sides[name].setHidden(both)
            plot.setVisible(both or self.sides[name].isChecked())

    def show_points(self, points: list[Point]) -> None:
        """Show the curves among these figures; the chosen job stays chosen."""
        self._points = points
        found = probed(points)
        if found != self.probed:
            chosen = self.chooser.currentIndex()
            self.probed = found
            self.chooser.blockSignals(True)
            self.chooser.clear()
            for entry in found:
                self.chooser.addItem(entry.words)
            self.chooser.setCurrentIndex(max(0, chosen) if found else -1)
            self.chooser.blockSignals(False)
        self._draw()

    def mark(self, point_ids: frozenset[str]) -> None:
        """Ring the dots of these points; the job that has one is chosen."""
        for number, of in enumerate(self.probed):
            dots = {dot.point_id for each in self._curves("pressure_sensitivity", of) for dot in each.dots}
            if dots & point_ids:
                self.chooser.setCurrentIndex(number)
                break
        self.suffers.mark(point_ids)
        self.exerts.mark(point_ids)

    def _curves(self, metric: str, of: Probed) -> list[Series]:
        return pressure_series(self._points, metric, of, self._theme)

    def _draw(self) -> None:
        index = self.chooser.currentIndex()
        if not 0 <= index < len(self.probed):
            return
        of = self.probed[index]
        for plot, metric in ((self.suffers, "pressure_sensitivity"), (self.exerts, "pressure_exerted")):
            curves = self._curves(metric, of)
            loads = {0.0, *(dot.x for series in curves for dot in series.dots)}
            plot.show_series(curves, ticks=sorted(loads))
