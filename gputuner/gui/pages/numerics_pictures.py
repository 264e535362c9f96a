# pyright: standard
"""The pictures of a numerical check: losses beside the FP32 band, the gradient scale of FP16, activations."""

from gputuner.gui.pages.pictures import Pictures, column, framed
from gputuner.gui.plots.bars import Bars
from gputuner.gui.plots.curve_plot import CurvePlot
from gputuner.gui.plots.scales import doublings, free, linear
from gputuner.gui.results_numerics import activation_groups, difference_picture, listed, loss_picture, scale_picture
from gputuner.gui.results_text import markdown
from gputuner.gui.run_state import RunFacts
from gputuner.gui.theme import Theme
from gputuner.language.words import _


class NumericsPictures(Pictures):
    """Filled from the figures as they come."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        step = _("optimizer step")
        told = _("smoothed; grey: where FP32 lies by itself")
        self.losses = CurvePlot(theme, _("Loss of each format"), told, step, linear(), free())
        apart = _("of the loss; grey: where FP32 lies by itself")
        self.difference = CurvePlot(theme, _("Difference to FP32"), apart, step, linear(), free())
        self.scale = CurvePlot(
            theme, _("Gradient scale"), _("of FP16's scaler; ringed = step skipped"), step, linear(), doublings()
        )
        self.activations = Bars(theme)
        against = _("logarithmic; dashed = 65504, FP16's largest number")
        self.add_pages(
            {
                "loss": column((self.losses, 1), (self.difference, 1)),
                "scale": self.scale,
                "activations": framed(self.activations, _("Largest activations"), against),
            }
        )

    def filled(self, facts: RunFacts) -> list[str]:
        """The pictures that have something to show."""
        there = {
            "loss": bool(self.losses.series),
            "scale": bool(self.scale.series),
            "activations": bool(self.activations.groups),
        }
        return [name for name, filled in there.items() if filled]

    def show_facts(self, facts: RunFacts) -> None:
        """Fill all pictures from figures."""
        losses, scale = loss_picture(facts.points, self._theme), scale_picture(facts.points, self._theme)
        self.losses.show_series(losses.series, areas=losses.areas)
        apart = difference_picture(facts.points, self._theme)
        self.difference.setVisible(bool(apart.series))
        self.difference.show_series(apart.series, areas=apart.areas)
        self.scale.show_series(scale.series)
        self.activations.show_groups(activation_groups(facts.points, self._theme))

    def mark(self, point_ids: frozenset[str]) -> None:
        """Mark figures as evidence."""
        self.losses.mark(point_ids)
        self.difference.mark(point_ids)
        self.activations.mark(point_ids)

    def markdown(self, facts: RunFacts) -> str:
        """The judgements and what was found, without the curves."""
        return markdown(listed(facts.points))

    def picture_with(self, point_ids: frozenset[str]) -> str | None:
        """The picture that has one of these figures; a judgement is about the losses."""
        rows = {row.point_id for group in self.activations.groups for row in group.rows}
        return "activations" if rows & point_ids else "loss"
