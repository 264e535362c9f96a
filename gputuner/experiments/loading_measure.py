"""One measurement of loading: what the training could eat, or what one setting delivers; and what is known so far."""

from collections.abc import Generator
from dataclasses import dataclass, field, replace

from gputuner.analysis.loading import starvation
from gputuner.experiments.course import Course
from gputuner.model.points import Conditions, Point
from gputuner.model.readings import Scalar
from gputuner.model.steps import Done, Lost, OutOfMemory, Part, Step, StepResult, Trial, UserCodeFailed, Work
from gputuner.workloads.bodies.loader_room import WORKER_BYTES, Room
from gputuner.workloads.specs_loading import LoaderSetting, LoadingSpec

Steps = Generator[Step, StepResult, None]
SETUP_S = 1.5
LEAST_STEPS, LEAST_BATCHES = 8, 9
"""A setting is measured for so many steps of the training, and so many batches of a single process, at least …"""
LONGEST_S = 24.0
"""… but not for longer than this."""
AGAIN_SHARE = 0.75
"""Of a measurement's time what the training with its loader takes alone."""
ALONE, FED = "alone", "fed"
PARTICULARS = ("needs_bytes", "free_bytes", "message", "cause")
FIXED = "fixed"
"""What the recipe's loader does not take; told where there is any."""


@dataclass(slots=True, kw_only=True)
class Loaded:
    """What is known: the machine's room, the demand, and rates (samples/s) by setting."""

    spec: LoadingSpec
    name: str
    """Of the training, for figures."""
    cpu: bool
    base_s: float
    """Seconds to measure a setting for."""
    demand: Point | None = None
    facts: dict[str, Scalar] = field(default_factory=lambda: {})
    supply: dict[LoaderSetting, list[Point]] = field(default_factory=lambda: {})
    fed: dict[LoaderSetting, list[Point]] = field(default_factory=lambda: {})
    refused: dict[LoaderSetting, tuple[str, dict[str, int]]] = field(default_factory=lambda: {})
    """Why a setting was not tried, or failed, with the figures of it."""
    start_s: float = 0.0
    """Longest time to the first batch of processes that had to start."""
    worker_bytes: int = 0
    """Memory of the largest loader process that was seen; 0: none was."""

    @property
    def room(self) -> Room:
        """What the machine has."""
        return Room(
            cores=self._whole("cores") or 1,
            memory_bytes=self._whole("host_memory_bytes"),
            shared_bytes=self._whole("shared_memory_bytes"),
        )

    @property
    def each_bytes(self) -> int:
        """Memory of one process."""
        return self.worker_bytes or WORKER_BYTES

    @property
    def batch_bytes(self) -> int:
        """Bytes of a batch."""
        return self._whole("loader_batch_bytes") or 0

    @property
    def usual(self) -> LoaderSetting:
        """What the user has today, else torch's defaults. A processor has nothing to pin for."""
        return LoaderSetting(
            workers=self._whole("usual_workers") or 0,
            prefetch=self._whole("usual_prefetch") or 2,
            pin=self.facts.get("usual_pin") is True and not self.cpu,
            persistent=self.facts.get("usual_persistent") is True,
        )

    def fixed(self, parameter: str) -> bool:
        """Whether the recipe's loader does not take ``parameter``."""
        return parameter in str(self.facts.get(FIXED, "")).split()

    @property
    def epoch_batches(self) -> int | None:
        """Batches of an epoch."""
        return self._whole("epoch_batches")

    def latest(self, setting: LoaderSetting) -> float | None:
        """The newest rate of the training with ``setting``."""
        points = self.fed.get(setting)
        return points[-1].value if points else None

    def busy_cores(self, setting: LoaderSetting) -> float | None:
        """Cores that the processes of ``setting`` kept busy when they delivered as fast as they could."""
        points = self.supply.get(setting)
        busy = points[-1].extra.get("workers_cores_busy") if points else None
        return float(busy) if isinstance(busy, int | float) else None

    def measure_s(self, workers: int) -> float:
        """Seconds to measure a setting with so many processes for."""
        batch, wanted = self.spec.batch, self.base_s
        if self.demand is not None:
            wanted = max(wanted, (LEAST_STEPS + 2 * workers) * batch / self.demand.value)
        single = [max(1, s.workers) * batch / points[-1].value for s, points in self.supply.items()]
        if single:
            wanted = max(wanted, LEAST_BATCHES * max(single))
        return min(LONGEST_S, wanted)

    def cost_s(self, workers: int, *, again: bool = False) -> float:
        """Expected seconds of such a measurement, with starting and ending its processes. ``again``: only with the
        training."""
        measured_s = self.measure_s(workers) * (AGAIN_SHARE if again else 1.2)
        begun_s = (1 if again else 2) * self.start_s if workers else 0.0
        return SETUP_S + measured_s + begun_s

    def _whole(self, name: str) -> int | None:
        value = self.facts.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None


