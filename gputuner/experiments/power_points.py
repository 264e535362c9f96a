"""The figures of a power sweep."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gputuner.analysis.limits import THERMAL, share
from gputuner.analysis.power import Answer, Answers, Estimate, money_per_year
from gputuner.analysis.power_curve import Visit
from gputuner.experiments.contention_jobs import Job
from gputuner.experiments.course import Course
from gputuner.experiments.points import ENERGY_WINDOW_S
from gputuner.model.points import Conditions, Flag, Point
from gputuner.model.quantities import Quantity
from gputuner.model.readings import Scalar
from gputuner.model.steps import Done, Trial

if TYPE_CHECKING:
    from gputuner.experiments.power import Power
    from gputuner.experiments.power_dial import Dial, StoredVisit

CAP, CLOCK = "cap_w", "clock_mhz"
SWEEP, PASSIVE = "sweep", "passive"
"""How a figure was found: settings were changed, or nothing was."""


def visit_of(setting: float, trial: Trial, conditions: Conditions | None) -> Visit:
    """A measured trial as a visit."""
    joules, _ = joules_of(trial, conditions, counter=True)
    return Visit(
        setting=setting,
        rate=rate_of(trial),
        joules=joules,
        draw_w=None if conditions is None else conditions.power_w,
        temperature_c=None if conditions is None else conditions.core_temperature_end_c,
        heat_share=0.0 if conditions is None else share(conditions, *THERMAL),
    )


def rate_of(trial: Trial) -> float:
    """Samples/s over the whole window: with energy, a mean goes with a mean."""
    return trial.work["samples"] * len(trial.iteration_s) / sum(trial.iteration_s)


def joules_of(trial: Trial, conditions: Conditions | None, *, counter: bool) -> tuple[float | None, str]:
    """Joules per sample, and where they come from: the card's energy counter, or its mean power."""
    if conditions is None or conditions.duration_s < ENERGY_WINDOW_S:
        return None, ""
    if conditions.energy_j is not None and counter:
        return conditions.energy_j / conditions.duration_s / rate_of(trial), "counter"
    if conditions.power_w is not None:
        return conditions.power_w / rate_of(trial), "mean_power"
    return None, ""


def has_counter(done: Done) -> bool:
    """Whether the card has told its energy counter."""
    return any(Quantity.ENERGY_J in sample.values for sample in done.samples)


def visit_points(
    course: Course, job: Job, dial: "Dial", setting: float, number: int, done: Done, *, settled: bool, null: bool
) -> tuple[Point, ...]:
    """Rate (samples/s) and energy (J/sample) of one visit; ``number`` counts the visits of a setting from 1."""
    trial, conditions = done.trials[0], done.conditions
    params: dict[str, Scalar] = {**job.params(), dial.param: setting, "visit": number}
    if null:
        params["null"] = True
    flags = () if settled else (Flag.NOT_STEADY,)
    extra: dict[str, Scalar] = {"mean_rate": rate_of(trial)}
    samples = trial.work["samples"]
    rate = course.make.rate(
        "power_rate", job.name, "samples/s", samples, trial, conditions, params, flags=flags, extra=extra
    )
    joules, source = joules_of(trial, conditions, counter=has_counter(done))
    if joules is None:
        return (rate,)
    energy = course.make.figure(
        "power_energy", job.name, joules, "J/sample", params,
        conditions=conditions, flags=rate.flags, extra={"energy_source": source},
    )  # fmt: skip
    return rate, energy


def stored_points(course: Course, job: Job, dial: "Dial", stored: Sequence["StoredVisit"]) -> tuple[Point, ...]:
    """What other sessions of this card saw, with the session in ``extra``."""
    found: list[Point] = []
    for each in stored:
        params: dict[str, Scalar] = {**job.params(), dial.param: each.visit.setting, "visit": 0}
        extra: dict[str, Scalar] = {"session": each.session}
        found.append(course.make.figure("power_rate", job.name, each.visit.rate, "samples/s", params, extra=extra))
        if each.visit.joules is not None:
            found.append(
                course.make.figure("power_energy", job.name, each.visit.joules, "J/sample", params, extra=extra)
            )
    return tuple(found)


