"""Tune, second part: a training over batch and number format, with few probes.

The first format climbs a ladder of batches by doubling until a doubling gains less than 2 %, the predicted memory
limit is near, or the budget is short. The other formats, and the other layout of the best, are measured at the
fastest batch; a format that wins there gets its own fastest batch looked for around it.
"""

from collections.abc import Callable, Generator

from gputuner.analysis.throughput import FASTEST_WITHIN, KNEE_GAIN, comparison_batch
from gputuner.experiments.course import Attempt, Course
from gputuner.experiments.trained import Setting, Trained, probe, probe_cost, with_other_layout, with_precision
from gputuner.experiments.tune_shape import Shape
from gputuner.model.readings import Scalar
from gputuner.model.steps import Done, Lost, OutOfMemory, Step, StepResult, UserCodeFailed
from gputuner.workloads.specs import Precision

NEAR_LIMIT = 0.9
"""No ordinary probe goes above this share of the predicted limit: an out-of-memory costs a process."""
HOLE_BELOW = 0.8
"""An out-of-memory below this share of the predicted limit is out of line: a hole, not the limit."""
LEAST_KEPT_S = 0.05
"""Less than this kept for later is not worth a word."""
REFINE_AT_MOST = 4


def usual_layout(shape: Shape, precision: Precision) -> bool:
    """Channels-last, where tensor cores multiply images."""
    return shape.subject.images and not shape.cpu and precision in ("bf16", "fp16")


def ladder(
    course: Course, shape: Shape, known: Trained, setting: Setting, keep_s: float, others: int
) -> Generator[Step, StepResult, Attempt]:
    """The first format at doublings from the first batch on; returns how the last probe ended."""
    batch, holes = shape.first_batch, 0
    while True:
        result = yield from probe(course, shape, known, setting, batch)
        if setting not in known.rates:
            smaller = yield from first_failed(course, shape, result, batch)
            if smaller is None:
                return result
            batch = smaller
            continue
        if isinstance(result, OutOfMemory) and holes == 0 and is_hole(known, setting, batch):
            holes += 1
            yield from course.warn("batch_hole", batch=batch, precision=setting.precision)
        elif not isinstance(result, Done):
            return result
        if isinstance(result, Done) and any(t.too_slow for t in result.trials):
            return result
        following = _next_batch(course, shape, known, setting, batch, keep_s, others)
        if following is None:
            return result
        batch = following


Way = Callable[[Course, Shape, Trained, Setting, float, int], Generator[Step, StepResult, Attempt]]


def training(
    course: Course, shape: Shape, known: Trained, keep_s: float, way: Way = ladder
) -> Generator[Step, StepResult, None]:
    """The whole part; ``keep_s`` seconds of the budget stay for the parts after it; ``way``: up in the first format."""
    for position, precision in enumerate(shape.trainings):
        setting = Setting(precision=precision, channels_last=usual_layout(shape, precision))
        rest = shape.trainings[position + 1 :]
        result = yield from way(course, shape, known, setting, keep_s, len(rest))
        if known.rates:
            yield from _others(course, shape, known, rest, keep_s)
            yield from refine(course, shape, known, keep_s)
            return
        if not isinstance(result, UserCodeFailed) or result.reason != "unsupported":
            return
        yield from course.warn(
            "precision_skipped", precision=precision, workload=shape.subject.name, reason="unsupported"
        )


