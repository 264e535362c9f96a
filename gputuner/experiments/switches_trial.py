"""One measurement of a training with switches, and what is known of its settings so far."""

from collections.abc import Generator
from dataclasses import dataclass, field, replace
from typing import cast

from gputuner.analysis.switches import CONFIRMS, PHASE, Setting, by_setting, memory, rate
from gputuner.experiments.course import Attempt, Course
from gputuner.experiments.trained import train_point
from gputuner.experiments.tune_shape import Shape
from gputuner.model.points import Point
from gputuner.model.readings import Scalar
from gputuner.model.steps import Done, OutOfMemory, Step, StepResult, UserCodeFailed, Work
from gputuner.workloads.bodies.switches import Switches
from gputuner.workloads.specs import PRECISIONS, Precision
from gputuner.workloads.specs_recipe import RecipeSpec
from gputuner.workloads.specs_training import Training

SETUP_S = 2.0
COMPILE_S, COMPILE_CPU_S = 35.0, 70.0
"""Until the first compilation is known."""
COMPILED_BEFORE = 0.6
"""Of that time where the same was compiled before: the compiler finds its code again."""
COMPILE_AT_MOST_S = 240.0
RESTART_S = 9.0
TUNED_S = 12.0
"""cuDNN's autotuner, or a capture, in the first step."""
STEPS_WANTED, LONGEST = 24, 3.0
"""A slow step is measured for so many steps, but no longer than so many times the usual."""


@dataclass(slots=True, kw_only=True)
class Compared:
    """The state of a comparison at one batch."""

    course: Course
    shape: Shape
    batch: int
    compile_s: float
    fresh: bool = False
    """The next trial needs a fresh process: the one before may have left its own in disorder."""
    left_out: set[str] = field(default_factory=lambda: set())
    """Stages that were left out for want of time, each told once."""
    refused: dict[Setting, str] = field(default_factory=lambda: {})
    """What cannot run here, and why."""

    def measured(self) -> dict[Setting, list[Point]]:
        """Usable rates by setting."""
        return by_setting(p for p in self.course.points if p.params.get("batch") == self.batch)

    def rates(self) -> dict[Setting, float]:
        """One rate for each setting."""
        return {setting: rate(points) for setting, points in self.measured().items()}

    def step_s(self, setting: Setting) -> float:
        """Seconds per step, of the setting or of the slowest known one."""
        rates = self.rates()
        slowest = min(rates.values(), default=0.0)
        known = rates.get(setting, slowest)
        return self.batch / known if known > 0 else self.shape.train_s / 4

    def measure_s(self, setting: Setting) -> float:
        """Seconds to measure for."""
        usual = self.shape.train_s
        return min(max(usual, STEPS_WANTED * self.step_s(setting)), LONGEST * usual)

    def cost_s(self, setting: Setting) -> float:
        """Seconds that a trial of it should take in all."""
        named, step = dict(setting.switches), self.step_s(setting)
        again = COMPILED_BEFORE if setting in self.measured() else 1.0
        extra = again * self.compile_s if named.get("compile") else 0.0
        extra += TUNED_S if named.get("autotune") else 0.0
        extra += RESTART_S if named.get("expandable_segments") else 0.0
        return SETUP_S + extra + 2.0 * step + max(self.shape.warmup_s, step) + self.measure_s(setting)

    def peak(self, setting: Setting) -> float | None:
        """Peak memory of its last trial, bytes."""
        found = self.measured().get(setting)
        return memory(found[-1]) if found else None


def spec_of(shape: Shape, setting: Setting, batch: int) -> Training | RecipeSpec:
    """The typed spec of a setting's trial."""
    spec = shape.subject.make(batch, precision_of(setting), setting.channels_last)
    return replace(spec, switches=Switches(**dict(setting.switches)))  # pyright: ignore[reportArgumentType]


def precision_of(setting: Setting) -> Precision:
    """Its format, as specs have it."""
    return next(each for each in PRECISIONS if each == setting.precision)


def work_of(
    compared: Compared, setting: Setting, measure_s: float, *, batch: int = 0, label: str = "train_switch"
) -> Work:
    """The trial of a setting at the comparison's batch, or at another."""
    shape = compared.shape
    spec = spec_of(shape, setting, batch or compared.batch)
    compiling = COMPILE_AT_MOST_S if spec.switches.compile else 0.0
    return Work(
        label=label,
        workload=spec.workload,
        params=spec.params(),
        measure_s=measure_s,
        budget_s=4.0 * measure_s + 20.0 + compiling,
        fresh=compared.fresh,
        warmup_s=min(1.5, measure_s) if shape.cpu else None,
        size_param="batch",
        environment=spec.switches.environment(),
    )


def trial(
    compared: Compared,
    setting: Setting,
    *,
    phase: str = PHASE,
    measure_s: float | None = None,
    confirms: bool = False,
) -> Generator[Step, StepResult, Attempt]:
    """Measure a setting at the comparison's batch; tells its point, keeps why there is none.

    ``confirms``: one of the last trials, of which alone the gain is made.
    """
    course = compared.course
    work = work_of(compared, setting, measure_s or compared.measure_s(setting))
    result = yield from course.attempt(work, compared.cost_s(setting))
    compared.fresh = False
    match result:
        case Done(trials=(done, *_)) if done.iteration_s:
            point = train_point(course, compared.shape, work, done, result.conditions, phase)
            first = done.notes.get("first_iteration_s")
            new = setting not in compared.measured()
            if dict(setting.switches).get("compile") and isinstance(first, int | float) and new:
                compared.compile_s = float(first)
            more = {**_compile_time(setting, first), **({CONFIRMS: True} if confirms else {})}
            yield from course.tell(replace(point, extra={**point.extra, **more}))
        case UserCodeFailed(message=message):
            compared.refused[setting] = message
            compared.fresh = "cuda_graph" in dict(setting.switches)
        case OutOfMemory():
            compared.refused[setting] = OUT_OF_MEMORY
        case _:
            compared.refused[setting] = "lost"
    return result


OUT_OF_MEMORY = "out_of_memory"


def _compile_time(setting: Setting, first: object) -> dict[str, Scalar]:
    compiled = dict(setting.switches).get("compile") is True
    return {"compile_s": round(cast(float, first), 1)} if compiled and isinstance(first, int | float) else {}
