# pyright: standard
"""The pictures of a tune run: batch size, peaks, sustained load, two at once."""

from PySide6.QtWidgets import QWidget

from gputuner.gui.pages.batch_pictures import BatchPlots
from gputuner.gui.pages.card_traces import CardTraces
from gputuner.gui.pages.pictures import Pictures, framed
from gputuner.gui.picture_names import LOAD_LABELS, NAMES
from gputuner.gui.plots.bars import Bars
from gputuner.gui.results import peak_groups, together_groups
from gputuner.gui.run_state import RunFacts
from gputuner.gui.theme import Theme
from gputuner.language.words import _


class TunePictures(Pictures):
    """One picture at a time, each filled from the facts of a run."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.batch = BatchPlots(theme, energy=False)
        self.rate, self.memory = self.batch.rate, self.batch.memory
        self.peaks = Bars(theme)
        self.together = Bars(theme)
        self.load = CardTraces(theme)
        self.temperature, self.power, self.clock = self.load.temperature, self.load.power, self.load.clock
        pages: dict[str, QWidget] = {
            "batch": self.batch.rate_over_memory(),
            "peak": framed(
                self.peaks,
                _("Measured against peak"),
                _("mark = sheet; outlined = from cold, before a limit takes hold"),
            ),
            "load": self.load,
            "together": framed(self.together, _("Two trainings on one card"), _("dashed = 1.00 ×")),
        }
        self.add_pages(pages)

    def filled(self, facts: RunFacts) -> list[str]:
        """The pictures that have something to show."""
        metrics = {point.metric for point in facts.points}
        there = {
            "batch": "train_throughput" in metrics,
            "peak": bool(metrics & {"matmul_rate", "copy_bandwidth"}),
            "load": any(step.label in LOAD_LABELS for step in facts.steps),
            "together": bool(metrics & {"co_run_gain", "co_run_slowdown"}),
        }
        return [name for name in NAMES if there[name]]

    def show_facts(self, facts: RunFacts) -> None:
        """Fill all pictures from figures."""
        self.batch.show_facts(facts)
        self.peaks.show_groups(peak_groups(facts, self._theme))
        self.together.show_groups(together_groups(facts, self._theme))
        self.show_trace(facts)

    def show_trace(self, facts: RunFacts) -> None:
        """Fill the picture of the sustained load from telemetry."""
        self.load.show_stretch(facts, next((s for s in map(facts.step_stretch, LOAD_LABELS) if s is not None), None))

    def mark(self, point_ids: frozenset[str]) -> None:
        """Mark figures as evidence in every picture."""
        self.batch.mark(point_ids)
        self.peaks.mark(point_ids)
        self.together.mark(point_ids)

    def picture_with(self, point_ids: frozenset[str]) -> str | None:
        """The first picture that can show one of these figures."""
        bars = {"peak": self.peaks, "together": self.together}
        if self.batch.shows(point_ids):
            return "batch"
        for name, picture in bars.items():
            if {row.point_id for group in picture.groups for row in group.rows} & point_ids:
                return name
        return None
