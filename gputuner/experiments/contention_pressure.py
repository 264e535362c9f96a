"""Sensitivity curves: jobs beside pressure probes, and probes beside each other (methods §6).

Each probe runs alone first, which tells how many kernels make a burst; then each beside each other, which calibrates;
then each job beside each probe. One trial tells both what the job suffers and what it does to the probe.
"""

from collections.abc import Generator, Sequence
from itertools import combinations_with_replacement
from statistics import fmean, median

from gputuner.analysis.contention import common_window, inside
from gputuner.analysis.contention_pressure import Pressures, ProbeSetting, plausible
from gputuner.analysis.contention_stored import CALIBRATION, EXERTED, SENSITIVITY
from gputuner.analysis.limits import limit_flags
from gputuner.experiments.contention_measure import Lab, Runnable
from gputuner.experiments.contention_probes import PROBE, ProbePace, probe_work, settings_of
from gputuner.model.points import Conditions, Flag, Point
from gputuner.model.readings import Scalar
from gputuner.model.steps import Done, Mode, Step, StepResult, Together, Trial, UserCodeFailed

END_S = 5.0
"""Left at the end for what comes after."""
PARTNERS = 1


def sensitivities_cost(lab: Lab, jobs: int, mode: Mode) -> tuple[int, float]:
    """Steps and seconds of it all for so many jobs, before anything of them is known."""
    count, pace = len(settings_of(mode, cpu=lab.pace.cpu)), ProbePace.of(lab.pace)
    between = count * (count + 1) // 2
    beside_s = pace.beside_trial_s(0.05, lab.pace.warmup_s)
    return count + between + jobs * count, (count + between) * pace.trial_s + jobs * count * beside_s


class Probing:
    """Probes and jobs beside each other in one mode, in the course of a plan."""

    def __init__(self, lab: Lab, mode: Mode) -> None:
        """Nothing has run yet."""
        self._lab = lab
        self._mode: Mode = mode
        self._pace = ProbePace.of(lab.pace)
        self._passes: dict[tuple[str, float], int] = {}
        self._alone_s: dict[ProbeSetting, float] = {}
        self.probes: dict[tuple[ProbeSetting, ProbeSetting], float] = {}
        self.sensitivity: dict[tuple[str, ProbeSetting], float] = {}
        self.exerted: dict[tuple[str, ProbeSetting], float] = {}

    @property
    def settings(self) -> tuple[ProbeSetting, ...]:
        """Those that run here."""
        return tuple(self._alone_s)

    def found(self) -> Pressures:
        """What is known by now."""
        return Pressures(
            mode=self._mode,
            settings=self.settings,
            probes=dict(self.probes),
            sensitivity=dict(self.sensitivity),
            exerted=dict(self.exerted),
        )

    def alone(self, of: ProbeSetting) -> Generator[Step, StepResult, None]:
        """One probe alone, with as many processes alive as beside a job; what cannot run here is left out."""
        work = probe_work(of, self._pace.measure_s, self._passes.get((of.probe, of.burst_s), 0))
        idle = PARTNERS if self._mode != "streams" else 0
        step = Together(label=PROBE, works=(work,), mode=self._mode, idle=idle)
        result = yield from self._lab.course.attempt(step, self._pace.trial_s)
        if isinstance(result, UserCodeFailed):
            yield from self._lab.course.warn("contend_probe_missing", probe=of.probe, message=result.message)
        if not isinstance(result, Done) or result.mode != self._mode or not result.trials[0].iteration_s:
            return
        trial = result.trials[0]
        self._alone_s[of] = median(trial.iteration_s)
        self._passes.setdefault((of.probe, of.burst_s), int(trial.notes.get("passes", 0)))

    def calibrate(self, first: ProbeSetting, second: ProbeSetting) -> Generator[Step, StepResult, None]:
        """Two probes beside each other."""
        works = tuple(
            probe_work(each, self._pace.measure_s, self._passes.get((each.probe, each.burst_s), 0))
            for each in (first, second)
        )
        step = Together(label=PROBE, works=works, mode=self._mode)
        result = yield from self._lab.course.attempt(step, self._pace.trial_s)
        if not isinstance(result, Done) or result.mode != self._mode:
            return
        beside = self._slowed(result, (self._alone_s[first], self._alone_s[second]))
        if beside is None:
            return
        if first == second:
            beside = (fmean(beside), fmean(beside))
        self.probes[first, second], self.probes[second, first] = beside
        told = [_calibration(self._lab, self._mode, first, second, beside[0], result.conditions)]
        if first != second:
            told.append(_calibration(self._lab, self._mode, second, first, beside[1], result.conditions))
        yield from self._lab.course.tell(*told)

    def job(self, job: Runnable, of: ProbeSetting) -> Generator[Step, StepResult, None]:
        """A job beside a probe."""
        lab, step_s = self._lab, self._lab.step_s(job)
        alone_s = yield from self._job_alone_s(job)
        if alone_s is None:
            return
        measure_s, warmup_s = self._pace.beside_s(step_s), lab.pace.warmup_s
        probe = probe_work(of, measure_s, self._passes.get((of.probe, of.burst_s), 0), warmup_s)
        works = (job.work(PROBE, measure_s, warmup_s=warmup_s), probe)
        step = Together(label=PROBE, works=works, mode=self._mode)
        result = yield from lab.course.attempt(step, self._pace.beside_trial_s(step_s, warmup_s))
        if not isinstance(result, Done) or result.mode != self._mode:
            return
        beside = self._slowed(result, (alone_s, self._alone_s[of]))
        if beside is None:
            return
        self.sensitivity[job.label, of], self.exerted[job.label, of] = beside
        yield from lab.course.tell(
            _of_job(lab, self._mode, SENSITIVITY, job, of, beside[0], result.conditions),
            _of_job(lab, self._mode, EXERTED, job, of, beside[1], result.conditions),
        )

    def _job_alone_s(self, job: Runnable) -> Generator[Step, StepResult, float | None]:
        """Seconds per step of a job alone, the mean over its trials; measured where there is none."""
        known = self._lab.known
        if not known.alone_of(job.label).get(self._mode):
            yield from self._lab.alone(job, self._mode, idle=PARTNERS)
        trials = [trial for trial, _ in known.alone_of(job.label).get(self._mode, ()) if trial.iteration_s]
        return fmean(median(trial.iteration_s) for trial in trials) if trials else None

    def _slowed(self, done: Done, alone_s: Sequence[float]) -> tuple[float, float] | None:
        """Slowdowns of both over the steps wholly inside the common window; None: there are none."""
        window = common_window(done.trials)
        steps = [inside(trial, *window) or _most_inside(trial, window) for trial in done.trials]
        if len(steps) != len(alone_s) or not all(steps):
            return None
        first, second = (median(each) / alone for each, alone in zip(steps, alone_s, strict=True))
        return first, second


