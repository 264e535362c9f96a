"""``--null``: each job beside an idle partner: how often a slowdown is seen that is none.

What differs between a job alone and in a mix is all there but the partner's work: new processes, a context of the
partner's own, the wait at the barrier, and what runs untimed after it.
"""

from collections.abc import Generator, Sequence
from dataclasses import replace

from gputuner.analysis.contention import co_run
from gputuner.analysis.contention_null import null_found
from gputuner.analysis.trials import repeats_of
from gputuner.experiments.contention_measure import TOGETHER, Lab, Runnable
from gputuner.experiments.contention_points import Round, round_points
from gputuner.model.points import Spread
from gputuner.model.readings import Scalar
from gputuner.model.steps import Done, Mode, Step, StepResult, Together, Trial

ROUNDS_MOST = 20
"""Rounds of each job, at most."""
END_S = 3.0
PARTNER = 1
BARRIER_S = 2.0
"""For so long a job may wait for the last of a mix."""


def null_rounds(
    lab: Lab, jobs: Sequence[Runnable], modes: Sequence[Mode] = ("processes",)
) -> Generator[Step, StepResult, None]:
    """In each mode: solo, the same as if in a mix with an idle partner, solo again, in rounds while the time allows.

    Then the rate of errors. An idle process is alive in all three.
    """
    distinct = list({job.label: job for job in jobs}.values())
    for place, mode in enumerate(modes):
        later = len(modes) - place - 1
        keep_s = END_S + max(0.0, lab.course.left_s - END_S) * later / (later + 1)
        yield from _of_mode(lab, distinct, mode, keep_s)


def _of_mode(lab: Lab, distinct: Sequence[Runnable], mode: Mode, keep_s: float) -> Generator[Step, StepResult, None]:
    found: dict[str, list[Spread]] = {job.label: [] for job in distinct}
    before: dict[str, Trial] = {}
    for number in range(1, ROUNDS_MOST + 1):
        for job in distinct:
            cost_s = 2.0 * lab.pace.trial_s(lab.step_s(job)) + lab.pace.restart_s + BARRIER_S
            if number > 1 and not lab.course.fits(cost_s, keep_s):
                break
            yield from _round(lab, job, mode, number, before, found[job.label])
            if mode in lab.refused:
                return  # the engine tells why
    for job in distinct:
        yield from _tell(lab, job, mode, found[job.label])


def _round(
    lab: Lab, job: Runnable, mode: Mode, number: int, before: dict[str, Trial], found: list[Spread]
) -> Generator[Step, StepResult, None]:
    first = before.get(job.label)
    if first is None:
        first = yield from lab.alone(job, mode, idle=PARTNER)
        if first is None:
            return
    step_s = lab.step_s(job)
    work = job.work(TOGETHER, lab.pace.measured_s(step_s), warmup_s=lab.pace.warmup_s, fresh=True)
    step = Together(label=TOGETHER, works=(replace(work, idle_before_s=BARRIER_S),), mode=mode, idle=PARTNER)
    result = yield from lab.course.attempt(step, lab.pace.trial_s(step_s) + lab.pace.restart_s + BARRIER_S)
    if isinstance(result, Done) and result.mode != mode:
        lab.refused.add(mode)
        return
    after = yield from lab.alone(job, mode, idle=PARTNER)
    if after is not None:
        before[job.label] = after
    if not isinstance(result, Done) or not result.trials or after is None:
        return
    beside = result.trials[0]
    judged = co_run((beside,), (first,), (after,), repeats_of(lab.course.points))
    if judged is None:
        return
    found.append(judged.jobs[0].spread)
    told = Round(
        jobs=(job,),
        mode=mode,
        trials=(beside,),
        conditions=result.conditions,
        before={job.label: first},
        after={job.label: after},
        window=(beside.t0_ns, beside.t1_ns),
        places=(0,),
        found=judged,
    )
    yield from lab.course.tell(*round_points(lab.course, lab.known, (told,), null=True, round=number))


def _tell(lab: Lab, job: Runnable, mode: Mode, slowdowns: Sequence[Spread]) -> Generator[Step, StepResult, None]:
    found = null_found(slowdowns)
    if found is None:
        yield from lab.course.warn("null_nothing")
        return
    extra: dict[str, Scalar] = {
        "benchmark": job.label,
        "pairs": found.rounds,
        "false_difference_rate": found.false_rate,
        "largest": found.largest,
    }
    yield from lab.course.tell(
        lab.course.make.figure("null_difference", job.label, found.difference, "fraction", {"mode": mode}, extra=extra)
    )
