"""The way up of a training that nobody knows: short looks four-fold apart, then rates where it is fast.

A ladder of measured doublings from two samples up would spend half a minute on sizes that nobody should train at. A
look is as short as a check of a size (``memory`` phase): its peak counts for the memory line, its rate only shows where
to measure.
"""

from collections.abc import Generator

from gputuner.analysis.throughput import comparison_batch
from gputuner.experiments.course import Attempt, Course
from gputuner.experiments.trained import Setting, Trained, check, check_cost, probe
from gputuner.experiments.tune_shape import Shape
from gputuner.experiments.tune_training import first_failed, has_room, is_hole
from gputuner.model.steps import Done, OutOfMemory, Step, StepResult

APART = 4
"""The next look is at so many times the size."""
LEVELS_OFF = 1.1
"""Where four times the size is not this many times as fast, the rest of the way is left to measured rates."""


def first_look(
    course: Course, shape: Shape, known: Trained, setting: Setting
) -> Generator[Step, StepResult, tuple[int, Attempt]]:
    """The first size that ran, smaller where the first does not fit, and how it ended."""
    batch = shape.first_batch
    while True:
        result = yield from look(course, shape, known, setting, batch)
        if isinstance(result, Done) and setting in known.ran:
            return batch, result
        smaller = yield from first_failed(course, shape, result, batch)
        if smaller is None:
            return batch, result
        batch = smaller


def look(
    course: Course, shape: Shape, known: Trained, setting: Setting, batch: int
) -> Generator[Step, StepResult, Attempt]:
    """Run ``batch`` just long enough for its peak and a rough rate."""
    return (yield from check(course, shape, known, setting, batch, label="train_memory", phase="memory"))


def climb(
    course: Course, shape: Shape, known: Trained, setting: Setting, keep_s: float, others: int
) -> Generator[Step, StepResult, Attempt]:
    """Up until the rate levels off or memory ends, then the smallest size that is about as fast, measured.

    Where that fails, once more at half of it; if that fails too, the setting has no rate.

    Takes the place of the ladder of ``tune_training``: the sizes around are measured by what follows there.
    """
    batch, result = yield from first_look(course, shape, known, setting)
    if setting not in known.ran:
        return result
    holes = 0
    while (following := _next(course, shape, known, setting, batch, keep_s)) is not None:
        result = yield from look(course, shape, known, setting, following)
        if isinstance(result, OutOfMemory) and holes == 0 and is_hole(known, setting, following):
            holes += 1
            yield from course.warn("batch_hole", batch=following, precision=setting.precision)
        elif not isinstance(result, Done) or following not in known.ran[setting] or result.trials[0].too_slow:
            break
        batch = following
    if isinstance(result, OutOfMemory) and len(known.ran[setting]) < 2:
        yield from look(course, shape, known, setting, max(known.least, batch // 2))
    known.rates.pop(setting, None)  # those of looks are cold and short: none may be recommended
    batch = comparison_batch(known.ran[setting])
    for size in (batch, max(known.least, batch // 2)):
        result = yield from probe(course, shape, known, setting, size)
        if setting in known.rates:
            break
    return result


def _next(course: Course, shape: Shape, known: Trained, setting: Setting, batch: int, keep_s: float) -> int | None:
    """The size of the next look; None where the way up ends."""
    rates, most = known.ran[setting], min(shape.last_batch, known.most)
    before = max((size for size in rates if size < batch), default=None)
    level = before is not None and batch >= APART * before and rates.get(batch, 0.0) < LEVELS_OFF * rates[before]
    if level and batch in rates:
        return None
    roomy = [size for size in (batch * APART, batch * 2) if size <= most and has_room(known, setting, size)]
    if not roomy or not course.fits(check_cost(shape, known, setting, roomy[0]), keep_s):
        return None
    return roomy[0]
