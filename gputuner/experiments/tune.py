"""The main job: what this card does, what holds it back, and what to change, within a few minutes."""

from dataclasses import dataclass, replace
from typing import ClassVar

from gputuner.experiments.advised import advised
from gputuner.experiments.course import Course, RunEnds
from gputuner.experiments.minutes import check_minutes
from gputuner.experiments.protocol import PlanContext
from gputuner.experiments.trained import Setting, Trained
from gputuner.experiments.tune_limit import fastest_points, limit
from gputuner.experiments.tune_rates import rates
from gputuner.experiments.tune_shape import SHORT_S, Shape, shape_for
from gputuner.experiments.tune_sharing import sharing, sharing_cost
from gputuner.experiments.tune_sustained import SETTLE_S, sustained
from gputuner.experiments.tune_training import skipped, training
from gputuner.experiments.tune_turns import turns
from gputuner.model.errors import UsageError
from gputuner.model.steps import Plan

SUSTAINED_LEAST_S = 5.0
"""A shorter load says nothing of heat."""
KEPT_FOR_LOAD_S = 25.0
"""Kept back for the sustained load while the parts before it are fitted in."""
WASTEFUL = 0.85
"""A usual batch below this share of the best rate leaves room for a second job."""
END_SHARE = 0.04
"""Share of the budget left unused at the end: a plan has no clock, and the run must end in time."""
LEAST_TRAINING_S = 3.0
"""With less time left not even one training step is tried."""
SHORT_TOGETHER_S = 3.0
"""Two at once where the budget is small."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tune:
    """Measure a card and advise: matmul, copy, ResNet-50 over batch and number format, two at once, heat."""

    name: ClassVar[str] = "tune"
    needs_worker: ClassVar[bool] = True

    minutes: float = 5.0
    """Time budget, minutes; the plan shrinks to it. Less than one counts from when torch has loaded."""
    effective_batch: int = 0
    """Samples per optimizer step that gradient accumulation is to keep; 0: nobody asks for it."""
    seed: int = 0
    """Seed of the inputs."""
    quick: bool = False
    """Same run today; kept apart for the deeper experiments."""

    def __post_init__(self) -> None:
        """Refuse what makes no sense.

        Raises:
            UsageError: out of range.
        """
        check_minutes(self.minutes)
        if not 0 <= self.effective_batch <= 1 << 20:
            raise UsageError(
                "effective_batch_out_of_range",
                "the effective batch must lie between 1 and 1048576",
                value=self.effective_batch,
                low=1,
                high=1 << 20,
            )

    def expected_s(self) -> float:
        """The time budget in seconds."""
        return self.minutes * 60.0

    def limited(self) -> bool:
        """It has a budget."""
        return True

    def plan(self, context: PlanContext) -> Plan:
        """The steps: rates, training, limit, sharing, sustained load, advice."""
        shape = shape_for(context)
        short = context.budget_s < SHORT_S
        course = Course(context, shape.start_s, hurried=short)
        try:
            if short:
                yield from course.warn("budget_from_here", seconds=context.budget_s)
            yield from course.total(shape.steps(), shape.expected_s())
            yield from _measure(course, shape)
        except RunEnds:
            pass
        yield advised(course, threads=_threads(context), effective_batch=self.effective_batch)


def _measure(course: Course, shape: Shape) -> Plan:
    yield from rates(course, shape)
    known = Trained()
    after_training = shape.sharing_s() + min(shape.sustained_s, KEPT_FOR_LOAD_S)
    after_training = max(after_training, END_SHARE * course.context.budget_s)
    if course.left_s >= LEAST_TRAINING_S:
        yield from training(course, shape, known, after_training)
        yield from turns(course, shape, known, after_training)
    else:
        yield from skipped(course, "training", LEAST_TRAINING_S)
    best = known.best()
    if best is not None:
        setting, _ = best
        yield from limit(course, shape, known, setting, after_training)
        yield from course.tell(*fastest_points(course, shape, setting))
        best = known.best() or best
        yield from _share(course, shape, known, *best)
    seconds = min(
        shape.sustained_most_s,
        course.left_s - max(3.0, END_SHARE * course.context.budget_s) - shape.warmup_s - SETTLE_S,
    )
    if seconds >= SUSTAINED_LEAST_S:
        yield from sustained(course, shape, best, seconds)
    else:
        yield from skipped(course, "sustained", SUSTAINED_LEAST_S)


def _share(course: Course, shape: Shape, known: Trained, setting: Setting, batch: int) -> Plan:
    """Two at the fastest batch; then, if there is time for all, two at the batch people start from."""
    shape = replace(shape, together_s=shape.together_s or SHORT_TOGETHER_S)
    needed = sharing_cost(shape, known, setting, batch)
    if not course.fits(needed, min(shape.sustained_s, KEPT_FOR_LOAD_S)):
        yield from skipped(course, "sharing", needed)
        return
    yield from sharing(course, shape, known, setting, batch)
    usual, rates_known = shape.usual_batch, known.rates[setting]
    wasteful = usual in rates_known and rates_known[usual] < WASTEFUL * rates_known[batch]
    if wasteful and course.fits(needed, shape.sustained_most_s + 4 * SETTLE_S):
        yield from sharing(course, shape, known, setting, usual)


def _threads(context: PlanContext) -> int | None:
    threads = context.worker.get("threads")
    return threads if isinstance(threads, int) and not isinstance(threads, bool) else None
