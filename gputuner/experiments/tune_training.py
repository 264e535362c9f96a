"""Tune, second part: ResNet-50 over batch and number format: a ladder of batches with few probes.

The first format climbs by doubling until a doubling gains less than 2 %, the predicted memory limit is near, or the
budget is short. The other formats and layouts are measured at the fastest batch only.
"""

from collections.abc import Generator
from dataclasses import dataclass, field, replace

from gputuner.analysis.memory import MemoryLine, fit_memory_line
from gputuner.analysis.throughput import KNEE_GAIN, fastest_batch, preferred_precision
from gputuner.experiments.course import Attempt, Course
from gputuner.experiments.precisions import support
from gputuner.experiments.tune_shape import Shape
from gputuner.model.cards import Support
from gputuner.model.points import Flag, Point
from gputuner.model.readings import Scalar
from gputuner.model.steps import Done, Lost, OutOfMemory, Step, StepResult, UserCodeFailed, Work
from gputuner.workloads.specs import Precision, ResNet50Spec

NEAR_LIMIT = 0.9
"""No ordinary probe goes above this share of the predicted limit: an out-of-memory costs a process."""
LONGEST_S = 6.0
STEPS_WANTED = 24
"""Steps for an interval (20 blocks) with some to spare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Number format and memory layout of a training."""

    precision: Precision
    channels_last: bool


@dataclass(slots=True, kw_only=True)
class Trained:
    """What is known of the training so far: rates (samples/s) and peak memory (bytes) by setting and batch."""

    rates: dict[Setting, dict[int, float]] = field(default_factory=lambda: {})
    peaks: dict[Setting, dict[int, float]] = field(default_factory=lambda: {})
    capacity_bytes: float | None = None
    failed: bool = False
    """True if the training cannot be measured here at all (does not fit, or its code fails)."""

    def keep(self, setting: Setting, batch: int, point: Point) -> None:
        """Add a measured point."""
        self.rates.setdefault(setting, {})[batch] = point.value
        peak = point.extra.get("allocated_peak_bytes")
        if isinstance(peak, int | float) and peak > 0:
            self.peaks.setdefault(setting, {})[batch] = float(peak)

    def line(self, setting: Setting) -> MemoryLine | None:
        """The memory line of ``setting``, if two batches or more are known."""
        known = self.peaks.get(setting, {})
        return fit_memory_line(list(known), list(known.values()))

    def limit(self, setting: Setting) -> int | None:
        """Predicted largest batch, if a line that grows and the capacity are known."""
        line = self.line(setting)
        if line is None or line.per_sample_bytes <= 0 or self.capacity_bytes is None:
            return None
        return line.limit(self.capacity_bytes)

    def best(self) -> tuple[Setting, int] | None:
        """The setting to recommend (fastest, but easier numerics where they cost < 2 %), and its fastest batch."""
        if not self.rates:
            return None
        tops = {s: max(rates.values()) for s, rates in self.rates.items()}
        by_precision: dict[str, float] = {}
        for setting, rate in tops.items():
            by_precision[setting.precision] = max(rate, by_precision.get(setting.precision, 0.0))
        chosen = preferred_precision(by_precision)
        setting = max((s for s in tops if s.precision == chosen), key=lambda s: tops[s])
        return setting, fastest_batch(self.rates[setting])


def train_work(spec: ResNet50Spec, label: str, measure_s: float, *, fresh: bool = False, budget_s: float = 0) -> Work:
    """One trial of the training."""
    return Work(
        label=label,
        workload=spec.workload,
        params=spec.params(),
        measure_s=measure_s,
        budget_s=budget_s or 4 * measure_s + 20.0,
        fresh=fresh,
    )


def spec_of(shape: Shape, setting: Setting, batch: int) -> ResNet50Spec:
    """The typed spec of a training trial."""
    return ResNet50Spec(
        batch=batch, precision=setting.precision, channels_last=setting.channels_last, image=shape.image
    )


