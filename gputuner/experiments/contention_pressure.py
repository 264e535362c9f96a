"""Sensitivity curves: jobs beside pressure probes, and probes beside each other (methods §6).

Each probe runs alone first, which tells how many kernels make a burst; then each beside each other, which calibrates;
then each job beside each probe, in an order by the run's seed; then each probe alone again. One trial tells both what
the job suffers and what it does to the probe.
"""

from collections.abc import Generator, Sequence
from itertools import combinations_with_replacement

from gputuner.analysis.contention_pressure import Pressures
from gputuner.experiments.contention_measure import Lab, Runnable
from gputuner.experiments.contention_probes import PROBE, ProbePace, settings_of
from gputuner.experiments.contention_probing import Probing
from gputuner.model.steps import Mode, Step, StepResult

END_S = 5.0
"""Left at the end for what comes after."""


def sensitivities_cost(lab: Lab, jobs: int, mode: Mode) -> tuple[int, float]:
    """Steps and seconds of it all for so many jobs, before anything of them is known."""
    count, pace = len(settings_of(mode, cpu=lab.pace.cpu)), ProbePace.of(lab.pace)
    probes = 2 * count + count * (count + 1) // 2
    beside_s = pace.beside_trial_s(0.05, lab.pace.warmup_s)
    return probes + jobs * count, probes * pace.trial_s + jobs * count * beside_s


def can_be_probed(job: Runnable) -> bool:
    """Whether it can run beside probes: a command of the user's would have to start anew for each of them."""
    return job.work(PROBE, 1.0).runtime != "command"


def sensitivities(
    lab: Lab, jobs: Sequence[Runnable], mode: Mode, keep_s: float = END_S
) -> Generator[Step, StepResult, Pressures | None]:
    """Probes alone, beside each other, beside each job, and alone again, as far as the time allows; tells slowdowns.

    Commands of the user's are left out; where time is short the second runs alone, then whole jobs, the last ones
    first: of a job that was not
    beside every probe nothing can be predicted. None: there is no time for a single one, or the probes could not be
    calibrated.
    """
    distinct = [job for job in {job.label: job for job in jobs}.values() if can_be_probed(job)]
    if not distinct:
        return None
    probing = Probing(lab, mode)
    pace = ProbePace.of(lab.pace)
    if not lab.course.fits(sensitivities_cost(lab, 1, mode)[1], keep_s):
        yield from lab.course.warn("contend_probes_cut", jobs=0, of=len(distinct))
        return None
    for setting in probing.shuffled(settings_of(mode, cpu=lab.pace.cpu)):
        yield from probing.alone(setting)
    settings = probing.settings
    for first, second in probing.shuffled([*combinations_with_replacement(settings, 2)]):
        yield from probing.calibrate(first, second)
    for number, job in enumerate(distinct):
        cost_s = len(settings) * pace.beside_trial_s(lab.step_s(job), lab.pace.warmup_s)
        if not lab.course.fits(cost_s, keep_s):
            yield from lab.course.warn("contend_probes_cut", jobs=number, of=len(distinct))
            break
        for setting in probing.shuffled(settings):
            yield from probing.job(job, setting)
    for setting in probing.shuffled(settings):
        if lab.course.fits(pace.trial_s, keep_s):
            yield from probing.alone(setting)
    yield from probing.closed()
    found = probing.found()
    return found if found.reporters else None
