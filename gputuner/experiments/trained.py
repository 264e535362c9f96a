"""What a plan knows of a training so far, and one measurement of it."""

from collections.abc import Generator
from dataclasses import dataclass, field, replace

from gputuner.advice.evidence import RATE_PHASES
from gputuner.analysis.memory import MemoryLine, fit_memory_line
from gputuner.analysis.throughput import comparable_tops, fastest_batch, preferred_precision
from gputuner.experiments.course import Attempt, Course
from gputuner.experiments.precisions import support
from gputuner.experiments.tune_shape import Shape
from gputuner.model.cards import Support
from gputuner.model.points import Conditions, Flag, Point
from gputuner.model.readings import Scalar
from gputuner.model.steps import Done, OutOfMemory, Step, StepResult, Trial, Work, told_params
from gputuner.workloads.specs import PRECISIONS, Precision
from gputuner.workloads.specs_recipe import RecipeSpec
from gputuner.workloads.specs_training import Training

SAFE = "train_safe"
"""Label of the check whose size will be recommended: it is soaked."""
LONGEST_S = 6.0
STEPS_WANTED = 24
"""Steps for an interval (20 blocks) with some to spare."""
SCALER_SETTLES_STEPS = 20
STEPS_PER_CHECK = 6
"""Steps a check of a size costs at most: the first two and at least three timed ones."""
PROBE_SLOWER = 1.4
"""A processor's memory probe takes this much longer for a step (docs/measurements/cpu-memory.md)."""
PATIENCE_S = 12.0
"""A check of a size that would take longer than this is content with two optimizer steps."""
LARGEST = 1 << 20
"""No training takes a larger batch."""
SPILL_FROM, SPILL_SLOWER = 0.8, 4.0
"""Memory this full, and a rate that many times below a smaller batch's, without any failed allocation: it spilled."""
TWO_STEPS_BUDGET = 3.3
"""Budget of such a check in steps: the worker stops after the second if three more do not fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Number format and memory layout of a training."""

    precision: Precision
    channels_last: bool

    def named(self) -> dict[str, Scalar]:
        """As params of a point."""
        return {"precision": self.precision, "channels_last": self.channels_last}


@dataclass(slots=True, kw_only=True)
class Trained:
    """What is known so far: rates (samples/s) and peak memory (bytes) by setting and batch.

    ``rates`` may be recommended; ``ran`` also holds batches that were only shown to run (near the limit, or for a step
    or two).
    """

    rates: dict[Setting, dict[int, float]] = field(default_factory=lambda: {})
    ran: dict[Setting, dict[int, float]] = field(default_factory=lambda: {})
    peaks: dict[Setting, dict[int, float]] = field(default_factory=lambda: {})
    first_s: dict[int, float] = field(default_factory=lambda: {})
    """Seconds of the first iteration (libraries choose their kernels) by batch."""
    capacity_bytes: float | None = None
    data_set: int | None = None
    """Samples of the user's data set: no batch is larger."""
    asked_most: int | None = None
    """The largest batch that its owner would use."""
    batch_norm: bool = False
    """A batch of one sample cannot be trained on."""
    told_lengths: bool = False
    """Whether it was told that samples differ in length."""

    @property
    def most(self) -> int:
        """No larger batch is tried: what its owner would use, the data set, or what a trial takes at most."""
        return min(self.asked_most or LARGEST, self.data_set or LARGEST, LARGEST)

    @property
    def most_by(self) -> str:
        """Which of these it is, as a figure names it."""
        if self.asked_most == self.most:
            return "asked_most"
        return "data_set_limit" if self.data_set == self.most else "size_most"

    @property
    def least(self) -> int:
        """No smaller batch is recommended."""
        return 2 if self.batch_norm else 1

    def keep(self, setting: Setting, batch: int, point: Point, trial: Trial) -> None:
        """Add a measured point."""
        self.ran.setdefault(setting, {})[batch] = point.value
        usable = point.params["phase"] in RATE_PHASES and not trial.too_slow
        if usable or setting not in self.rates:
            self.rates.setdefault(setting, {})[batch] = point.value
        peak = trial.memory.get("allocated_peak_bytes")
        if peak:
            self.peaks.setdefault(setting, {})[batch] = float(peak)
        first = trial.notes.get("first_iteration_s")
        if isinstance(first, int | float):
            self.first_s[batch] = float(first)
        samples = trial.notes.get("data_set_samples")
        if isinstance(samples, int) and samples > 0:
            self.data_set = samples
        self.batch_norm |= trial.notes.get("batch_norm") is True

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
        """The setting to recommend (fastest, but easier numerics where they cost little), and its fastest batch."""
        if not self.rates:
            return None
        tops = comparable_tops(self.rates)
        by_precision: dict[str, float] = {}
        for setting, rate in tops.items():
            by_precision[setting.precision] = max(rate, by_precision.get(setting.precision, 0.0))
        chosen = preferred_precision(by_precision)
        setting = max((s for s in tops if s.precision == chosen), key=lambda s: tops[s])
        return setting, fastest_batch(self.rates[setting])

    def step_s(self, setting: Setting, batch: int) -> float | None:
        """Seconds per step as far as they can be guessed; None: nothing known.

        On the line through the two largest batches beyond these, else as the nearest batch.
        """
        known = self.rates.get(setting, {})
        if len(known) < 2:  # checks of a size are slower; better than nothing
            known = {**self.ran.get(setting, {}), **known}
        if not known and not self.rates:
            return None
        known = known or next(iter(self.rates.values()))
        largest = max(known)
        if batch > largest and len(known) > 1:
            second = max(b for b in known if b < largest)
            last_s, before_s = largest / known[largest], second / known[second]
            return last_s + max(0.0, last_s - before_s) * (batch - largest) / (largest - second)
        return batch / known[min(known, key=lambda b: abs(b - batch))]


