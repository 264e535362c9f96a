"""One job alone, several at once: the trials of a contention experiment, and what is known from them so far."""

from collections.abc import Generator, Sequence
from dataclasses import replace
from statistics import median
from typing import Protocol

from gputuner.analysis.contention import CoRun, co_run, common_window
from gputuner.analysis.trials import repeats_of
from gputuner.experiments.contention_commands import REASONS, tell_command, tell_rate_unknown
from gputuner.experiments.contention_jobs import mix_label
from gputuner.experiments.contention_pace import Pace
from gputuner.experiments.contention_points import (
    Known,
    Round,
    Shared,
    alone_point,
    mix_points,
    together_points,
    way_of,
)
from gputuner.experiments.course import Attempt, Course
from gputuner.experiments.tune_training import memory_short
from gputuner.model.readings import Scalar
from gputuner.model.steps import Done, Mode, OutOfMemory, Step, StepResult, Together, Trial, UserCodeFailed, Work

GUESSED_STEP_S = 0.1
"""Seconds of a step before anything was measured."""
ALONE, TOGETHER = "contend_alone", "contend_together"
"""Labels of the steps."""


class Runnable(Protocol):
    """A job that can be run: a training, or a command of the user's."""

    @property
    def name(self) -> str:
        """As figures name it."""
        ...

    @property
    def label(self) -> str:
        """Tells it from others in a mix."""
        ...

    def params(self) -> dict[str, Scalar]:
        """What its figures say of it."""
        ...

    def work(self, label: str, measure_s: float, *, warmup_s: float = ..., fresh: bool = ..., idle: int = ...) -> Work:
        """One trial of it."""
        ...


ALIKE = Shared()


