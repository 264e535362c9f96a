"""Tune, third part: the largest batch that runs: predicted from the memory line, confirmed below, checked above."""

from collections.abc import Generator
from dataclasses import dataclass
from math import ceil

from gputuner.advice.evidence import RATE_PHASES
from gputuner.analysis.memory import FIXED_MULTIPLE, SAFE_MARGIN, MemoryLine, round_down, safe_batch
from gputuner.analysis.statistics import spread
from gputuner.analysis.throughput import fastest, fit_step_cost, knee
from gputuner.experiments.course import Course
from gputuner.experiments.trained import Setting, Trained, check, check_cost
from gputuner.experiments.tune_shape import Shape
from gputuner.experiments.tune_training import skipped
from gputuner.model.points import Flag, Point
from gputuner.model.readings import Scalar
from gputuner.model.steps import Done, Lost, OutOfMemory, Step, StepResult, UserCodeFailed

BELOW = 0.975
ABOVE = 1.02
TRIES = 4


@dataclass(slots=True, kw_only=True)
class Bracket:
    """The largest batch known to run and the smallest larger one known to fail."""

    runs: int
    fails: int | None = None
    size_limit: bool = False
    """True if a size fails with an error that does not name memory."""


def limit(
    course: Course, shape: Shape, known: Trained, setting: Setting, keep_s: float
) -> Generator[Step, StepResult, None]:
    """Predict, verify if the time allows, and tell limit, safe and fastest batch apart."""
    yield from _probe_above_fixed(course, shape, known, setting, keep_s)
    line, predicted = known.line(setting), known.limit(setting)
    if line is None or predicted is None or predicted < 1:
        return
    yield from course.tell(_line_point(course, setting, line))
    bracket = Bracket(runs=max(known.ran[setting]))
    verified = False
    if line.is_line:
        cost = check_cost(shape, known, setting, predicted)
        if course.fits(2 * (cost + shape.restart_s), keep_s):
            verified = yield from _verify(course, shape, known, setting, predicted, bracket, keep_s)
        else:
            yield from skipped(course, "limit", 2 * (cost + shape.restart_s))
    value = predicted if bracket.fails is None and not verified else bracket.runs
    safe = safe_batch(value, multiple=_multiple(value))
    if verified and safe not in known.ran[setting]:
        cost = check_cost(shape, known, setting, safe)
        if course.fits(cost + shape.restart_s, keep_s):
            yield from check(course, shape, known, setting, safe, label="train_safe", phase="safe")
    yield from course.tell(
        _limit_point(course, known, setting, value, predicted, bracket, verified),
        _safe_point(course, known, setting, value, safe, verified),
    )