def measure_time(shape: Shape, known: Trained, setting: Setting, batch: int) -> float:
    """Seconds for 24 steps as far as the rate can be guessed, within bounds.

    On a processor, which seldom rests, the time is better spent on turns (``tune_turns``) than on one long trial.
    """
    step = known.step_s(setting, batch)
    if step is None or shape.cpu:
        return shape.train_s
    return min(max(shape.train_s, STEPS_WANTED * step), max(min(LONGEST_S, 3.0 * shape.train_s), shape.train_s))


def probe_cost(shape: Shape, known: Trained, setting: Setting, batch: int) -> float:
    """Expected seconds of a probe: two first steps, warm-up, and at least three timed ones."""
    step = known.step_s(setting, batch) or 0.0
    return 2.0 * step + max(shape.warmup_s, step) + max(measure_time(shape, known, setting, batch), 3.0 * step)


def check_cost(shape: Shape, known: Trained, setting: Setting, batch: int) -> float:
    """Expected seconds of a check whether ``batch`` runs: a first step that chooses kernels, then a few more."""
    step = (known.step_s(setting, batch) or 1.0) * (PROBE_SLOWER if shape.cpu else 1.0)
    first = step
    if known.first_s:
        largest = max(known.first_s)
        first = max(step, known.first_s[largest] * max(1.0, batch / largest))
    steps = (STEPS_PER_CHECK - 1) * step
    return first + (step if first + steps > PATIENCE_S else steps) + 2.0


def spec_of(shape: Shape, setting: Setting, batch: int) -> Training | RecipeSpec:
    """The typed spec of a training trial."""
    return shape.subject.make(batch, setting.precision, setting.channels_last)


def train_work(
    shape: Shape,
    setting: Setting,
    batch: int,
    label: str,
    measure_s: float,
    *,
    fresh: bool = False,
    budget_s: float = 0.0,
    warmup_s: float | None = None,
    memory_probe: bool = False,
) -> Work:
    """One trial of the training. Warm-up is until steady on a card, a fixed time on a CPU (which seldom is)."""
    spec = spec_of(shape, setting, batch)
    warm = warmup_s if warmup_s is not None else (min(1.5, measure_s) if shape.cpu else None)
    return Work(
        label=label,
        workload=spec.workload,
        params=spec.params(),
        measure_s=measure_s,
        budget_s=budget_s or 4 * measure_s + 20.0,
        fresh=fresh,
        warmup_s=warm,
        size_param="batch",
        memory_probe=memory_probe,
    )


def train_point(
    course: Course,
    shape: Shape,
    work: Work,
    trial: Trial,
    conditions: Conditions | None,
    phase: str,
    *,
    iteration_s: tuple[float, ...] | None = None,
    extra: dict[str, Scalar] | None = None,
) -> Point:
    """The rate of a training trial. Steps that a gradient scaler skipped do not count as work.

    Where the worker gave up on the size and measured a smaller one, the point says the size that was measured.
    """
    batch = int(trial.notes.get("measured_batch", work.params["batch"]))
    params: dict[str, Scalar] = {**told_params(work.params), "batch": batch, "phase": phase}
    flags: list[Flag] = []
    if support(course.context, _precision(work)) is Support.EMULATED:
        flags.append(Flag.EMULATED)
    if trial.notes.get("loss_finite") is False:
        flags.append(Flag.IMPLAUSIBLE)
    return course.make.rate(
        "train_throughput",
        shape.subject.name,
        "samples/s",
        trial.work.get("samples", float(batch)) * (1.0 - skipped_share(trial)),
        trial,
        conditions,
        params,
        flags=flags,
        iteration_s=iteration_s,
        extra=extra,
    )


def _precision(work: Work) -> Precision:
    return next(each for each in PRECISIONS if each == work.params["precision"])