class Lab:
    """Runs trials in the course of a plan, tells their figures, and keeps them."""

    def __init__(self, course: Course, pace: Pace, seed: int = 0) -> None:
        """``pace``: how long trials take; ``seed``: of orders that are left to chance."""
        self.course, self.pace, self.seed = course, pace, seed
        self.known = Known()
        self.refused: set[Mode] = set()
        """Modes that cannot be had here."""
        self.failed: Attempt | None = None
        """How the last trial ended that gave nothing; None: it gave something."""
        self._latest: dict[tuple[str, Mode], tuple[int, Trial]] = {}
        self._mixes = 0

    def step_s(self, job: Runnable) -> float:
        """Seconds of a step of ``job`` alone, as far as they are known."""
        alone = [trial for trials in self.known.alone_of(job.label).values() for trial, _ in trials]
        timed = [trial for trial in alone if trial.iteration_s]
        return median(timed[-1].iteration_s) if timed else GUESSED_STEP_S

    def round_s(self, jobs: Sequence[Runnable], *, fresh: bool) -> float:
        """Expected seconds of one round of a mix."""
        steps = [self.step_s(job) for job in jobs]
        return self.pace.round_s(steps, len({job.label for job in jobs}), fresh=fresh)

    def alone(
        self, job: Runnable, mode: Mode, *, idle: int, fresh: bool = False, last: bool = False
    ) -> Generator[Step, StepResult, Trial | None]:
        """One trial of ``job`` with ``idle`` further processes alive; tells its rate. None: it gave nothing."""
        idle = 0 if mode == "streams" else idle  # at once they are one process too
        measure_s = self.pace.measured_s(self.step_s(job))
        work = job.work(ALONE, measure_s, warmup_s=self.pace.warmup_s, fresh=fresh, idle=idle)
        step: Work | Together = work
        if mode != "processes":
            step = Together(label=ALONE, works=(replace(work, idle=0),), mode=mode, idle=idle)
        result = yield from self.course.attempt(step, self.pace.trial_s(self.step_s(job)))
        if not isinstance(result, Done) or not result.trials or not self._had(mode, result):
            yield from self._tell_failed(job, result)
            return None
        first, trial = not self.known.alone_of(job.label).get(mode), result.trials[0]
        batch = job.params().get("batch")
        if trial.notes.get("measured_batch", batch) != batch:
            yield from self.course.warn("contend_too_slow", workload=job.name, batch=batch or 0)
            return None
        self.failed = None
        yield from tell_rate_unknown(self.course, job, trial)
        self.known.keep_alone(job.label, mode, trial, result.conditions)
        self._latest[job.label, mode] = (self._mixes, trial)
        phase = "alone" if first else "alone_after" if last else "alone_between"
        yield from self.course.tell(*alone_point(self.course, job, mode, trial, result.conditions, phase))
        return trial

    def round(
        self,
        jobs: Sequence[Runnable],
        mode: Mode,
        *,
        shared: Shared = ALIKE,
        fresh: bool = False,
        ahead: int = 0,
        last: bool = False,
    ) -> Generator[Step, StepResult, Round | None]:
        """Solo, the mix, solo again; tells its slowdowns and gain over all rounds so far.

        Solo that was measured since the last mix is not repeated. As many processes are alive alone as in the mix;
        between two mixes, of which the next has ``ahead`` jobs, as many as in the larger.

        Args:
            jobs: the mix.
            mode: how they share the card.
            shared: in which parts, and whose work comes first.
            fresh: the mix runs in new processes.
            ahead: jobs of the next mix.
            last: no mix comes after it.
        """
        distinct = list({job.label: job for job in jobs}.values())
        before: dict[str, Trial] = {}
        for job in distinct:
            at, trial = self._latest.get((job.label, mode), (-1, None))
            if at != self._mixes or trial is None:
                trial = yield from self.alone(job, mode, idle=len(jobs) - 1)
            if trial is None:
                return None
            before[job.label] = trial
        found = yield from self._at_once(jobs, mode, shared, before, fresh=fresh)
        if found is None:
            return None
        way = way_of(mode, found.shared)
        if len(self.known.rounds[mix_label(found.jobs), way]) == 1:  # whoever cancels now keeps this much
            yield from self.tell_mix(found.jobs, way)
        after: dict[str, Trial] = {}
        for job in distinct:
            trial = yield from self.alone(job, mode, idle=max(len(jobs), ahead) - 1, last=last)
            if trial is not None:
                after[job.label] = trial
        whole = self._judged(replace(found, after=after))
        self.known.rounds[mix_label(found.jobs), way][-1] = whole
        if whole.found is None and whole.places:
            yield from self.course.warn("contend_no_overlap", jobs=len(whole.jobs))
        yield from self.tell_mix(found.jobs, way)
        return whole

    def _at_once(
        self, jobs: Sequence[Runnable], mode: Mode, shared: Shared, before: dict[str, Trial], *, fresh: bool
    ) -> Generator[Step, StepResult, Round | None]:
        """The mix; judged against solo before, kept and returned. None: fewer than two jobs ran at once."""
        steps = [self.step_s(job) for job in jobs]
        measure_s = self.pace.measured_s(sum(steps))
        works = tuple(job.work(TOGETHER, measure_s, warmup_s=self.pace.warmup_s, fresh=fresh, idle=0) for job in jobs)
        how = shared.of(mode, len(jobs))
        step = Together(
            label=TOGETHER, works=works, mode=mode, partly=True,
            thread_percentages=how.thread_percentages, priorities=how.priorities,
        )  # fmt: skip
        cost_s = self.pace.trial_s(sum(steps)) + (self.pace.restart_s if fresh or self._mixes == 0 else 0.0)
        result = yield from self.course.attempt(step, cost_s)
        self._mixes += 1
        if not isinstance(result, Done) or not self._had(mode, result):
            yield from self._tell_failed(None, result, len(jobs))
            return None
        self.failed = None
        found = _round(jobs, mode, how, result, before)
        for failed in result.failed:
            yield from self._tell_failed(jobs[failed.job], failed.result, len(jobs))
        if result.failed:
            self.failed = result.failed[0].result
        if len(found.jobs) < min(2, len(jobs)):
            return None
        judged = self._judged(found)
        self.known.rounds.setdefault((mix_label(judged.jobs), way_of(mode, judged.shared)), []).append(judged)
        yield from self.course.tell(*together_points(self.course, judged))
        return judged

    def _judged(self, of: Round) -> Round:
        """With slowdowns and gain of the jobs whose steps are known."""
        places = [place for place, trial in enumerate(of.trials) if trial.iteration_s]
        labels = [of.jobs[place].label for place in places]
        before = [of.before[label] for label in labels]
        after = [of.after[label] for label in labels if label in of.after]
        found: CoRun | None = None
        if places and all(trial.iteration_s for trial in (*before, *after)):
            found = co_run(
                [of.trials[place] for place in places], before, after if len(after) == len(before) else (),
                repeats_of(self.course.points), of.window,
            )  # fmt: skip
        return replace(of, places=tuple(places), found=found)

    def tell_mix(self, jobs: Sequence[Runnable], way: str) -> Generator[Step, StepResult, None]:
        """Tell slowdowns and gain of a mix over all of its rounds so far; ``way``: mode and shares (``way_of``)."""
        yield from self.course.tell(*mix_points(self.course, self.known, mix_label(jobs), way))

    def _had(self, mode: Mode, done: Done) -> bool:
        """Whether the jobs shared the card as they were asked to; the engine tells why not."""
        if done.mode != mode:
            self.refused.add(mode)
        return done.mode == mode

    def _tell_failed(self, job: Runnable | None, result: Attempt, jobs: int = 1) -> Generator[Step, StepResult, None]:
        """Say why a trial gave nothing (a lost process was told already); ``job`` None: it was all of several."""
        self.failed = result
        match result:
            case OutOfMemory() if jobs == 1 and job is not None:
                short = memory_short(self.course, result)
                batch = job.params().get("batch", 1)
                yield from self.course.warn("does_not_fit", workload=job.name, batch=batch, **short)
            case OutOfMemory():
                yield from self.course.warn("contend_memory_ends", jobs=jobs)
            case UserCodeFailed(reason=reason) if reason in REASONS and job is not None:
                yield from tell_command(self.course, job.name, result, jobs)
            case UserCodeFailed(message=message):
                name = job.name if job is not None else TOGETHER
                yield from self.course.warn("workload_failed", workload=name, message=message)
            case _:
                pass


def _round(jobs: Sequence[Runnable], mode: Mode, shared: Shared, done: Done, before: dict[str, Trial]) -> Round:
    """The jobs that began, and the time in which they ran all; one that failed then has a trial without steps."""
    never = {failed.job for failed in done.failed if failed.at_ns is None}
    lost_at = {failed.job: failed.at_ns for failed in done.failed if failed.at_ns is not None}
    begin_ns, end_ns = common_window(done.trials)
    kept = [place for place in range(len(jobs)) if place not in never]
    ended = iter(done.trials)
    nothing = Trial(iteration_s=(), t0_ns=begin_ns, t1_ns=end_ns)
    return Round(
        jobs=tuple(jobs[place] for place in kept),
        mode=mode,
        trials=tuple(nothing if place in lost_at else next(ended) for place in kept),
        conditions=done.conditions,
        before=before,
        window=(begin_ns, min((end_ns, *lost_at.values()))),
        broken=bool(lost_at),
        shared=Shared(
            thread_percentages=tuple(shared.thread_percentages[p] for p in kept if shared.thread_percentages),
            priorities=tuple(shared.priorities[p] for p in kept if shared.priorities),
        ),
    )
