"""Does another number format train as well as FP32? Loss trajectories of one training from one start, side by side.

A few FP32 runs with different seeds span a band; TF32, BF16 and FP16 with a gradient scaler start like the first of
them and see the same batches. What else goes wrong with formats is looked for on the way: operations that stay in FP32,
weights that lie in half precision, custom autograd Functions without autocast handling, activations near FP16's limit.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

from gputuner.experiments.advised import advised
from gputuner.experiments.course import RunEnds
from gputuner.experiments.failed_training import refuse_lost
from gputuner.experiments.minutes import check_minutes
from gputuner.experiments.numerics_check import LEAST_DRAWS, Check
from gputuner.experiments.protocol import PlanContext
from gputuner.experiments.subject import Subject, as_words, examined
from gputuner.model.errors import UsageError
from gputuner.model.steps import Lost, Plan
from gputuner.workloads.specs import check_precision, check_range
from gputuner.workloads.specs_numerics import MOST_DRAWS, MOST_STEPS


@dataclass(frozen=True, slots=True, kw_only=True)
class Numerics:
    """Check whether the number formats train one training as FP32 does."""

    name: ClassVar[str] = "numerics"
    needs_worker: ClassVar[bool] = True

    workload: str = "resnet50"
    """A built-in training; not used with a recipe."""
    recipe: str = ""
    """``FILE.py:function`` or ``module:function`` that gives model, batch and loss; empty: the built-in."""
    folder: str = "."
    """What relative paths and modules of a recipe are looked for in."""
    precision: str = ""
    """The only number format to compare with FP32; empty: all that the card computes."""
    batch: int = 0
    """Samples per step; 0: 32 on a card, 4 on a processor, fewer where these do not fit or take too long."""
    steps: int = 0
    """Optimizer steps of each run; 0: 200, or fewer as time allows."""
    seeds: int = 4
    """FP32 runs that span the band."""
    minutes: float = 4.0
    """Time budget, minutes."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense.

        Raises:
            UsageError: out of range, or no such training or format.
        """
        check_minutes(self.minutes)
        if self.precision:
            check_precision(self.precision)
        if self.precision == "fp32":
            raise UsageError("numerics_fp32", "fp32 is what the others are compared with")
        check_range("batch", self.batch, 0, 1 << 20)
        check_range("steps", self.steps, 0, MOST_STEPS)
        check_range("seeds", self.seeds, LEAST_DRAWS, MOST_DRAWS)
        self.subject(cpu=False)

    def subject(self, *, cpu: bool) -> Subject:
        """The training that is examined.

        Raises:
            UsageError: there is none of that name, or the recipe's is malformed.
        """
        return examined(self.workload, self.recipe, self.folder, images=False, cpu=cpu)

    def command(self) -> str:
        """What runs it again, without minutes and card."""
        return f"batch {as_words(self.workload, self.recipe, self.folder)} --numerics"

    def expected_s(self) -> float:
        """The time budget in seconds."""
        return self.minutes * 60.0

    def limited(self) -> bool:
        """It has a budget."""
        return True

    def plan(self, context: PlanContext) -> Plan:
        """The steps: a look, FP32 runs, one run of each format, advice."""
        check = Check(self, context)
        with suppress(RunEnds):
            yield from check.perform()
        course = check.course
        if not course.points and isinstance(course.last, Lost):
            refuse_lost(check.name, course.last)
        yield advised(course, command=self.command())