def skipped_share(trial: Trial) -> float:
    """Share of the measured optimizer steps that the gradient scaler skipped; all skipped counts as none done.

    Fewer than ``SCALER_SETTLES_STEPS`` steps do not tell: a scaler always skips some at first, to find its scale.
    """
    skipped, per_window = trial.notes.get("skipped_steps"), trial.notes.get("iterations_per_window", 1)
    if not isinstance(skipped, int | float) or not isinstance(per_window, int | float):
        return 0.0
    steps = per_window * len(trial.iteration_s)
    return min(1.0, max(0.0, skipped / steps)) if steps >= SCALER_SETTLES_STEPS else 0.0


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
) -> Generator[Step, StepResult, Attempt]:
    """Measure one batch; long enough for an interval where the rate is known roughly. Keeps and tells the point."""
    work = train_work(shape, setting, batch, label, measure_s or measure_time(shape, known, setting, batch))
    return (yield from _measure(course, shape, known, setting, work, phase, probe_cost(shape, known, setting, batch)))


def check(
    course: Course,
    shape: Shape,
    known: Trained,
    setting: Setting,
    batch: int,
    *,
    label: str,
    phase: str,
    fresh: bool = False,
) -> Generator[Step, StepResult, Attempt]:
    """Run one batch just long enough to say that it runs: the second optimizer step shows the peak.

    A batch that will be recommended (phase ``safe``) is warmed up and measured for as long as time allows; the rate of
    any other check is flagged as not steady. On a processor no check gives a rate (see ``Work.memory_probe``).
    """
    cost = check_cost(shape, known, setting, batch)
    step = (known.step_s(setting, batch) or 1.0) * (PROBE_SLOWER if shape.cpu else 1.0)
    hasty = cost >= PATIENCE_S and step > 1.0
    if shape.cpu and phase == "safe":
        phase = "limit"
    warmed = phase == "safe" and not hasty
    work = train_work(
        shape, setting, batch, label, max(shape.train_s, 6.0 * step) if warmed else min(shape.train_s, 1.0),
        fresh=fresh, warmup_s=max(1.0, 2.0 * step) if warmed else 0.0,
        budget_s=TWO_STEPS_BUDGET * step + 3.0 if hasty else 3.0 * cost + 20.0, memory_probe=True,
    )  # fmt: skip
    work = replace(work, soak=label == SAFE)
    return (yield from _measure(course, shape, known, setting, work, phase, cost))


def _measure(
    course: Course, shape: Shape, known: Trained, setting: Setting, work: Work, phase: str, cost_s: float
) -> Generator[Step, StepResult, Attempt]:
    result = yield from course.attempt(work, cost_s)
    if isinstance(result, Done) and result.trials and result.trials[0].iteration_s:
        trial = replace(result.trials[0], steady=result.trials[0].steady and work.warmup_s != 0)
        bounds = [b for b in (course.context.free_bytes, trial.memory.get("capacity_bytes")) if b]
        known.capacity_bytes = float(min(bounds)) if bounds else known.capacity_bytes
        point = train_point(course, shape, work, trial, result.conditions, phase)
        if _spilled(course, shape, known, setting, trial, point):
            return (yield from _spill(course, trial, point))
        if trial.notes.get("shapes_vary") is True and not known.told_lengths:
            known.told_lengths = True
            yield from course.warn(
                "lengths_vary", workload=shape.subject.name, shape=trial.notes.get("sample_shape", "")
            )
        if point.params["batch"] == work.params["batch"] and point.value > 0:
            known.keep(setting, int(work.params["batch"]), point, trial)
        yield from course.tell(point)
    return result


def _spilled(course: Course, shape: Shape, known: Trained, setting: Setting, trial: Trial, point: Point) -> bool:
    """Whether the driver put a part into system memory instead of failing (Windows, WSL).

    More is allocated than the card has; or memory is nearly full, and the rate fell off a cliff without one failed
    allocation (those are slow too, and no spill).
    """
    peak, total = trial.memory.get("allocated_peak_bytes"), course.context.card.memory_total_bytes
    if shape.cpu or not peak or not total:
        return False
    if peak > total:
        return True
    smaller = [rate for batch, rate in known.rates.get(setting, {}).items() if batch < int(point.params["batch"])]
    cliff = SPILL_SLOWER * point.value < max(smaller, default=0.0)
    return cliff and peak >= SPILL_FROM * total and not trial.memory.get("allocator_retries")


def _spill(course: Course, trial: Trial, point: Point) -> Generator[Step, StepResult, Attempt]:
    """Tell it, and let it count as out of memory."""
    yield from course.warn(
        "memory_spill",
        batch=int(point.params["batch"]),
        peak_bytes=trial.memory["allocated_peak_bytes"],
        total_bytes=course.context.card.memory_total_bytes or 0,
    )
    course.last = OutOfMemory(message="spilled to system memory", free_bytes=course.context.free_bytes)
    return course.last


def with_precision(setting: Setting, precision: Precision) -> Setting:
    """The same layout in another format."""
    return replace(setting, precision=precision)


def with_other_layout(setting: Setting) -> Setting:
    """The same format in the other layout."""
    return replace(setting, channels_last=not setting.channels_last)