def first_failed(course: Course, shape: Shape, result: Attempt, batch: int) -> Generator[Step, StepResult, int | None]:
    """After a first probe that gave no rate: the smaller batch to try, or None where the ladder ends."""
    match result:
        case OutOfMemory() if batch > 1:
            return max(1, batch // 4)
        case OutOfMemory():
            extra = memory_short(course, result)
            yield from course.warn("does_not_fit", workload=shape.subject.name, batch=1, **extra)
        case UserCodeFailed(message=message, reason=reason) if reason != "unsupported":
            yield from course.warn("workload_failed", workload=shape.subject.name, message=message)
        case Done() | Lost() | UserCodeFailed():
            pass
    return None


def memory_short(course: Course, failed: OutOfMemory) -> dict[str, Scalar]:
    """What was free before a trial that ran out of memory, and what it needs at least, as far as both are known.

    What was free when it failed had been taken by the trial itself.
    """
    before = course.context.free_bytes
    free = before if before is not None else failed.free_bytes
    if free is None:
        return {}
    needed = failed.needed_bytes
    return {"free_bytes": free} if needed is None or needed <= free else {"free_bytes": free, "needed_bytes": needed}


def is_hole(known: Trained, setting: Setting, batch: int) -> bool:
    """Whether an out-of-memory at ``batch`` is out of line, well below the predicted limit."""
    limit = known.limit(setting)
    return limit is not None and batch <= HOLE_BELOW * limit


def has_room(known: Trained, setting: Setting, batch: int) -> bool:
    """Whether ``batch`` stays well below the predicted limit (or below twice a known peak where there is no line)."""
    limit = known.limit(setting)
    if limit is not None:
        return batch <= NEAR_LIMIT * limit
    peaks = known.peaks.get(setting, {})
    if not peaks or known.capacity_bytes is None:
        return True
    largest = max(peaks)
    return peaks[largest] * max(1.0, batch / largest) <= NEAR_LIMIT * known.capacity_bytes


def _next_batch(
    course: Course, shape: Shape, known: Trained, setting: Setting, batch: int, keep_s: float, others: int
) -> int | None:
    """The next rung, or None where the ladder ends; a second format is worth more than one more rung."""
    rates = known.rates[setting]
    following = batch * 2
    if following > min(shape.last_batch, known.most) or not has_room(known, setting, following):
        return None
    half = rates.get(batch // 2)
    if batch in rates and half is not None and len(rates) >= 3 and rates[batch] < half * (1.0 + KNEE_GAIN):
        return None
    cost = probe_cost(shape, known, setting, following)
    affordable = course.fits(cost, keep_s + min(others, 1) * cost)
    second = len(rates) < 2 and course.fits(cost)
    return following if second or affordable else None


def _others(
    course: Course, shape: Shape, known: Trained, precisions: tuple[Precision, ...], keep_s: float
) -> Generator[Step, StepResult, None]:
    """Other formats at a batch that fills the card in short steps, then the other layout of the best."""
    best = known.best()
    if best is None:
        return
    first = best[0]
    batch = comparison_batch(known.rates[first])
    for precision in precisions:
        setting = with_precision(first, precision)
        at = _fitting(known, first, precision, batch)
        cost = probe_cost(shape, known, setting, at)
        if not course.fits(cost, keep_s):
            yield from skipped(course, f"precision_{precision}", cost)
            continue
        result = yield from probe(course, shape, known, setting, at)
        if isinstance(result, UserCodeFailed):
            reason = "unsupported" if result.reason == "unsupported" else "failed"
            yield from course.warn("precision_skipped", precision=precision, workload=shape.subject.name, reason=reason)
    setting, _ = known.best() or best
    batch = comparison_batch(known.rates[setting])
    if shape.subject.images and course.fits(probe_cost(shape, known, setting, batch), keep_s):
        yield from probe(course, shape, known, with_other_layout(setting), batch)


def _fitting(known: Trained, first: Setting, precision: Precision, batch: int) -> int:
    """``batch``, or less where a 4-byte format would need up to twice the memory and may not fit."""
    line = known.line(first)
    if line is None or known.capacity_bytes is None or precision in ("fp16", "bf16"):
        return batch
    wide = 2.0 if first.precision in ("fp16", "bf16") else 1.0
    while batch > 1 and line.fixed_bytes + wide * line.per_sample_bytes * batch > NEAR_LIMIT * known.capacity_bytes:
        batch //= 2
    return batch


def refine(course: Course, shape: Shape, known: Trained, keep_s: float) -> Generator[Step, StepResult, None]:
    """Where the best setting is not the ladder's own, look for its fastest batch around what is known.

    Down while the smallest batch is still within 1.5 % of the best, up while the largest still gains 2 %; and once
    where people start from, so that the gain against it is measured.
    """
    for _ in range(REFINE_AT_MOST):
        best = known.best()
        if best is None:
            return
        setting, _ = best
        batch = _unexplored(shape, known, setting)
        if batch is None or not course.fits(probe_cost(shape, known, setting, batch), keep_s):
            return
        result = yield from probe(course, shape, known, setting, batch)
        if isinstance(result, OutOfMemory) and is_hole(known, setting, batch):
            yield from course.warn("batch_hole", batch=batch, precision=setting.precision)
        if not isinstance(result, Done) or batch not in known.rates[setting]:
            return


def _unexplored(shape: Shape, known: Trained, setting: Setting) -> int | None:
    rates = known.rates[setting]
    smallest, largest, top = min(rates), max(rates), max(rates.values())
    if smallest // 2 >= known.least and rates[smallest] >= (1.0 - FASTEST_WITHIN) * top:
        return smallest // 2
    half = rates.get(largest // 2)
    rising = half is None or rates[largest] >= half * (1.0 + KNEE_GAIN)
    if rising and 2 * largest <= min(shape.last_batch, known.most) and has_room(known, setting, 2 * largest):
        return 2 * largest
    return shape.usual_batch if shape.usual_batch < smallest else None


def skipped(course: Course, stage: str, needed_s: float, keep_s: float = 0.0) -> Generator[Step, StepResult, None]:
    """Tell that a part was left out because the time is short.

    Args:
        course: the run's.
        stage: the part.
        needed_s: seconds it takes.
        keep_s: seconds that were kept for what comes after it, as ``Course.fits`` was told.
    """
    times = {"needed_s": needed_s, "left_s": max(0.0, course.left_s), "keep_s": course.kept_s(keep_s)}
    told = {name: round(seconds, 1) for name, seconds in times.items() if name != "keep_s" or seconds >= LEAST_KEPT_S}
    yield from course.warn("stage_skipped", stage=stage, **told)
