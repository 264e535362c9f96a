"""Number format and switches of one training: which to turn for speed, which for memory, each measured (methods §5).

At one batch that fits in every format: formats first, then layout and ``torch.compile`` from the best of them, then
every other switch alone from there. What gains is measured again, A B B A, before it is recommended.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

from gputuner.experiments.advised import advised
from gputuner.experiments.batch import refuse_nothing
from gputuner.experiments.course import Course, RunEnds
from gputuner.experiments.minutes import check_minutes
from gputuner.experiments.protocol import PlanContext
from gputuner.experiments.subject import Subject, as_words, examined
from gputuner.experiments.switches_search import search, steps_expected
from gputuner.experiments.tune_shape import SHORT_S, Shape, full_shape
from gputuner.model.steps import Plan
from gputuner.workloads.specs import check_range


@dataclass(frozen=True, slots=True, kw_only=True)
class Switching:
    """Compare number formats and switches of one training."""

    name: ClassVar[str] = "switches"
    needs_worker: ClassVar[bool] = True

    workload: str = "resnet50"
    """A built-in training; not used with a recipe."""
    recipe: str = ""
    """``FILE.py:function`` or ``module:function`` that gives model, batch and loss; empty: the built-in."""
    folder: str = "."
    """What relative paths and modules of a recipe are looked for in."""
    images: bool = False
    """A recipe's input are images [n, channels, height, width]: both memory layouts are compared."""
    batch: int = 0
    """Samples per step at which all is compared; 0: one that fills the card and fits in every format."""
    compile: bool = True
    """Whether ``torch.compile`` is tried: it takes most of the time."""
    minutes: float = 6.0
    """Time budget, minutes."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense.

        Raises:
            UsageError: out of range, or no such training.
        """
        check_minutes(self.minutes)
        check_range("batch", self.batch, 0, 1 << 20)
        self.subject(cpu=False)

    def subject(self, *, cpu: bool) -> Subject:
        """The training that is examined.

        Raises:
            UsageError: there is none of that name, or the recipe's is malformed.
        """
        return examined(self.workload, self.recipe, self.folder, images=self.images, cpu=cpu)

    def command(self) -> str:
        """What runs it again, without minutes and card."""
        return f"batch {as_words(self.workload, self.recipe, self.folder)} --switches"

    def expected_s(self) -> float:
        """The time budget in seconds."""
        return self.minutes * 60.0

    def limited(self) -> bool:
        """It has a budget."""
        return True

    def plan(self, context: PlanContext) -> Plan:
        """The steps: a batch, formats, layout and compiler, the other switches, what gains again, memory, advice."""
        shape = self.shape(context)
        course = Course(context, shape.start_s, hurried=context.budget_s < SHORT_S)
        try:
            yield from course.total(steps_expected(course, shape), context.budget_s, known=False)
            yield from search(course, shape, batch=self.batch, compiling=self.compile)
        except RunEnds:
            pass
        refuse_nothing(course, shape)
        yield advised(course, command=self.command())

    def shape(self, context: PlanContext) -> Shape:
        """How long trials take on this card, and what is trained."""
        whole = full_shape(context)
        subject = self.subject(cpu=context.card.is_cpu)
        return replace(
            whole,
            subject=subject,
            start_s=0.0 if context.budget_s < SHORT_S else whole.start_s,
            first_batch=whole.first_batch if subject.name == "resnet50" else 2,
            layouts=subject.images,
        )