def answer_points(
    course: Course, spec: "Power", job: Job, dial: "Dial", found: Answers, how: str, **more: Scalar
) -> tuple[Point, ...]:
    """``power_knee``, ``power_fastest``, ``power_best_energy``, ``power_plateau``, in W (of a clock sweep MHz).

    Each but the last has a 95 % interval (extra ``low95``, ``high95``) and is compared with the highest setting:
    ``rate_change``, ``energy_change`` (fractions with ``_low``, ``_high``), ``draw_change_w``; ``heat_per_k`` is what
    heat did to the rate (relative, for a kelvin), which was taken out of it. Money where a price was told: for the
    same work as the card does in ``hours`` at the highest setting, and the energy of the card. ``more`` is in all.
    """
    told: list[Point] = []
    asked = {"power_knee": found.knee, "power_fastest": found.fastest, "power_best_energy": found.best_energy}
    for metric, answer in asked.items():
        if answer is None:
            continue
        params: dict[str, Scalar] = {**job.params(), "dial": dial.setting.value}
        if metric == "power_knee":
            params["loss"] = spec.loss
        extra = _extra(spec, dial, answer, found, how) | more
        told.append(course.make.figure(metric, job.name, answer.setting.value, dial.unit, params, extra=extra))
    if found.plateau is not None:
        told.append(plateau_point(course, job, dial, found.plateau, how, **more))
    return tuple(told)


def plateau_point(course: Course, job: Job, dial: "Dial", from_: Estimate, how: str, **more: Scalar) -> Point:
    """From this setting on nothing changes, up to ``top``.

    Extra ``range_low``, ``range_high`` say where that begins, and are no 95 % interval: the last setting that differed
    and the first that did not; or, where no other limit was tried, the highest reading (``peak_w``) and a limit above.
    """
    params: dict[str, Scalar] = {**job.params(), "dial": dial.setting.value}
    extra: dict[str, Scalar] = {"range_low": from_.low, "range_high": from_.high, "top": dial.high, "how": how, **more}
    return course.make.figure("power_plateau", job.name, from_.value, dial.unit, params, extra=extra)


def _extra(spec: "Power", dial: "Dial", answer: Answer, found: Answers, how: str) -> dict[str, Scalar]:
    extra: dict[str, Scalar] = {
        "low95": answer.setting.low,
        "high95": answer.setting.high,
        "floor": dial.floor if dial.by_clock else dial.low,
        "top": dial.high,
        "how": how,
        "rate": answer.rate,
        **_change("rate_change", answer.rate_change),
    }
    if answer.energy_change is not None and answer.joules is not None:
        extra |= {"joules": answer.joules, **_change("energy_change", answer.energy_change)}
    if answer.draw_w is not None and answer.draw_change_w is not None:
        extra |= {"draw_w": answer.draw_w, "draw_change_w": answer.draw_change_w}
    if found.per_k:
        extra["heat_per_k"] = found.per_k
    if found.falls_above is not None and found.fall is not None:
        extra |= {"falls_above": found.falls_above, "by_heat": found.heat, **_change("fall", found.fall)}
    if spec.price is not None and answer.draw_w is not None and answer.draw_change_w is not None:
        before = money_per_year(answer.draw_w - answer.draw_change_w, spec.price, spec.hours or 0.0)
        extra |= {"price_per_kwh": spec.price, "hours_per_year": spec.hours or 0.0, "money_before": before}
        change = answer.energy_change
        if change is not None:
            extra |= {
                "money_saved": -before * change.value,
                "money_saved_low": -before * change.high,
                "money_saved_high": -before * change.low,
            }
    return extra


def _change(name: str, of: Estimate) -> dict[str, Scalar]:
    return {name: of.value, f"{name}_low": of.low, f"{name}_high": of.high}
