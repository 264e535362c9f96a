# pyright: standard
"""The pictures of formats and switches: rate and memory of every setting at one batch."""

from PySide6.QtWidgets import QScrollArea

from gputuner.gui.pages.pictures import Pictures, framed
from gputuner.gui.plots.bars import Bars
from gputuner.gui.plots.frame import PictureFrame
from gputuner.gui.results_switches import memory_groups, rate_groups
from gputuner.gui.run_state import RunFacts
from gputuner.gui.theme import Theme
from gputuner.language.words import _


class SwitchesPictures(Pictures):
    """Filled from the figures as they come."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.rates, self.memory = Bars(theme), Bars(theme)
        self._answers: tuple[str, ...] = ()
        rated = _("✓ = advised, dashed = plain FP32 or TF32; … + one switch more")
        saved = _("✓ = advised, dashed = plain FP32 or TF32")
        self.add_pages(
            {
                "rate": scrolled(self.rates, _("Rate of each setting"), rated),
                "memory": scrolled(self.memory, _("Memory of each setting"), saved),
            }
        )

    def filled(self, facts: RunFacts) -> list[str]:
        """The pictures that have something to show."""
        there = {"rate": self.rates, "memory": self.memory}
        return [name for name, bars in there.items() if bars.groups]

    def show_facts(self, facts: RunFacts) -> None:
        """Fill both from figures."""
        self.rates.show_groups(rate_groups(facts.points, self._theme))
        self.memory.show_groups(memory_groups(facts.points, self._theme))
        self._answers = tuple(point.id for point in facts.points if point.metric == "switches_gain")
        for bars in (self.rates, self.memory):
            bars.setMinimumHeight(bars.sizeHint().height() if bars.groups else 0)

    def mark(self, point_ids: frozenset[str]) -> None:
        """Mark figures as evidence in both."""
        self.rates.mark(point_ids)
        self.memory.mark(point_ids)

    def rows_of(self, name: str) -> tuple[str, ...]:
        """Ids of the figures that the picture shows, in its order."""
        bars = self.rates if name == "rate" else self.memory
        return self._answers + tuple(row.point_id for group in bars.groups for row in group.rows)

    def picture_with(self, point_ids: frozenset[str]) -> str | None:
        """The rates have a bar for every setting."""
        return "rate" if set(self.rows_of("rate")) & point_ids else None


def scrolled(bars: Bars, title: str, unit: str) -> PictureFrame:
    """Bars in a frame that scrolls where they are many."""
    scroll = QScrollArea()
    scroll.setProperty("role", "clear")
    scroll.setWidgetResizable(True)
    scroll.setWidget(bars)
    return framed(scroll, title, unit)
