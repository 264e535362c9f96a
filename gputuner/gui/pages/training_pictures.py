# pyright: standard
"""The pictures of a batch run: rate and energy against batch, memory against batch, the number formats at one batch."""

from gputuner.gui.pages.batch_pictures import BatchPlots
from gputuner.gui.pages.pictures import Pictures, framed
from gputuner.gui.plots.bars import Bars
from gputuner.gui.results_formats import format_groups
from gputuner.gui.run_state import RunFacts
from gputuner.gui.theme import Theme
from gputuner.language.words import _


class TrainingPictures(Pictures):
    """Filled from the figures as they come."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.batch = BatchPlots(theme, energy=True)
        self.formats = Bars(theme)
        self._answers: tuple[str, ...] = ()
        self._memory_only = False
        framing = framed(self.formats, _("Number formats at one batch"), _("bars: 95 % interval, dashed = FP32"))
        self.add_pages({"batch": self.batch.rate_over_energy(), "memory": self.batch.memory, "formats": framing})

    def filled(self, facts: RunFacts) -> list[str]:
        """The pictures that have something to show."""
        measured = any(point.metric == "train_throughput" for point in facts.points)
        there = {"batch": measured and not self._memory_only, "memory": measured, "formats": bool(self.formats.groups)}
        return [name for name, filled in there.items() if filled]

    def show_facts(self, facts: RunFacts) -> None:
        """Fill all pictures from figures."""
        self._answers = tuple(point.id for point in facts.points if point.metric.startswith("batch_"))
        self._memory_only = self.batch.show_facts(facts).memory_only
        self.formats.show_groups(format_groups(facts, self._theme))

    def mark(self, point_ids: frozenset[str]) -> None:
        """Mark figures as evidence in all."""
        self.batch.mark(point_ids)
        self.formats.mark(point_ids)

    def rows_of(self, name: str) -> tuple[str, ...]:
        """Ids of the figures that are compared; over batch the answers, once there are any."""
        if name != "formats":
            return self._answers
        return tuple(row.point_id for group in self.formats.groups[:1] for row in group.rows)

    def picture_with(self, point_ids: frozenset[str]) -> str | None:
        """The first picture that can show one of these figures."""
        if not self.batch.shows(point_ids):
            return None
        return "memory" if self._memory_only else "batch"
