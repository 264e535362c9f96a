"""Batch size and number format of one training, a built-in or the user's own: limit, safe and fastest, kept apart.

The training climbs over batches in its first format (on a card by short looks, see ``batch_climb``); the others are
compared where it is fast; the limit is predicted from the line of peak memory against batch, confirmed just below and
checked just above (methods §3, §4).
With ``limit_only`` two small probes take the place of the ladder, and only limit and safe batch are told.
"""

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import ClassVar

from gputuner.experiments.advised import advised
from gputuner.experiments.batch_climb import climb, first_look, look
from gputuner.experiments.batch_energy import energy
from gputuner.experiments.course import Course, RunEnds
from gputuner.experiments.failed_training import refuse, refuse_lost
from gputuner.experiments.minutes import check_minutes
from gputuner.experiments.protocol import PlanContext
from gputuner.experiments.subject import Subject, as_words, examined
from gputuner.experiments.trained import Setting, Trained, check_cost
from gputuner.experiments.tune import LEAST_TRAINING_S
from gputuner.experiments.tune_limit import fastest_points, limit
from gputuner.experiments.tune_shape import SHORT_S, Shape, full_shape
from gputuner.experiments.tune_training import ladder, memory_short, skipped, training, usual_layout
from gputuner.model.errors import DoesNotFit
from gputuner.model.steps import Done, Lost, OutOfMemory, Plan, Step, StepResult, UserCodeFailed
from gputuner.workloads.specs import PRECISIONS, Precision, check_precision, check_range

FIRST_BATCH, LAST_BATCH, FIRST_OF_RECIPE = 1, 1 << 16, 2
"""Of a training that nobody knows: small enough for a large model, and no end but the memory's."""
PROBE_STEP, FURTHER, NOTICEABLE = 4, 8, 0.05
"""The second probe for the limit is so many times as large as the first, a next one so many times as that, until the
samples take this share beside what is there without any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Find batch size and precision of one training."""

    name: ClassVar[str] = "batch"
    needs_worker: ClassVar[bool] = True

    workload: str = "resnet50"
    """A built-in training; not used with a recipe."""
    recipe: str = ""
    """``FILE.py:function`` or ``module:function`` that gives model, batch and loss; empty: the built-in."""
    folder: str = "."
    """What relative paths and modules of a recipe are looked for in."""
    precision: str = ""
    """The only number format to measure; empty: all that the card computes."""
    images: bool = False
    """A recipe's input are images [n, channels, height, width]: both memory layouts are compared."""
    limit_only: bool = False
    """Only what fits, without rates."""
    minutes: float = 4.0
    """Time budget, minutes."""
    effective_batch: int = 0
    """Samples per optimizer step that gradient accumulation is to keep; 0: nobody asks for it."""
    largest_batch: int = 0
    """No larger batch is tried or advised; 0: as large as fits."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense.

        Raises:
            UsageError: out of range, or no such training or format.
        """
        check_minutes(self.minutes)
        if self.precision:
            check_precision(self.precision)
        check_range("effective_batch", self.effective_batch, 0, 1 << 20)
        check_range("largest_batch", self.largest_batch, 0, 1 << 20)
        self.subject(cpu=False)

    def subject(self, *, cpu: bool) -> Subject:
        """The training that is examined.

        Raises:
            UsageError: there is none of that name, or the recipe's is malformed.
        """
        return examined(self.workload, self.recipe, self.folder, images=self.images, cpu=cpu)

    def command(self) -> str:
        """What runs it again, without minutes and card."""
        return f"{self.name} {as_words(self.workload, self.recipe, self.folder)}"

    def expected_s(self) -> float:
        """The time budget in seconds."""
        return self.minutes * 60.0

    def limited(self) -> bool:
        """It has a budget."""
        return True

    def plan(self, context: PlanContext) -> Plan:
        """The steps: rates and memory over batch and format, limit, advice."""
        shape = self.shape(context)
        course = Course(context, shape.start_s, hurried=context.budget_s < SHORT_S)
        try:
            yield from course.total(shape.steps(), min(shape.expected_s(), context.budget_s))
            yield from self._measured(course, shape)
        except RunEnds:
            pass
        refuse_nothing(course, shape)
        yield advised(course, command=self.command(), effective_batch=self.effective_batch)

    def shape(self, context: PlanContext) -> Shape:
        """What is measured and for how long."""
        cpu = context.card.is_cpu
        whole = full_shape(context)
        subject = self.subject(cpu=cpu)
        only: tuple[Precision, ...] = tuple(p for p in PRECISIONS if p == self.precision)
        usual = subject.name == "resnet50"
        first = whole.first_batch if usual else FIRST_OF_RECIPE if self.recipe else FIRST_BATCH
        return replace(
            whole,
            subject=subject,
            start_s=0.0 if context.budget_s < SHORT_S else whole.start_s,
            matmuls=(),
            bursts=(),
            copy_s=0.0,
            trainings=only or subject.formats(context),
            first_batch=min(first, self.largest_batch or first),
            last_batch=whole.last_batch if cpu and usual else LAST_BATCH,
            layouts=subject.images,
            together_s=0.0,
            sustained_s=0.0,
        )

    def _measured(self, course: Course, shape: Shape) -> Plan:
        known = Trained(asked_most=self.largest_batch or None)
        if course.left_s < LEAST_TRAINING_S:
            yield from skipped(course, "training", LEAST_TRAINING_S)
            return
        rated = False
        if self.limit_only:
            setting = yield from _probed(course, shape, known)
        else:
            way = ladder if shape.cpu else climb
            yield from training(course, shape, known, 0.3 * course.context.budget_s, way)
            best = known.best()
            setting, rated = best[0] if best else next(iter(known.ran), None), best is not None
        if setting is None:
            return
        yield from limit(course, shape, known, setting, 0.0, counted=self.limit_only)
        if rated:  # of a training that was only looked at nothing but the limit is told
            told = fastest_points(course, shape, setting)
            yield from course.tell(*told)
            most = next((int(p.value) for p in course.points if p.metric == "batch_safe"), 0)
            for point in told:
                yield from energy(course, shape, known, setting, int(point.value), most)


