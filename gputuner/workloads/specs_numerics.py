"""One run of the numerical check as a spec: a training's own spec, and how many steps from which start."""

from dataclasses import dataclass
from typing import ClassVar

from gputuner.model.readings import Scalar
from gputuner.workloads.specs import check_range
from gputuner.workloads.specs_recipe import RecipeSpec
from gputuner.workloads.specs_training import Training

MOST_STEPS = 1000
MOST_DRAWS = 16
MOST_TWINS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class NumericsSpec:
    """``steps`` optimizer steps of ``training`` on ``batches`` batches that come in turn."""

    workload: ClassVar[str] = "numerics"
    training: Training | RecipeSpec
    steps: int = 100
    batches: int = 8
    draw: int = 0
    """Which start and order of the batches; 0 is the one that all number formats share."""
    twin: int = 0
    """Which run of that start: others than 0 begin with weights that are rounded otherwise."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense.

        Raises:
            UsageError: a value is out of range.
        """
        check_range("steps", self.steps, 1, MOST_STEPS)
        check_range("batches", self.batches, 1, 256)
        check_range("draw", self.draw, 0, MOST_DRAWS)
        check_range("twin", self.twin, 0, MOST_TWINS)

    def params(self) -> dict[str, Scalar]:
        """The params as they cross the wire: the training's, and these."""
        return {
            **self.training.params(),
            "training": self.training.workload,
            "steps": self.steps,
            "batches": self.batches,
            "draw": self.draw,
            "twin": self.twin,
        }