def probe(
    course: Course,
    shape: Shape,
    known: Trained,
    setting: Setting,
    batch: int,
    *,
    label: str = "train_probe",
    phase: str = "probe",
    measure_s: float | None = None,
    fresh: bool = False,
) -> Generator[Step, StepResult, Attempt]:
    """Measure one batch, keep and tell the point. Long enough for an interval where the rate is known roughly."""
    seconds = measure_s or measure_time(shape, known, setting, batch)
    spec = spec_of(shape, setting, batch)
    work = train_work(spec, label, seconds, fresh=fresh)
    result = yield from course.attempt(work, seconds + shape.warmup_s)
    if isinstance(result, Done) and result.trials and result.trials[0].iteration_s:
        trial = result.trials[0]
        params: dict[str, Scalar] = {**spec.params(), "phase": phase}
        samples = trial.work.get("samples", float(batch))
        emulated = support(course.context, setting.precision) is Support.EMULATED
        flags = (Flag.EMULATED,) if emulated else ()
        point = course.make.rate(
            "train_throughput", "resnet50", "samples/s", samples, trial, result.conditions, params, flags=flags
        )
        learn_capacity(course, known, trial.memory)
        known.keep(setting, batch, point)
        yield from course.tell(point)
    return result


def learn_capacity(course: Course, known: Trained, memory: dict[str, int]) -> None:
    """Capacity for allocated memory: what a probe may use, bounded by what the worker says its process can have."""
    bounds = [b for b in (course.context.free_bytes, memory.get("capacity_bytes")) if b]
    if bounds:
        known.capacity_bytes = float(min(bounds))


def measure_time(shape: Shape, known: Trained, setting: Setting, batch: int) -> float:
    """Seconds for 24 steps as far as the rate can be guessed from neighbours, within bounds."""
    if not known.rates:
        return shape.train_s
    near = known.rates.get(setting) or next(iter(known.rates.values()))
    rate = near[min(near, key=lambda b: abs(b - batch))]
    return min(max(shape.train_s, STEPS_WANTED * batch / rate), max(LONGEST_S, shape.train_s))


def training(course: Course, shape: Shape, known: Trained, keep_s: float) -> Generator[Step, StepResult, None]:
    """The whole part; ``keep_s`` seconds of the budget stay for the parts after it."""
    if not shape.trainings:
        known.failed = True
        return
    for position, precision in enumerate(shape.trainings):
        setting = Setting(precision=precision, channels_last=not shape.cpu and precision in ("bf16", "fp16"))
        result = yield from _ladder(course, shape, known, setting, keep_s)
        if known.rates:
            yield from _others(course, shape, known, shape.trainings[position + 1 :], keep_s)
            return
        if isinstance(result, UserCodeFailed) and result.reason == "unsupported":
            yield from course.warn("precision_skipped", precision=precision, workload="resnet50", reason="unsupported")
            continue
        break
    known.failed = True


