"""Tune, last part: one load for a minute or more: what stays of the rate, how hot it gets, what limits."""

from collections.abc import Generator
from dataclasses import replace

from gputuner.analysis.limits import what_limits
from gputuner.analysis.statistics import drift
from gputuner.analysis.steady import rate_is_steady
from gputuner.experiments.course import Course
from gputuner.experiments.phases import last_part
from gputuner.experiments.trained import Setting, train_point, train_work
from gputuner.experiments.tune_rates import matmul_point
from gputuner.experiments.tune_shape import Shape
from gputuner.model.points import Conditions, Point
from gputuner.model.readings import Scalar
from gputuner.model.steps import Done, Step, StepResult, Trial, Work
from gputuner.workloads.specs import MatmulSpec

SETTLE_S = 5.0
WARM_S = 1.5
"""Short: heating up is part of what is measured."""


def sustained(
    course: Course, shape: Shape, chosen: tuple[Setting, int] | None, seconds: float
) -> Generator[Step, StepResult, None]:
    """Load the card for ``seconds`` with the fastest training, or with a matmul where there is none.

    Whether it became steady is judged by the part that counts, its last 30 s, not by the short warm-up.
    """
    if not shape.cpu and course.fits(seconds + SETTLE_S):
        yield from course.settle("settle", SETTLE_S)
    if chosen is None:
        yield from _matmul(course, shape, seconds)
        return
    setting, batch = chosen
    work = train_work(shape, setting, batch, "sustained", seconds, budget_s=seconds + 30.0, warmup_s=WARM_S)
    result = yield from course.attempt(work, seconds + shape.warmup_s)
    if not isinstance(result, Done) or not result.trials or not result.trials[0].iteration_s:
        return
    trial = result.trials[0]
    part = last_part(trial)
    point = train_point(
        course,
        shape,
        work,
        replace(trial, steady=rate_is_steady(part)),
        result.conditions,
        "sustained",
        iteration_s=part,
        extra=_over_time(trial),
    )
    yield from course.tell(point, *load_points(course, shape.subject.name, result.conditions))


def _over_time(trial: Trial) -> dict[str, Scalar]:
    rates = [1.0 / seconds for seconds in trial.iteration_s]
    return {"rate_change": drift(rates), "load_s": (trial.t1_ns - trial.t0_ns) / 1e9}


def _matmul(course: Course, shape: Shape, seconds: float) -> Generator[Step, StepResult, None]:
    if not shape.matmuls:
        return
    spec = MatmulSpec(precision=shape.matmuls[0], n=1024 if shape.cpu else 8192)
    work = Work(label="sustained", workload="matmul", params=spec.params(), measure_s=seconds, budget_s=seconds + 20.0)
    result = yield from course.attempt(work, seconds + 2.0)
    if isinstance(result, Done) and result.trials and result.trials[0].iteration_s:
        trial = result.trials[0]
        last = last_part(trial)
        part = replace(trial, iteration_s=last, steady=rate_is_steady(last))
        params: dict[str, Scalar] = {**spec.params(), "phase": "sustained", "load_s": seconds}
        point = matmul_point(course, part, result.conditions, params, ())
        point = replace(point, extra={**point.extra, **_over_time(trial)})
        yield from course.tell(point, *load_points(course, "matmul", result.conditions))


def load_points(course: Course, workload: str, conditions: Conditions | None) -> tuple[Point, ...]:
    """Temperature and power at the end of the load, as far as the card reports them."""
    if conditions is None:
        return ()
    held = what_limits((conditions,))
    params: dict[str, Scalar] = {"load_s": round(conditions.duration_s, 1)}
    extra: dict[str, Scalar] = {"limiter": held.limiter.value, "limited_share": held.share}
    if conditions.core_temperature_start_c is not None:
        extra["start_c"] = conditions.core_temperature_start_c
    if conditions.fan_fraction is not None:
        extra["fan_fraction"] = conditions.fan_fraction
    figures = (
        ("load_temperature", conditions.core_temperature_end_c, "degC"),
        ("load_memory_temperature", conditions.memory_temperature_end_c, "degC"),
        ("load_power", conditions.power_w, "W"),
    )
    return tuple(
        course.make.figure(metric, workload, value, unit, params, conditions=conditions, extra=extra)
        for metric, value, unit in figures
        if value is not None
    )
