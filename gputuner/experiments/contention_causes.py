"""Tells why the jobs of the mixes that ran lose time, from what they did beside probes."""

from collections.abc import Generator
from statistics import fmean

from gputuner.analysis.contention_baselines import clock_factor
from gputuner.analysis.contention_causes import (
    CLOCK,
    HOST_SERIALISED,
    MEMORY,
    UNKNOWN,
    Cause,
    HostSeen,
    MemorySeen,
    cause_of,
    plain_cause,
)
from gputuner.analysis.contention_pressure import Pressures
from gputuner.analysis.contention_rounds import of_rounds
from gputuner.analysis.contention_stored import CAUSE
from gputuner.experiments.contention_measure import Lab
from gputuner.experiments.contention_points import Round
from gputuner.model.points import Point
from gputuner.model.readings import Scalar
from gputuner.model.steps import Mode, Step, StepResult


def causes(lab: Lab, mode: Mode, found: Pressures | None) -> Generator[Step, StepResult, None]:
    """A figure for each cause of each job that slowed, in every mix that ran in ``mode``.

    Jobs that were not beside the probes are judged by clock and memory alone.
    """
    for (_, way), rounds in list(lab.known.rounds.items()):
        told = [each for each in rounds if each.found is not None]
        if way != mode or not told or told[-1].mode != mode:
            continue
        last = told[-1]
        whole = of_rounds([each.found for each in told if each.found is not None and each.places == last.places])
        if not whole.valid:
            continue  # of figures that do not hold there is nothing to explain
        for place, slowed in zip(last.places, whole.jobs, strict=True):
            yield from _tell(lab, last, place, slowed.spread.median, found)


def _tell(
    lab: Lab, of: Round, place: int, slowdown: float, found: Pressures | None
) -> Generator[Step, StepResult, None]:
    labels = [job.label for job in of.jobs]
    alone = lab.known.conditions(labels[place], of.mode)
    clock, busy = clock_factor(alone, of.conditions), alone.gpu_utilisation if alone is not None else None
    memory, host = MemorySeen(retries=_retries(lab, of, place)), _host(lab, of)
    if found is not None and set(labels) <= set(found.jobs):
        partners = [*labels[:place], *labels[place + 1 :]]
        cause = cause_of(
            found, labels[place], partners, slowdown, clock_factor=clock, busy_alone=busy, host=host, memory=memory
        )
    else:
        alternating = of.mode == "processes" and not lab.pace.cpu
        cause = plain_cause(
            slowdown, alternating=alternating, clock_factor=clock, busy_alone=busy, host=host, memory=memory
        )
    if cause is not None and cause.verdict != MEMORY and _serialised(lab, of):
        cause = _by_host(cause)
    if cause is not None and (found is not None or cause.verdict != UNKNOWN):
        yield from lab.course.tell(*_points(lab, of, place, cause))


def _serialised(lab: Lab, of: Round) -> bool:
    """Whether streams were held up by their one Python; on a processor that note is always there and tells nothing."""
    return not lab.pace.cpu and any(trial.notes.get("host_serialised") is True for trial in of.trials)


def _by_host(cause: Cause) -> Cause:
    """All but the clock's part is the host's: what probes met then was a queue that ran dry."""
    clock = cause.shares.get(CLOCK, 0.0)
    shares = {HOST_SERIALISED: 1.0 - clock, **({CLOCK: clock} if clock > 0.0 else {})}
    return Cause(verdict=HOST_SERIALISED, slowdown=cause.slowdown, shares=shares)


def _retries(lab: Lab, of: Round, place: int) -> int:
    """Allocations that had to be tried again together, where there were none alone."""
    alone = [trial for trial, _ in lab.known.alone_of(of.jobs[place].label).get(of.mode, ())]
    if any(trial.memory.get("allocator_retries", 0) for trial in alone):
        return 0
    return of.trials[place].memory.get("allocator_retries", 0)


def _host(lab: Lab, of: Round) -> HostSeen | None:
    """The processor while the mix ran, as its trials read it, and how busy the card was beside one job alone."""
    told = [use for trial in of.trials if isinstance(use := trial.notes.get("host_busy"), int | float)]
    if not told:
        return None
    if lab.pace.cpu:  # the card is the processor itself
        return HostSeen(processor=fmean(told))
    alone = [lab.known.conditions(job.label, of.mode) for job in of.jobs]
    busy = [each.gpu_utilisation for each in alone if each is not None and each.gpu_utilisation is not None]
    return HostSeen(
        processor=fmean(told),
        card_together=of.conditions.gpu_utilisation if of.conditions is not None else None,
        card_alone=max(busy, default=None),
    )


def _points(lab: Lab, of: Round, place: int, cause: Cause) -> tuple[Point, ...]:
    """One for each cause by its share; of a slowdown that nothing explains one that says so."""
    job = of.jobs[place]
    params: dict[str, Scalar] = {
        "mix": "+".join(each.label for each in of.jobs),
        "mode": of.mode,
        "job": place + 1,
        "job_label": job.label,
    }
    extra: dict[str, Scalar] = {
        "verdict": cause.verdict,
        "slowdown": cause.slowdown,
        "explained": cause.explained,
        "by_probes": cause.by_probes,
        "alternating": cause.alternating,
    }
    shares = cause.shares or {cause.verdict: 0.0}
    return tuple(
        lab.course.make.figure(
            CAUSE, job.name, share, "fraction", {**params, "cause": name}, conditions=of.conditions, extra=extra
        )
        for name, share in shares.items()
    )