def _ladder(
    course: Course, shape: Shape, known: Trained, setting: Setting, keep_s: float
) -> Generator[Step, StepResult, Attempt]:
    batch, holes = shape.first_batch, 0
    while True:
        result = yield from probe(course, shape, known, setting, batch)
        rates = known.rates.get(setting, {})
        if isinstance(result, OutOfMemory) and not rates:
            if batch == 1:
                free = result.free_bytes if result.free_bytes is not None else course.context.free_bytes
                extra: dict[str, Scalar] = {} if free is None else {"free_bytes": free}
                yield from course.warn("does_not_fit", workload="resnet50", batch=1, **extra)
                return result
            batch = max(1, batch // 4)
            continue
        if isinstance(result, UserCodeFailed):
            if not rates and result.reason != "unsupported":
                yield from course.warn("workload_failed", workload="resnet50", message=result.message)
            return result
        if isinstance(result, Lost) and not rates:
            return result
        if isinstance(result, OutOfMemory) and holes == 0 and _is_hole(known, setting, batch):
            holes += 1
            yield from course.warn("batch_hole", batch=batch, precision=setting.precision)
        elif not isinstance(result, Done):
            return result
        following = _next_batch(course, shape, known, setting, batch, keep_s)
        if following is None:
            return result
        batch = following


def _is_hole(known: Trained, setting: Setting, batch: int) -> bool:
    """Whether an out-of-memory is out of line: the batch was predicted to fit with room to spare."""
    limit = known.limit(setting)
    return limit is not None and batch <= 0.8 * limit


def _next_batch(
    course: Course, shape: Shape, known: Trained, setting: Setting, batch: int, keep_s: float
) -> int | None:
    """The next rung, or None where the ladder ends."""
    rates = known.rates[setting]
    following = batch * 2
    if following > shape.last_batch:
        return None
    limit = known.limit(setting)
    if limit is not None and following > NEAR_LIMIT * limit:
        return None
    peak = known.peaks.get(setting, {}).get(batch)
    if limit is None and peak and known.capacity_bytes and 2.0 * peak > NEAR_LIMIT * known.capacity_bytes:
        return None
    half = rates.get(batch // 2)
    if batch in rates and half is not None and len(rates) >= 3 and rates[batch] < half * (1.0 + KNEE_GAIN):
        return None
    needed = measure_time(shape, known, setting, following) + shape.warmup_s
    return following if len(rates) < 2 or course.fits(needed, keep_s) else None


def _others(
    course: Course, shape: Shape, known: Trained, precisions: tuple[Precision, ...], keep_s: float
) -> Generator[Step, StepResult, None]:
    """Other formats at the fastest batch, then the other layout of the best, then a second batch of a new best."""
    best = known.best()
    if best is None:
        return
    first, batch = best
    for precision in precisions:
        setting = replace(first, precision=precision)
        at = _fitting(known, first, precision, batch)
        if not course.fits(measure_time(shape, known, setting, at) + shape.warmup_s, keep_s):
            yield from skipped(course, f"precision_{precision}", shape.train_s + shape.warmup_s)
            continue
        result = yield from probe(course, shape, known, setting, at)
        if isinstance(result, UserCodeFailed):
            reason = "unsupported" if result.reason == "unsupported" else "failed"
            yield from course.warn("precision_skipped", precision=precision, workload="resnet50", reason=reason)
    setting, batch = known.best() or best
    if shape.layouts and course.fits(measure_time(shape, known, setting, batch) + shape.warmup_s, keep_s):
        other = replace(setting, channels_last=not setting.channels_last)
        yield from probe(course, shape, known, other, batch)
    setting, batch = known.best() or best
    if len(known.rates[setting]) < 2 and batch > 1:
        for second in (batch // 2, batch * 2):
            limit = known.limit(setting)
            small_enough = second < batch or (limit is not None and second <= min(NEAR_LIMIT * limit, shape.last_batch))
            if small_enough and course.fits(measure_time(shape, known, setting, second) + shape.warmup_s, keep_s):
                yield from probe(course, shape, known, setting, second)


def _fitting(known: Trained, first: Setting, precision: Precision, batch: int) -> int:
    """``batch``, or less where a 4-byte format would need up to twice the memory and may not fit."""
    line = known.line(first)
    if line is None or known.capacity_bytes is None or precision in ("fp16", "bf16"):
        return batch
    wide = 2.0 if first.precision in ("fp16", "bf16") else 1.0
    while batch > 1 and line.fixed_bytes + wide * line.per_sample_bytes * batch > NEAR_LIMIT * known.capacity_bytes:
        batch //= 2
    return batch


def skipped(course: Course, stage: str, needed_s: float) -> Generator[Step, StepResult, None]:
    """Tell that a part was left out because the time is short."""
    yield from course.warn(
        "stage_skipped", stage=stage, needed_s=round(needed_s, 1), left_s=round(max(0.0, course.left_s), 1)
    )
