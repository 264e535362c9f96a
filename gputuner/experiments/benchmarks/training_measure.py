"""Measure one training: a batch that fits, one trial, a point; halved and tried again where memory runs out."""

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import TypeVar

from gputuner.analysis.steady import rate_is_steady
from gputuner.experiments.benchmarks.failed import failed
from gputuner.experiments.benchmarks.recording import rate
from gputuner.experiments.course import Course
from gputuner.experiments.phases import free_part, last_part
from gputuner.experiments.precisions import support
from gputuner.experiments.trained import skipped_share
from gputuner.model.cards import Support
from gputuner.model.points import Conditions, Flag, Point
from gputuner.model.readings import Scalar
from gputuner.model.steps import Done, Lost, OutOfMemory, Step, StepResult, Trial, UserCodeFailed, Work
from gputuner.workloads.specs_training import Training, flop_of, memory_of

USABLE = 0.85
"""Share of the free memory that a first trial is sized for: an out-of-memory costs a process."""
SETUP_S = 2.0
WARM_CPU_S = 1.5
NOT_FINITE = UserCodeFailed(message="the loss is no finite number", traceback="", reason="wrong_result")
BURST_S = 3.0
USUAL_SHARE = 0.35
"""Share of the sheet's peak that a training reaches, roughly: to guess how long a step takes."""
COLD_IDLE_S = 10.0
"""Idle before a cold burst (methods §1)."""
COMPILE_S, COMPILE_AT_MOST_S = 60.0, 100.0
AnyTraining = TypeVar("AnyTraining", bound=Training)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What was measured in the end: the spec with its batch, and the point."""

    spec: Training
    point: Point


def free_bytes(course: Course) -> int | None:
    """Memory that a trial may use, in bytes; None: not known."""
    return course.context.free_bytes or course.context.card.memory_total_bytes


def fitting(spec: AnyTraining, free: int | None) -> AnyTraining | None:
    """``spec`` with its batch halved until it fits into ``USABLE`` of ``free`` bytes; None: not one sample fits."""
    if free is None:
        return spec
    largest = memory_of(spec).largest(USABLE * free)
    batch = spec.batch
    while batch > largest and batch > 1:
        batch //= 2
    return replace(spec, batch=batch) if batch <= largest else None


def brisk(course: Course, spec: AnyTraining, most_s: float) -> AnyTraining:
    """``spec`` with its batch halved until a step should take at most ``most_s``, for an interval from many steps.

    A guess from the sheet's peak; where that is not known the batch stays.
    """
    peak = course.context.published.get(f"peak_{spec.precision}")
    if not peak:
        return spec
    batch = spec.batch
    while batch > 1 and batch * flop_of(spec) > most_s * USUAL_SHARE * peak:
        batch //= 2
    return replace(spec, batch=batch)


def work_of(spec: Training, measure_s: float, phase: str, *, cpu: bool, idle_s: float = 0.0) -> Work:
    """The trial. A burst starts cold; a sustained load warms up within what is measured."""
    warmup_s = {"burst": 0.0, "sustained": WARM_CPU_S}.get(phase, min(WARM_CPU_S, measure_s) if cpu else None)
    compiling = COMPILE_AT_MOST_S if spec.params().get("compile") is True else 0.0
    return Work(
        label=f"bench_{spec.workload}",
        workload=spec.workload,
        params=spec.params(),
        measure_s=measure_s,
        budget_s=4 * measure_s + 30.0 + compiling,
        idle_before_s=idle_s,
        warmup_s=warmup_s,
        size_param="batch",
    )


def cost_s(work: Work) -> float:
    """Seconds that a trial should take, warm-up and set-up included."""
    warm = work.measure_s if work.warmup_s is None else work.warmup_s
    compiling = COMPILE_S if work.params.get("compile") is True else 0.0
    return work.idle_before_s + SETUP_S + warm + work.measure_s + compiling


def measure(
    course: Course,
    benchmark: str,
    spec: Training,
    measure_s: float,
    phase: str = "steady",
    *,
    idle_s: float = 0.0,
    synthetic: float | None = None,
    dense: float | None = None,
    otherwise: Training | None = None,
) -> Generator[Step, StepResult, Measured | None]:
    """One training at the largest batch up to ``spec.batch`` that fits; tells its point, or why there is none.

    Args:
        course: the run's course.
        benchmark: name of the benchmark.
        spec: what to train, at its usual batch.
        measure_s: seconds to measure for.
        phase: ``burst``, ``sustained``, ``steady`` …
        idle_s: seconds to idle before.
        synthetic: of a fed training the rate with synthetic input, for the share that feeding costs.
        dense: of one with sparse weights the rate with dense ones, for the gain.
        otherwise: the training to measure where ``spec`` cannot be performed here.
    """
    fits = fitting(spec, free_bytes(course))
    if fits is None:
        line = memory_of(spec)
        needs = int(line.fixed_bytes + line.sample_bytes)
        yield from course.warn(
            "benchmark_failed",
            benchmark=benchmark,
            reason="memory_too_small",
            setting=_setting(spec),
            needs_bytes=needs,
        )
        return None
    cpu = course.context.card.is_cpu
    while True:
        work = work_of(fits, measure_s, phase, cpu=cpu, idle_s=idle_s)
        result = yield from course.attempt(work, cost_s(work))
        match result:
            case OutOfMemory() if fits.batch > 1:
                fits = replace(fits, batch=fits.batch // 2)
                continue
            case UserCodeFailed() | Lost() if otherwise is not None:
                fits, otherwise = replace(otherwise, batch=fits.batch), None
                continue
            case Done(trials=(trial, *_)) if trial.notes.get("loss_finite") is False:
                yield from failed(course, benchmark, NOT_FINITE, setting=_setting(fits))
            case Done(trials=(trial, *_), conditions=conditions) if trial.iteration_s:
                point = point_of(course, benchmark, work, trial, conditions, phase)
                point = _compared(point, synthetic, dense)
                yield from course.tell(point)
                return Measured(spec=fits, point=point)
            case _:
                yield from failed(course, benchmark, result, setting=_setting(fits))
        return None


def _setting(spec: Training) -> str:
    """What tells one setting of a benchmark from the others."""
    return " ".join(str(value) for value in spec.params().values() if isinstance(value, str))


def point_of(
    course: Course,
    benchmark: str,
    work: Work,
    trial: Trial,
    conditions: Conditions | None,
    phase: str,
) -> Point:
    """The rate in samples/s. Steps that a gradient scaler skipped are no work done.

    Of a burst only the windows before a limit took hold count, of a sustained load the last 30 s.
    """
    if phase == "burst":
        trial, conditions = free_part(trial, conditions)
    elif phase == "sustained":
        part = last_part(trial)
        trial = replace(trial, iteration_s=part, steady=rate_is_steady(part))
    done = 1.0 - skipped_share(trial)
    trial = replace(trial, work={name: amount * done for name, amount in trial.work.items()})
    batch = int(trial.notes.get("measured_batch", work.params["batch"]))
    params: dict[str, Scalar] = {**work.params, "batch": batch, "phase": phase}
    point = rate(
        course,
        benchmark,
        "train_throughput",
        "samples/s",
        "samples",
        trial,
        conditions,
        params,
        flags=_flags(course, work, trial),
    )
    tokens = trial.work.get("tokens")
    if not tokens:
        return point
    per_sample = tokens / trial.work["samples"]
    return replace(point, extra={**point.extra, "tokens_per_s": point.value * per_sample})


def _compared(point: Point, synthetic: float | None, dense: float | None) -> Point:
    extra: dict[str, Scalar] = {}
    if synthetic:
        extra |= {"synthetic_rate": synthetic, "starvation_fraction": max(0.0, 1.0 - point.value / synthetic)}
    if dense:
        extra |= {"dense_rate": dense, "sparse_gain": point.value / dense}
    return replace(point, extra={**point.extra, **extra}) if extra else point


def _flags(course: Course, work: Work, trial: Trial) -> tuple[Flag, ...]:
    flags: list[Flag] = []
    precision = work.params["precision"]
    if precision in ("fp32", "tf32", "fp16", "bf16") and support(course.context, precision) is Support.EMULATED:
        flags.append(Flag.EMULATED)
    return tuple(flags)
