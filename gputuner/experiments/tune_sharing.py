"""Tune, fourth part: two trainings at once, alone before and after (A B A)."""

from collections.abc import Generator
from dataclasses import replace

from gputuner.analysis.contention import CoRun, co_run
from gputuner.analysis.limits import limit_flags
from gputuner.analysis.trials import repeats_of
from gputuner.experiments.course import Course
from gputuner.experiments.trained import STEPS_WANTED, Setting, Trained, spec_of, train_point, train_work
from gputuner.experiments.tune_shape import Shape
from gputuner.experiments.tune_training import NEAR_LIMIT
from gputuner.model.points import Conditions, Flag, Point
from gputuner.model.readings import Scalar
from gputuner.model.steps import Done, Step, StepResult, Together, Trial, told_params

JOBS = 2
WARM_S = 1.5
"""Warm-up before each of the three, the same for all."""
LONGER_AT_MOST = 1.6
"""A step so long that the usual time gives no interval is measured up to this many times as long."""


def shared_batch(known: Trained, setting: Setting, batch: int) -> int | None:
    """The largest measured batch up to ``batch`` that fits ``JOBS`` times; None where none does."""
    fitting = [b for b in known.rates[setting] if b <= batch]
    if known.capacity_bytes is not None:
        room = NEAR_LIMIT * known.capacity_bytes / JOBS
        peaks = known.peaks.get(setting, {})
        fitting = [b for b in fitting if b in peaks and peaks[b] <= room]
    return max(fitting, default=None)


def sharing_cost(shape: Shape, known: Trained, setting: Setting, batch: int) -> float:
    """Expected seconds: alone, together (each step as long as ``JOBS`` alone) and alone again, a second process too."""

    def once(step_s: float) -> float:
        return 2.0 * step_s + max(shape.warmup_s, step_s) + max(_measure_s(shape, step_s), 3.0 * step_s)

    step = known.step_s(setting, batch) or 0.0
    return 2.0 * once(step) + once(JOBS * step) + shape.restart_s


def _measure_s(shape: Shape, step_s: float) -> float:
    """Seconds to measure steps of ``step_s``: enough of them for an interval, within bounds."""
    return min(max(shape.together_s, STEPS_WANTED * step_s), LONGER_AT_MOST * shape.together_s)


def sharing(
    course: Course, shape: Shape, known: Trained, setting: Setting, batch: int
) -> Generator[Step, StepResult, None]:
    """Alone, two at once, alone again; tells slowdowns and the gain against one after the other and the tuned batch.

    Alone the second process is alive too, and idle.
    """
    at = shared_batch(known, setting, batch)
    if at is None:
        yield from course.warn("sharing_does_not_fit", jobs=JOBS)
        return
    step_s = known.step_s(setting, at) or 0.0
    alone_s, together_s = _measure_s(shape, step_s), _measure_s(shape, JOBS * step_s)
    before = yield from _alone(course, shape, setting, at, alone_s)
    if before is None:
        return
    spec = spec_of(shape, setting, at)
    one = train_work(shape, setting, at, "train_together", together_s, warmup_s=WARM_S)
    works = (one,) * JOBS
    cost = together_s + shape.warmup_s + shape.restart_s
    result = yield from course.attempt(Together(label="train_together", works=works), cost)
    if not isinstance(result, Done) or len(result.trials) < JOBS:
        yield from course.warn("sharing_failed", jobs=JOBS)
        return
    after = yield from _alone(course, shape, setting, at, alone_s)
    found = co_run(result.trials, (before,), (after,) if after else (), repeats_of(course.points))
    if found is None:
        yield from course.warn("sharing_failed", jobs=JOBS)
        return
    threads = result.trials[0].notes.get("threads")
    params: dict[str, Scalar] = {
        **told_params(spec.params()),
        "jobs": JOBS,
        **({} if threads is None else {"threads": threads}),
    }
    tuned = max(known.rates[setting].values()) / known.rates[setting][at]
    yield from course.tell(*_points(course, shape, found, params, tuned, result.conditions, after is not None))


def _alone(
    course: Course, shape: Shape, setting: Setting, batch: int, measure_s: float
) -> Generator[Step, StepResult, Trial | None]:
    work = replace(train_work(shape, setting, batch, "train_alone", measure_s, warmup_s=WARM_S), idle=JOBS - 1)
    result = yield from course.attempt(work, measure_s + shape.warmup_s)
    if not isinstance(result, Done) or not result.trials or not result.trials[0].iteration_s:
        return None
    trial = result.trials[0]
    yield from course.tell(train_point(course, shape, work, trial, result.conditions, "alone"))
    return trial


def _points(
    course: Course,
    shape: Shape,
    found: CoRun,
    params: dict[str, Scalar],
    tuned: float,
    conditions: Conditions | None,
    aba: bool,
) -> tuple[Point, ...]:
    whole = [*limit_flags(conditions)]
    if conditions is None or conditions.samples == 0:
        whole.append(Flag.NO_TELEMETRY)
    if not found.valid:
        whole.append(Flag.IMPLAUSIBLE)
    slowdowns = tuple(
        course.make.figure(
            "co_run_slowdown",
            shape.subject.name,
            job.spread.median,
            "",
            {**params, "job": number},
            conditions=conditions,
            flags=[*job.flags, *whole],
            repeats=job.spread,
            extra={"solo_change": found.solo_change, "between_trials": found.between},
        )
        for number, job in enumerate(found.jobs, start=1)
    )
    gain = course.make.figure(
        "co_run_gain",
        shape.subject.name,
        found.gain,
        "",
        params,
        conditions=conditions,
        flags=[*found.flags, *whole],
        repeats=found.gain_spread,
        extra={
            "one_after_other": 1.0,
            "alone_tuned": tuned,
            "fairness": found.fairness,
            "solo_change": found.solo_change,
            "between_trials": found.between,
            "solo_after_measured": aba,
            "valid": found.valid,
            "common_s": found.common_s,
        },
    )
    return (*slowdowns, gain)
