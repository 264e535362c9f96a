"""Data loading of one training: how fast it eats, how fast its loader delivers, and which setting of it to take.

The batch is the one asked for, else the fastest of a short climb. Then: the demand, measured on batches of the loader
that lie ready in memory; the loader's setting of today, alone and with the training; processes up to the knee; the
other switches one at a time; today's setting and the advised one once more. All of the loader runs on this machine's
own processor. On a simulated card that cannot be: there a stand-in for a host delivers, and it is said.
"""

from collections.abc import Generator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import ClassVar

from gputuner.analysis.loading import pooled
from gputuner.experiments.advised import advised
from gputuner.experiments.batch import Batch
from gputuner.experiments.course import Course, RunEnds
from gputuner.experiments.failed_training import refuse, refuse_lost
from gputuner.experiments.loading_measure import Loaded, demand
from gputuner.experiments.loading_search import fewest_refused, search
from gputuner.experiments.minutes import check_minutes
from gputuner.experiments.protocol import PlanContext
from gputuner.experiments.subject import Subject
from gputuner.experiments.trained import Setting, Trained
from gputuner.experiments.tune_shape import SHORT_S, Shape
from gputuner.experiments.tune_training import training, usual_layout
from gputuner.model.cards import Origin
from gputuner.model.errors import DoesNotFit, UsageError
from gputuner.model.readings import Scalar
from gputuner.model.steps import Lost, OutOfMemory, Plan, Step, StepResult, UserCodeFailed
from gputuner.workloads.bodies.loader_room import HOST_MEMORY, SHARED_MEMORY
from gputuner.workloads.specs import PRECISIONS, Precision, check_precision, check_range
from gputuner.workloads.specs_loading import LoaderSetting, LoadingSpec
from gputuner.workloads.specs_recipe import RecipeSpec

CLIMB_SHARE = 0.3
"""Of the time for the climb to the fastest batch, where none is named."""
CARD_S, CPU_S = 4.0, 5.0
LEAST_S = 1.0
SETTINGS = 14
"""Measurements that a search takes, about."""
WITH_IMAGES = "resnet50"
"""The built-in training that has a loader: its samples are made from photographs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loading:
    """Find out how a training's data should be loaded."""

    name: ClassVar[str] = "loading"
    needs_worker: ClassVar[bool] = True

    workload: str = WITH_IMAGES
    """A built-in training; not used with a recipe."""
    recipe: str = ""
    """``FILE.py:function`` or ``module:function`` that also gives a loader or a data set; empty: the built-in."""
    folder: str = "."
    """What relative paths and modules of a recipe are looked for in."""
    batch: int = 0
    """Samples of a batch; 0: the fastest that a short climb finds."""
    precision: str = ""
    """Number format of the training; empty: the usual one of the card."""
    images: bool = False
    """A recipe's input are images [n, channels, height, width]."""
    minutes: float = 4.0
    """Time budget, minutes."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense.

        Raises:
            UsageError: out of range, or a built-in training without a loader.
        """
        check_minutes(self.minutes)
        if self.precision:
            check_precision(self.precision)
        if self.batch:
            check_range("batch", self.batch, 1, 1 << 20)
        self.subject(cpu=False)
        if not self.recipe and self.workload != WITH_IMAGES:
            raise UsageError(
                "loading_no_loader", f"{self.workload} has no loader of its own", workload=self.workload,
                known=WITH_IMAGES,
            )  # fmt: skip

    def subject(self, *, cpu: bool) -> Subject:
        """The training that is fed.

        Raises:
            UsageError: there is none of that name, or the recipe's is malformed.
        """
        return self._batches().subject(cpu=cpu)

    def _batches(self) -> Batch:
        """The same training, as the question of its batch."""
        return Batch(
            workload=self.workload,
            recipe=self.recipe,
            folder=self.folder,
            precision=self.precision,
            images=self.images,
            minutes=self.minutes,
        )

    def command(self) -> str:
        """What runs it again, without minutes and card."""
        batch = f" --batch-size {self.batch}" if self.batch else ""
        return f"{self._batches().command()} --loader{batch}"

    def expected_s(self) -> float:
        """The time budget in seconds."""
        return self.minutes * 60.0

    def limited(self) -> bool:
        """It has a budget."""
        return True

    def plan(self, context: PlanContext) -> Plan:
        """The steps: batch, demand, settings, advice."""
        shape = self._batches().shape(context)
        shape = replace(shape, trainings=shape.trainings[:1], layouts=False, verify=False)
        course = Course(context, shape.start_s, hurried=context.budget_s < SHORT_S)
        with suppress(RunEnds):
            yield from self._loaded(course, shape)
        _refuse_nothing(course, shape, self.batch or 1)
        kept = tuple(p for p in course.points if p.metric != "train_throughput")
        yield advised(course, command=self.command(), points=kept)

    def _loaded(self, course: Course, shape: Shape) -> Generator[Step, StepResult, None]:
        context = course.context
        base_s = min(CPU_S if shape.cpu else CARD_S, max(LEAST_S, context.budget_s / (2.0 * SETTINGS)))
        yield from course.total(SETTINGS, min(context.budget_s, 3.0 * SETTINGS * base_s), known=False)
        if context.card.origin is Origin.SIMULATED:
            yield from course.warn("loading_host_simulated")
        found = yield from self._batch(course, shape)
        if found is None:
            return
        setting, batch = found
        known = Loaded(spec=self._spec(shape, setting, batch), name=shape.subject.name, cpu=shape.cpu, base_s=base_s)
        if not (yield from demand(course, known)):
            return
        best = yield from search(course, known)
        if best is not None and known.fed.get(best):
            yield from _told(course, known, best)

    def _batch(self, course: Course, shape: Shape) -> Generator[Step, StepResult, tuple[Setting, int] | None]:
        """Format and batch of the training."""
        precision = shape.trainings[0]
        if self.batch:
            return Setting(precision=precision, channels_last=usual_layout(shape, precision)), self.batch
        known = Trained()
        yield from training(course, shape, known, (1.0 - CLIMB_SHARE) * course.context.budget_s)
        return known.best()

    def _spec(self, shape: Shape, setting: Setting, batch: int) -> LoadingSpec:
        made = shape.subject.make(batch, setting.precision, setting.channels_last)
        image = made.params().get("image") if not isinstance(made, RecipeSpec) else None
        return LoadingSpec(
            part="demand",
            batch=batch,
            precision=_format(setting.precision),
            channels_last=setting.channels_last,
            recipe=self.recipe,
            folder=self.folder,
            image=image if isinstance(image, int) else 224,
        )