def refuse_nothing(course: Course, shape: Shape, batch: int | None = None) -> None:
    """End with an error where nothing was measured, and it is known why.

    ``batch``: the only one that was tried; None: down to one sample.

    Raises:
        DoesNotFit: not even one sample fits.
        UserCodeError: the training ended with an error of its own, or a recipe's process was lost.
        DeviceError: the process of a built-in training was lost.
    """
    name = shape.subject.name
    if course.points:
        return
    match course.last:
        case OutOfMemory():
            told = memory_short(course, course.last)
            if batch is not None:
                raise DoesNotFit(
                    "batch_does_not_fit", f"{name} does not fit at {batch}", workload=name, batch=batch, **told
                )
            raise DoesNotFit("nothing_fits", f"not even one sample of {name} fits", workload=name, **told)
        case UserCodeFailed():
            refuse(name, course.last)
        case Lost():
            refuse_lost(name, course.last)
        case _:
            return


def _probed(course: Course, shape: Shape, known: Trained) -> Generator[Step, StepResult, Setting | None]:
    """Peak memory of two small batches in the first format; None where not even one sample ran."""
    precision = shape.trainings[0]
    setting = Setting(precision=precision, channels_last=usual_layout(shape, precision))
    batch, _ = yield from first_look(course, shape, known, setting)
    if setting not in known.ran:
        return None
    size = min(batch * PROBE_STEP, known.most)
    result = yield from look(course, shape, known, setting, size)
    while isinstance(result, Done) and not _grows(known, setting, size) and size < known.most:
        size = min(size * FURTHER, known.most)
        if not course.fits(check_cost(shape, known, setting, size)):
            break
        result = yield from look(course, shape, known, setting, size)
    if isinstance(result, OutOfMemory) and batch > 1:
        yield from look(course, shape, known, setting, max(1, batch // 2))
    return setting


def _grows(known: Trained, setting: Setting, size: int) -> bool:
    """Whether the samples of the largest probe are seen beside what is there without any."""
    line = known.line(setting)
    return line is not None and line.per_sample_bytes * size > NOTICEABLE * max(1.0, line.fixed_bytes)
