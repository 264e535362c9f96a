"""Tune, first part: what the chip computes and moves: dense matmul (cold and steady) and device copy."""

from collections.abc import Generator
from dataclasses import replace

from gputuner.analysis.roofline import above_peak, card_peak_at_clock
from gputuner.experiments.course import Course
from gputuner.experiments.phases import free_part
from gputuner.experiments.precisions import support
from gputuner.experiments.tune_shape import Shape
from gputuner.model.cards import Support
from gputuner.model.points import Conditions, Flag, Point
from gputuner.model.readings import Scalar
from gputuner.model.steps import Done, Step, StepResult, Trial, UserCodeFailed, Work
from gputuner.workloads.specs import CopySpec, MatmulSpec, Precision

BURST_S = 0.2
"""Burst: the free stretch within the first 200 ms after at least 10 s of idling (methods §1)."""
EMULATED_BUDGET_S = 4.0
MANY_THREADS = 8
CLOCK_OVER = 1.01
"""A clock measured in band may lie above the card's highest by this factor; more is a faulty measurement."""
GIB = 1 << 30
CPU_COPY_BYTES = 512 << 20


def matmul_n(course: Course, shape: Shape, precision: Precision) -> int:
    """Side of the matrices: large enough to saturate the chip, small enough for one product to stay well under 1 s."""
    if shape.cpu:
        threads = course.context.worker.get("threads")
        return 2048 if isinstance(threads, int) and threads >= MANY_THREADS else 1024
    free = course.context.free_bytes
    return 4096 if precision == "fp32" or (free is not None and free < 2 * GIB) else 8192


def rates(course: Course, shape: Shape) -> Generator[Step, StepResult, None]:
    """Matmul bursts while the card is cold, then matmul steady per format, then copy."""
    failed: set[Precision] = set()
    for precision in shape.bursts:
        yield from _matmul(course, shape, precision, "burst", failed)
    for precision in shape.matmuls:
        if precision not in failed:
            yield from _matmul(course, shape, precision, "sustained", failed)
    yield from _copy(course, shape)


def _matmul(
    course: Course, shape: Shape, precision: Precision, phase: str, failed: set[Precision]
) -> Generator[Step, StepResult, None]:
    emulated = support(course.context, precision) is Support.EMULATED
    spec = MatmulSpec(precision=precision, n=matmul_n(course, shape, precision))
    burst = phase == "burst"
    work = Work(
        label="matmul_burst" if burst else "matmul",
        workload=spec.workload,
        params=spec.params(),
        measure_s=BURST_S if burst else shape.matmul_s,
        budget_s=EMULATED_BUDGET_S if emulated else max(10.0, 4 * shape.matmul_s),
        idle_before_s=shape.idle_s if burst else 0.0,
        warmup_s=0.0 if burst else None,
    )
    result = yield from course.attempt(work, work.idle_before_s + work.measure_s + 1.0)
    if isinstance(result, Done) and result.trials and result.trials[0].iteration_s:
        flags = (Flag.EMULATED,) if emulated else ()
        measured = result.trials[0].notes.get("measured_n", spec.n)
        params: dict[str, Scalar] = {**spec.params(), "n": measured, "phase": phase}
        yield from course.tell(matmul_point(course, result.trials[0], result.conditions, params, flags))
    elif not isinstance(result, Done):
        failed.add(precision)
        unsupported = isinstance(result, UserCodeFailed) and result.reason == "unsupported"
        reason = "unsupported" if unsupported else "failed"
        yield from course.warn("precision_skipped", precision=precision, workload="matmul", reason=reason)


def matmul_point(
    course: Course, trial: Trial, conditions: Conditions | None, params: dict[str, Scalar], flags: tuple[Flag, ...]
) -> Point:
    """A matmul rate in FLOP/s with its share of the peak at the clock it ran and of the sheet's peak.

    A burst is shorter than a polling interval, so only a clock measured in band (``clock_mhz`` of the trial) serves it.
    """
    n = params["n"]
    work = trial.work.get("flop", 2.0 * float(n) ** 3)
    if params["phase"] == "burst":
        trial, conditions = free_part(trial, conditions)
    point = course.make.rate("matmul_rate", "matmul", "FLOP/s", work, trial, conditions, params, flags=flags)
    extra = {**point.extra, **_shares(course, point.value, trial, conditions, params)}
    told = list(point.flags)
    if above_peak(extra):
        told.append(Flag.IMPLAUSIBLE)
    return replace(point, extra=extra, flags=tuple(told))


def _shares(
    course: Course, rate: float, trial: Trial, conditions: Conditions | None, params: dict[str, Scalar]
) -> dict[str, Scalar]:
    card, precision = course.context.card, str(params["precision"])
    sheet = course.context.published.get(f"peak_{precision}")
    shares: dict[str, Scalar] = {"fraction_of_sheet": rate / sheet} if sheet else {}
    highest = card.number("sm_clock_max_mhz")
    clock = _clock_mhz(trial, conditions, highest, burst=params["phase"] == "burst")
    peak = card_peak_at_clock(
        name=card.name,
        capability=card.compute_capability,
        sm_count=card.sm_count,
        precision=precision,
        clock_hz=clock * 1e6 if clock else None,
        clock_max_hz=highest * 1e6 if highest else None,
        sheet=sheet,
    )
    if peak:
        shares["fraction_of_peak_at_clock"] = rate / peak
    return shares


def _clock_mhz(trial: Trial, conditions: Conditions | None, highest: float | None, *, burst: bool) -> float | None:
    """The SM clock under the load: the driver's median over a long window; for a burst, which falls between two
    polls, the one measured in band in its wake, unless it lies above what the card can do.
    """
    if not burst and conditions and conditions.sm_clock_mhz:
        return conditions.sm_clock_mhz
    in_band = trial.notes.get("clock_mhz")
    if not isinstance(in_band, int | float) or (highest and in_band > CLOCK_OVER * highest):
        return None
    return float(in_band)


def _copy_spec(course: Course, shape: Shape) -> CopySpec:
    """Buffers of 4 caches; a server's shared cache is larger than what two cores of it can hold on to."""
    said = course.context.worker.get("cache_bytes")
    cache = said if isinstance(said, int) else int(course.context.card.number("l2_bytes") or 64 << 20)
    spec = CopySpec.sized(cache, course.context.free_bytes or 8 * GIB)
    return CopySpec(bytes=min(spec.bytes, CPU_COPY_BYTES)) if shape.cpu else spec


def _copy(course: Course, shape: Shape) -> Generator[Step, StepResult, None]:
    spec = _copy_spec(course, shape)
    work = Work(
        label="copy",
        workload=spec.workload,
        params=spec.params(),
        measure_s=shape.copy_s,
        budget_s=4 * shape.copy_s + 6,
    )
    result = yield from course.attempt(work, shape.copy_s + 1.0)
    if not isinstance(result, Done) or not result.trials or not result.trials[0].iteration_s:
        return
    trial = result.trials[0]
    moved = trial.work.get("bytes", 2.0 * spec.bytes)
    point = course.make.rate("copy_bandwidth", "copy", "B/s", moved, trial, result.conditions, spec.params())
    sheet = course.context.published.get("peak_bandwidth")
    if sheet:
        point = replace(point, extra={**point.extra, "fraction_of_sheet": point.value / sheet})
    yield from course.tell(point)