def _format(name: str) -> Precision:
    return next(each for each in PRECISIONS if each == name)


def _told(course: Course, known: Loaded, best: LoaderSetting) -> Generator[Step, StepResult, None]:
    """Tell the setting to take, with what stood in the way of others."""
    points = known.fed[best]
    extra: dict[str, Scalar] = {"usual": best == known.usual, "measured": len(points)}
    for reason in (SHARED_MEMORY, HOST_MEMORY):
        refused = fewest_refused(known, reason)
        if refused is not None:
            setting, figures = refused
            extra |= {f"{reason}_workers": setting.workers, f"{reason}_prefetch": setting.prefetch}
            extra |= {f"{reason}_{name}": value for name, value in figures.items()}
    params: dict[str, Scalar] = {
        "batch": known.spec.batch, "precision": known.spec.precision, "channels_last": known.spec.channels_last,
        **best.named(),
    }  # fmt: skip
    yield from course.tell(
        course.make.figure("loader_best", known.name, pooled(points), "samples/s", params, extra=extra)
    )


def _refuse_nothing(course: Course, shape: Shape, batch: int) -> None:
    """End with an error where loading was not measured, and it is known why.

    Raises:
        DoesNotFit: the training does not fit.
        UserCodeError: training or loader ended with an error of its own, or a recipe's process was lost.
        DeviceError: the process of a built-in training was lost.
    """
    if any(point.metric in ("loader_demand", "loader_fed") for point in course.points):
        return
    name = shape.subject.name
    match course.last:
        case OutOfMemory():
            raise DoesNotFit(
                "loading_does_not_fit", f"{name} does not fit at batch {batch}", workload=name, batch=batch
            )
        case UserCodeFailed():
            refuse(name, course.last)
        case Lost():
            refuse_lost(name, course.last)
        case _:
            return