def _most_inside(trial: Trial, window: tuple[int, int]) -> tuple[float, ...]:
    """All steps of a trial that lies in the window for the larger part; else none."""
    overlap = min(window[1], trial.t1_ns) - max(window[0], trial.t0_ns)
    return trial.iteration_s if 2 * overlap > trial.t1_ns - trial.t0_ns else ()


def can_be_probed(job: Runnable) -> bool:
    """Whether it can run beside probes: a command of the user's would have to start anew for each of them."""
    return job.work(PROBE, 1.0).runtime != "command"


def sensitivities(
    lab: Lab, jobs: Sequence[Runnable], mode: Mode, keep_s: float = END_S
) -> Generator[Step, StepResult, Pressures | None]:
    """Probes alone, beside each other, and beside each job, as far as the time allows; tells every slowdown.

    Commands of the user's are left out, and whole jobs where time is short, the last ones first: of a job that was not
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
    for setting in settings_of(mode, cpu=lab.pace.cpu):
        yield from probing.alone(setting)
    settings = probing.settings
    for first, second in combinations_with_replacement(settings, 2):
        yield from probing.calibrate(first, second)
    for number, job in enumerate(distinct):
        cost_s = len(settings) * pace.beside_trial_s(lab.step_s(job), lab.pace.warmup_s)
        if not lab.course.fits(cost_s, keep_s):
            yield from lab.course.warn("contend_probes_cut", jobs=number, of=len(distinct))
            break
        for setting in settings:
            yield from probing.job(job, setting)
    found = probing.found()
    return found if found.reporters else None


def setting_params(of: ProbeSetting, prefix: str = "") -> dict[str, Scalar]:
    """How a figure names a setting."""
    told: dict[str, Scalar] = {f"{prefix}probe": of.probe, f"{prefix}dial": of.dial}
    if of.dial < 1.0 and of.probe != "host":
        told[f"{prefix}burst_ms"] = 1e3 * of.burst_s
    return told


def _flags(slowdown: float, conditions: Conditions | None) -> list[Flag]:
    flags = [*limit_flags(conditions)]
    if conditions is None or conditions.samples == 0:
        flags.append(Flag.NO_TELEMETRY)
    if not plausible(slowdown):
        flags.append(Flag.IMPLAUSIBLE)
    return flags


def _of_job(
    lab: Lab, mode: Mode, metric: str, job: Runnable, of: ProbeSetting, slowdown: float, conditions: Conditions | None
) -> Point:
    params: dict[str, Scalar] = {"job_label": job.label, **setting_params(of), "mode": mode}
    return lab.course.make.figure(
        metric, job.name, slowdown, "", params, conditions=conditions, flags=_flags(slowdown, conditions)
    )


def _calibration(
    lab: Lab, mode: Mode, slowed: ProbeSetting, beside: ProbeSetting, slowdown: float, conditions: Conditions | None
) -> Point:
    params: dict[str, Scalar] = {**setting_params(slowed, "other_"), **setting_params(beside), "mode": mode}
    return lab.course.make.figure(
        CALIBRATION, "pressure", slowdown, "", params, conditions=conditions, flags=_flags(slowdown, conditions)
    )