def _probe_above_fixed(
    course: Course, shape: Shape, known: Trained, setting: Setting, keep_s: float
) -> Generator[Step, StepResult, None]:
    """One more probe where all so far are small against the fixed part (such a line is biased)."""
    line, predicted = known.line(setting), known.limit(setting)
    if line is None or predicted is None or line.fixed_bytes <= 0:
        return
    wanted = ceil(FIXED_MULTIPLE * line.fixed_bytes / line.per_sample_bytes)
    batch = min(1 << (wanted - 1).bit_length(), predicted // 2)
    if wanted <= max(known.peaks[setting]) or batch <= max(known.ran[setting]):
        return
    if course.fits(3 * check_cost(shape, known, setting, batch), keep_s):
        yield from check(course, shape, known, setting, batch, label="train_memory", phase="memory")


def _multiple(batch: int) -> int:
    return 8 if batch >= 64 else 1


def _verify(
    course: Course, shape: Shape, known: Trained, setting: Setting, predicted: int, bracket: Bracket, keep_s: float
) -> Generator[Step, StepResult, bool]:
    """Run just below the prediction (lower until it runs), then just above in a fresh process."""
    multiple = _multiple(predicted)
    below = round_down(int(predicted * BELOW), multiple)
    for _ in range(TRIES):
        if below <= bracket.runs:
            break
        fine = yield from _check(course, shape, known, setting, below, bracket, "train_limit_below")
        if fine is None:
            return False
        if fine:
            break
        below = _lower(below, bracket, multiple)
        if not course.fits(check_cost(shape, known, setting, below) + shape.restart_s, keep_s):
            break
    above = ceil(predicted * ABOVE / multiple) * multiple
    if bracket.fails is None and course.fits(check_cost(shape, known, setting, above) + shape.restart_s, keep_s):
        fine = yield from _check(course, shape, known, setting, above, bracket, "train_limit_above", fresh=True)
        return fine is not None
    return bracket.fails is not None


def _lower(failed: int, bracket: Bracket, multiple: int) -> int:
    """The next batch to try after a failure: a little lower first, then half-way (an error far from the line)."""
    if not bracket.size_limit:
        return round_down(int(failed * 0.95), multiple)
    return round_down((bracket.runs + failed) // 2, multiple)


def _check(
    course: Course,
    shape: Shape,
    known: Trained,
    setting: Setting,
    batch: int,
    bracket: Bracket,
    label: str,
    *,
    fresh: bool = False,
) -> Generator[Step, StepResult, bool | None]:
    """Whether ``batch`` runs; None if that cannot be told (worker lost)."""
    result = yield from check(course, shape, known, setting, batch, label=label, phase="limit", fresh=fresh)
    match result:
        case Done():
            bracket.runs = max(bracket.runs, batch)
            return True
        case OutOfMemory(size_limit=size_limit):
            bracket.fails = batch if bracket.fails is None else min(bracket.fails, batch)
            bracket.size_limit |= size_limit
            return False
        case UserCodeFailed(message=message):
            bracket.fails, bracket.size_limit = batch, True
            yield from course.warn("size_limit", batch=batch, message=message)
            return False
        case Lost():
            return None


def _line_point(course: Course, setting: Setting, line: MemoryLine) -> Point:
    return course.make.figure(
        "memory_per_sample",
        "resnet50",
        line.per_sample_bytes,
        "B",
        setting.named(),
        extra={
            "fixed_bytes": line.fixed_bytes,
            "residual": line.residual,
            "probes": line.probes,
            "is_line": line.is_line,
        },
    )


def _limit_point(
    course: Course, known: Trained, setting: Setting, value: int, predicted: int, bracket: Bracket, verified: bool
) -> Point:
    extra: dict[str, Scalar] = {"predicted": predicted, "runs": bracket.runs, "size_limit": bracket.size_limit}
    if bracket.fails is not None:
        extra["fails"] = bracket.fails
    if known.capacity_bytes is not None:
        extra["capacity_bytes"] = int(known.capacity_bytes)
    params: dict[str, Scalar] = {**setting.named(), "verified": verified}
    return course.make.figure("batch_limit", "resnet50", float(value), "samples", params, extra=extra)


def _safe_point(course: Course, known: Trained, setting: Setting, value: int, safe: int, verified: bool) -> Point:
    extra: dict[str, Scalar] = {"margin": SAFE_MARGIN, "limit": value}
    rate = known.ran[setting].get(safe)
    if rate is not None:
        extra["rate"] = rate
    params: dict[str, Scalar] = {**setting.named(), "verified": verified}
    return course.make.figure("batch_safe", "resnet50", float(safe), "samples", params, extra=extra)


def fastest_points(course: Course, setting: Setting) -> tuple[Point, ...]:
    """The fastest batch with the batches its intervals allow, from the points told so far."""
    spreads = {
        int(p.params["batch"]): p.spread or spread([p.value])
        for p in course.points
        if p.metric == "train_throughput"
        and p.params.get("phase") in RATE_PHASES
        and Flag.TOO_SLOW not in p.flags
        and all(p.params.get(k) == v for k, v in setting.named().items())
    }
    if not spreads:
        return ()
    found = fastest(spreads)
    rates = {batch: s.median for batch, s in spreads.items()}
    extra: dict[str, Scalar] = {"rate": found.rate, "low": found.low, "high": found.high, "measured": len(rates)}
    bend, cost = knee(rates), fit_step_cost(rates)
    if bend is not None:
        extra["knee"] = bend
    if cost is not None:
        extra |= {"step_fixed_s": cost.fixed_s, "step_per_sample_s": cost.per_sample_s, "step_residual": cost.residual}
    return (
        course.make.figure("batch_fastest", "resnet50", float(found.batch), "samples", setting.named(), extra=extra),
    )
