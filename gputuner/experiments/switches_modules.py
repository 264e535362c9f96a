"""Where half precision loses or leaves something: single modules that are slower in it, and sizes that it stumbles on.

Only where a half format was measured, after the settings are compared; a few seconds. What is told are the modules that
are slower than in FP32 and linear layers with a size that is no multiple of 8; the whole step decides all the same.
"""

from collections.abc import Generator
from dataclasses import replace
from statistics import median

from gputuner.analysis.statistics import spread
from gputuner.analysis.switches import Setting
from gputuner.experiments.switches_trial import Compared, spec_of
from gputuner.experiments.tune_training import skipped
from gputuner.model.points import Flag, Point
from gputuner.model.readings import Scalar
from gputuner.model.steps import Done, Part, Step, StepResult, UserCodeFailed, Work
from gputuner.workloads.specs_modules import ModulesSpec

MEASURE_S, MEASURE_CPU_S = 5.0, 10.0
OWN_TYPES = ("llm",)
"""Trainings whose weights have the type that is computed in: autocast is off inside."""
SLOWER = 1.05
"""A module that takes this many times as long as in FP32 is told."""


def modules(compared: Compared) -> Generator[Step, StepResult, None]:
    """Time the modules in FP32 and in the faster half format."""
    course, shape = compared.course, compared.shape
    rates = {s: r for s, r in compared.rates().items() if not s.switches and s.precision in ("fp16", "bf16")}
    if not rates or shape.subject.name in OWN_TYPES:
        return
    best = max(rates, key=lambda s: rates[s])
    precision = "fp16" if best.precision == "fp16" else "bf16"
    measure_s = MEASURE_CPU_S if shape.cpu else MEASURE_S
    if not course.fits(measure_s + 4.0):
        yield from skipped(course, "switch_modules", measure_s + 4.0)
        return
    training = spec_of(shape, replace(best, switches=()), compared.batch)
    spec = ModulesSpec(training=training, precision=precision)
    work = Work(
        label="train_modules",
        workload=spec.workload,
        params=spec.params(),
        measure_s=measure_s,
        budget_s=2.0 * measure_s + 20.0,
    )
    result = yield from course.attempt(work, measure_s + 4.0)
    match result:
        case Done(trials=(trial, *_)):
            yield from course.tell(*_points(compared, trial.parts, best))
        case UserCodeFailed(message=message):
            yield from course.warn("modules_unknown", workload=shape.subject.name, reason=message)
        case _:
            pass


def _points(compared: Compared, parts: tuple[Part, ...], setting: Setting) -> list[Point]:
    """Figures of the modules that half precision slows, and of those with odd sizes, beside what they compare with."""
    timed = {_key(part): part for part in parts if part.iteration_s}
    told: dict[tuple[str, str, int], Part] = {}
    for (name, precision, size), part in timed.items():
        plain, wide = timed.get((name, setting.precision, 0)), timed.get((name, "fp32", 0))
        if size and plain:
            told |= {_key(plain): plain, _key(part): part}
        elif precision != "fp32" and wide and _seconds(part) > SLOWER * _seconds(wide):
            told |= {_key(wide): wide, _key(part): part}
    return [_point(compared, part) for part in told.values()]


def _key(part: Part) -> tuple[str, str, int]:
    return str(part.params["module"]), str(part.params["precision"]), int(part.params.get("size", 0))


def _seconds(part: Part) -> float:
    return median(part.iteration_s)


def _point(compared: Compared, part: Part) -> Point:
    repeats = spread(part.iteration_s)
    alone = part.params.get("count") == 1
    told = {name: value for name, value in part.params.items() if not (alone and name == "count")}
    params: dict[str, Scalar] = {**told, "batch": compared.batch}
    flags = [] if repeats.ci95_low is not None else [Flag.FEW_SAMPLES]
    return compared.course.make.figure(
        "module_time", compared.shape.subject.name, repeats.median, "s", params, flags=flags, repeats=repeats
    )
