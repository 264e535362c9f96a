"""From what was measured to the figures of a benchmark: rate, operations or bytes, and whether the result was right."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from gputuner.analysis.limits import share
from gputuner.experiments.benchmarks.bursts import burst_conditions, burst_flags, in_bursts
from gputuner.experiments.benchmarks.judging import implausible, measured_against
from gputuner.experiments.benchmarks.peers import peer_extra, peer_flags
from gputuner.experiments.course import Course
from gputuner.model.points import Conditions, Flag, Point
from gputuner.model.quantities import Limiter
from gputuner.model.readings import Scalar
from gputuner.model.steps import Part, PeerSeen, Trial

AMOUNTS = {"flop": "operations", "bytes": "bytes", "samples": "samples", "tokens": "tokens", "calls": "calls"}
"""What a body counts per iteration → name of the amount in a point's ``extra``; value × ``seconds`` equals it."""
MOSTLY = 0.5
"""Share of a survey's time from which on a limit is taken to have been on in each of its settings."""


def rate(
    course: Course,
    benchmark: str,
    metric: str,
    unit: str,
    counted: str,
    measured: Trial | Part,
    conditions: Conditions | None,
    params: dict[str, Scalar],
    *,
    flags: Iterable[Flag] = (),
    extra: dict[str, Scalar] | None = None,
    peers: Sequence[PeerSeen] = (),
) -> Point:
    """The median rate of ``measured`` with its spread, conditions, flags and judgement.

    Args:
        course: the run's course.
        benchmark: name of the benchmark that it belongs to (``extra["benchmark"]``).
        metric: e.g. ``matmul_rate``.
        unit: of the rate, e.g. ``FLOP/s``.
        counted: which of ``measured.work`` the rate is of: a key of ``AMOUNTS``.
        measured: a trial, or one part of a survey.
        conditions: what the card did meanwhile.
        params: of what: shapes, precision, phase.
        flags: beside those that follow from the measurement.
        extra: further figures.
        peers: the further cards that it was measured with.
    """
    work = measured.work[counted]
    flags, extra = (*flags, *peer_flags(peers)), {**(extra or {}), **peer_extra(peers)}
    if isinstance(measured, Part):
        conditions, origin = stand_in(course, conditions)
        extra = {**extra, **origin}
        if in_bursts(measured):
            conditions, drawn = burst_conditions(measured, conditions, course.conditions)
            extra, flags = {**extra, **drawn}, (*flags, *burst_flags(measured, conditions))
    trial = measured if isinstance(measured, Trial) else _as_trial(measured)
    point = course.make.rate(metric, benchmark, unit, work, trial, conditions, params, flags=flags, extra=extra)
    seconds = work / point.value
    told: dict[str, Scalar] = {
        "benchmark": benchmark,
        AMOUNTS[counted]: work,
        "seconds": seconds,
        "correct": True,
        "checked": _checked(measured),
    }
    point = replace(point, extra={**point.extra, **told})
    against = measured_against(course.context, course.points, point, trial, counted)
    flags_told = (*point.flags, Flag.IMPLAUSIBLE) if implausible(against) else point.flags
    return replace(point, extra={**against, **point.extra}, flags=tuple(dict.fromkeys(flags_told)))


def _checked(measured: Trial | Part) -> str:
    """What ``correct`` means: compared with a reference, a finite loss, or only what was computed from it later."""
    if measured.relative_error is not None:
        return "reference"
    return "loss_finite" if measured.notes.get("loss_finite") is True else "later"


def stand_in(course: Course, own: Conditions | None) -> tuple[Conditions | None, dict[str, Scalar]]:
    """The conditions of a setting; of one that falls between two readings, what holds of the whole survey, marked so.

    A limit is its own where the readings before and after it both saw it. Else it stands for every setting only if it
    was on for most of the survey, or for none of it; what was on in between is that of other settings, and not known
    of this one. Energy and duration of the survey are not the setting's.
    """
    whole = course.conditions
    if (own is not None and own.samples) or whole is None:
        return own, {}
    limited = {name: seconds for name, seconds in whole.limited_s.items() if not 0 < share(whole, name) < MOSTLY}
    seconds = own.duration_s if own is not None else whole.duration_s
    scale = seconds / whole.duration_s if whole.duration_s else 1.0
    scaled = {name: value * scale for name, value in limited.items()}
    held = replace(
        whole,
        duration_s=seconds,
        energy_j=None,
        limited_s=scaled | _around(own),
        limited_from_samples=True,
    )
    return held, {"conditions_of": "survey"}


def _around(own: Conditions | None) -> dict[Limiter, float]:
    """Limits that hold for the whole of a setting without a reading: those around it agree."""
    if own is None:
        return {}
    return {name: own.limited_s[name] for name in own.limited_s if share(own, name) in (0.0, 1.0)}


def _as_trial(part: Part) -> Trial:
    return Trial(
        iteration_s=part.iteration_s,
        t0_ns=part.t0_ns,
        t1_ns=part.t1_ns,
        work=part.work,
        relative_error=part.relative_error,
        notes=part.notes,
    )