def demand(course: Course, known: Loaded) -> Generator[Step, StepResult, bool]:
    """Measure and tell what the training could eat; False where it did not run."""
    spec = replace(known.spec, part="demand")
    measure_s = known.base_s
    work = _work(spec, "loading_demand", measure_s)
    result = yield from course.attempt(work, SETUP_S + measure_s)
    if isinstance(result, OutOfMemory):
        extra: dict[str, Scalar] = {} if result.free_bytes is None else {"free_bytes": result.free_bytes}
        yield from course.warn("does_not_fit", workload=known.name, batch=spec.batch, **extra)
    if not isinstance(result, Done) or not result.trials or not result.trials[0].parts:
        return False
    trial = result.trials[0]
    part = trial.parts[0]
    if not part.iteration_s:
        return False
    known.facts = {**part.notes, **trial.notes}
    told = {name: value for name, value in known.facts.items() if name != FIXED or value}
    known.demand = course.make.rate(
        "loader_demand", known.name, "samples/s", part.work["samples"], _as_trial(part), _conditions(result, 0),
        {"batch": spec.batch, "precision": spec.precision, "channels_last": spec.channels_last}, extra=told,
    )  # fmt: skip
    yield from course.tell(known.demand)
    return True


def supply(
    course: Course, known: Loaded, setting: LoaderSetting, label: str, phase: str
) -> Generator[Step, StepResult, bool]:
    """Measure one setting alone and with the training, and tell both; False where it gave no rate.

    ``phase``: why it was measured, ``workers``, ``switch`` or ``again``.
    """
    first = not known.fed.get(setting)
    spec = replace(known.spec, part="supply", setting=setting, alone=first, again=first)
    measure_s = known.measure_s(setting.workers)
    work = _work(spec, label, measure_s)
    result = yield from course.attempt(work, known.cost_s(setting.workers))
    if not isinstance(result, Done) or not result.trials:
        yield from _failed(course, known, setting, result)
        return False
    for place, part in enumerate(result.trials[0].parts):
        if not part.iteration_s:
            yield from _gap(course, known, setting, part)
            continue
        yield from _tell(course, known, setting, part, _conditions(result, place), phase)
    return bool(known.fed.get(setting))


def _tell(
    course: Course, known: Loaded, setting: LoaderSetting, part: Part, conditions: Conditions | None, phase: str
) -> Steps:
    spec = known.spec
    params: dict[str, Scalar] = {"batch": spec.batch, **setting.named(), "phase": phase}
    extra = dict(part.notes)
    if setting == known.usual:
        extra["usual"] = True
    size, start_s = part.notes.get("worker_bytes"), part.notes.get("start_s")
    if isinstance(size, int):
        known.worker_bytes = max(size, known.worker_bytes)
    if setting.workers and isinstance(start_s, int | float):
        known.start_s = max(start_s, known.start_s)
    point = course.make.rate(
        "loader_supply" if part.params.get("phase") == ALONE else "loader_fed",
        known.name, "samples/s", part.work["samples"], _as_trial(part), conditions, params, extra=extra,
    )  # fmt: skip
    if part.params.get("phase") == ALONE:
        known.supply.setdefault(setting, []).append(point)
    else:
        if known.demand is not None:
            lost = starvation(point.value, known.demand.value)
            point = replace(point, extra={**point.extra, "starvation_fraction": round(lost, 4)})
        point = replace(point, params={**params, "precision": spec.precision})
        known.fed.setdefault(setting, []).append(point)
    yield from course.tell(point)


def _gap(course: Course, known: Loaded, setting: LoaderSetting, part: Part) -> Steps:
    """Tell why a setting gave no rate; of its processes' making, it is remembered."""
    reason = str(part.notes.get("gap", "nothing_measured"))
    if reason not in ("nothing_measured", "out_of_time"):
        known.refused[setting] = (reason, {})
    told = {name: part.notes[name] for name in PARTICULARS if name in part.notes}
    yield from gap(course, setting, reason, **told)


def gap(course: Course, setting: LoaderSetting, reason: str, **told: Scalar) -> Steps:
    """Tell that a setting was not measured, and why."""
    yield from course.warn("loading_gap", **setting.named(), reason=reason, **told)


def _failed(course: Course, known: Loaded, setting: LoaderSetting, result: StepResult) -> Steps:
    match result:
        case OutOfMemory():
            yield from gap(course, setting, "out_of_memory")
        case UserCodeFailed(message=message, reason=reason):
            if known.fed or known.supply:
                told = "unsupported" if reason == "unsupported" else "worker_failed"
                yield from gap(course, setting, told, message=message)
        case Lost(hung=True):
            yield from gap(course, setting, "hung")
        case _:
            pass


def _work(spec: LoadingSpec, label: str, measure_s: float) -> Work:
    return Work(
        label=label, workload=spec.workload, params=spec.params(), measure_s=measure_s, budget_s=4 * measure_s + 30.0,
        warmup_s=0.0,
    )  # fmt: skip


def _conditions(result: Done, place: int) -> Conditions | None:
    return result.part_conditions[place] if place < len(result.part_conditions) else result.conditions


def _as_trial(part: Part) -> Trial:
    return Trial(iteration_s=part.iteration_s, t0_ns=part.t0_ns, t1_ns=part.t1_ns, work=part.work)
