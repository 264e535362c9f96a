"""Figures of jobs and probes beside probes."""

from dataclasses import dataclass

from gputuner.analysis.contention_beside import beside_flags
from gputuner.analysis.contention_pressure import ProbeSetting, plausible
from gputuner.analysis.contention_stored import CALIBRATION
from gputuner.analysis.limits import limit_flags
from gputuner.experiments.course import Course
from gputuner.model.points import Conditions, Flag, Point, Spread
from gputuner.model.readings import Scalar
from gputuner.model.steps import Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class Slowed:
    """A slowdown, how much alone changed meanwhile, and how much of the card's peak its probe reaches alone."""

    spread: Spread
    solo_change: float | None
    share_of_peak: float | None = None


def setting_params(of: ProbeSetting, prefix: str = "") -> dict[str, Scalar]:
    """How a figure names a setting."""
    told: dict[str, Scalar] = {f"{prefix}probe": of.probe, f"{prefix}dial": of.dial}
    if of.dial < 1.0 and of.probe != "host":
        told[f"{prefix}burst_ms"] = 1e3 * of.burst_s
    return told


def job_point(
    course: Course,
    metric: str,
    label: str,
    name: str,
    of: ProbeSetting,
    mode: Mode,
    slowed: Slowed,
    conditions: Conditions | None,
) -> Point:
    """A job beside a probe, or that probe beside the job."""
    return _point(course, metric, name, {"job_label": label, **setting_params(of), "mode": mode}, slowed, conditions)


def calibration_point(
    course: Course,
    slowed: ProbeSetting,
    beside: ProbeSetting,
    mode: Mode,
    found: Slowed,
    conditions: Conditions | None,
) -> Point:
    """A probe beside another."""
    params: dict[str, Scalar] = {**setting_params(slowed, "other_"), **setting_params(beside), "mode": mode}
    return _point(course, CALIBRATION, "pressure", params, found, conditions)


def _point(
    course: Course, metric: str, name: str, params: dict[str, Scalar], found: Slowed, conditions: Conditions | None
) -> Point:
    flags = [*limit_flags(conditions), *beside_flags(found.spread, found.solo_change)]
    if conditions is None or conditions.samples == 0:
        flags.append(Flag.NO_TELEMETRY)
    if not plausible(found.spread.median):
        flags.append(Flag.IMPLAUSIBLE)
    extra: dict[str, Scalar] = {}
    if found.solo_change is not None:
        extra["solo_change"] = found.solo_change
    if found.share_of_peak is not None:
        extra["probe_share_of_peak"] = found.share_of_peak
    return course.make.figure(
        metric, name, found.spread.median, "", params, conditions=conditions, flags=flags, extra=extra,
        repeats=found.spread,
    )  # fmt: skip
