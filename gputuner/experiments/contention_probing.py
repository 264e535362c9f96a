"""Trials of probes alone, beside each other, and beside jobs, and what they come to.

A probe runs alone at the start, when the card is coolest, and again at the end: its speed alone at the time of a trial
lies on the straight line between the two. Figures are told as they come, by what is known then, and once more where the
second run alone changes them.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from gputuner.analysis.contention_beside import (
    Beside,
    Solo,
    beside_of,
    mean_solo,
    mean_spread,
    slowed,
    solo_change,
    solo_of,
)
from gputuner.analysis.contention_pressure import Pressures, ProbeSetting
from gputuner.analysis.contention_reach import FULL, reached
from gputuner.analysis.contention_stored import EXERTED, SENSITIVITY
from gputuner.analysis.trials import Repeats, repeats_of
from gputuner.experiments.contention_measure import Lab, Runnable
from gputuner.experiments.contention_pressure_points import Slowed, calibration_point, job_point
from gputuner.experiments.contention_probes import PROBE, ProbePace, probe_work, settings_of
from gputuner.model.points import Conditions, Point
from gputuner.model.steps import Done, Mode, Step, StepResult, Together, UserCodeFailed, Work

PARTNERS = 1
LENGTHENED = 2.5
"""Where too few steps lie in the time in which both ran, the trial is run once more, so many times as long."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ran:
    """Two that ran at once: a job or a probe, and a probe."""

    job: Runnable | None
    first: ProbeSetting | None
    second: ProbeSetting
    beside: tuple[Beside, ...]
    conditions: Conditions | None
    job_solos: tuple[Solo, ...] = ()


class Probing:
    """Probes and jobs beside each other in one mode, in the course of a plan."""

    def __init__(self, lab: Lab, mode: Mode) -> None:
        """Nothing has run yet."""
        self._lab = lab
        self._mode: Mode = mode
        self._pace = ProbePace.of(lab.pace)
        self._passes: dict[tuple[str, float], int] = {}
        self._solos: dict[ProbeSetting, list[Solo]] = {}
        self._reached: dict[ProbeSetting, float] = {}
        self._ran: list[_Ran] = []
        self._told: dict[tuple[int, int], float] = {}
        self._random = Random(lab.seed)
        self.probes: dict[tuple[ProbeSetting, ProbeSetting], float] = {}
        self.sensitivity: dict[tuple[str, ProbeSetting], float] = {}
        self.exerted: dict[tuple[str, ProbeSetting], float] = {}

    @property
    def settings(self) -> tuple[ProbeSetting, ...]:
        """Those that run here."""
        return tuple(each for each in settings_of(self._mode, cpu=self._lab.pace.cpu) if each in self._solos)

    def shuffled(self, things: Sequence[T]) -> list[T]:
        """In an order by the run's seed: what changes with time falls on all alike."""
        return self._random.sample([*things], len(things))

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
        idle = PARTNERS if self._mode != "streams" else 0
        step = Together(label=PROBE, works=(self._work(of, self._pace.measure_s),), mode=self._mode, idle=idle)
        result = yield from self._lab.course.attempt(step, self._pace.trial_s)
        if isinstance(result, UserCodeFailed):
            yield from self._lab.course.warn("contend_probe_missing", probe=of.probe, message=result.message)
        solo = solo_of(result.trials[0]) if isinstance(result, Done) and result.mode == self._mode else None
        if not isinstance(result, Done) or solo is None:
            return
        first = of not in self._solos
        self._solos.setdefault(of, []).append(solo)
        trial = result.trials[0]
        self._passes.setdefault((of.probe, of.burst_s), int(trial.notes.get("passes", 0)))
        if first and of.dial >= 1.0:
            context = self._lab.course.context
            share = reached(of.probe, trial, context.card, context.published, result.conditions)
            if share is not None:
                self._reached[of] = share
            if share is not None and share < FULL:
                yield from self._lab.course.warn("contend_probe_weak", probe=of.probe, share=share)

    def calibrate(self, first: ProbeSetting, second: ProbeSetting) -> Generator[Step, StepResult, None]:
        """Two probes beside each other."""

        def works(measure_s: float) -> tuple[Work, ...]:
            return self._work(first, measure_s), self._work(second, measure_s)

        found = yield from self._both(works, self._pace.measure_s, self._pace.trial_s, first.label, second.label)
        if found is not None:
            yield from self._keep(_Ran(job=None, first=first, second=second, beside=found[0], conditions=found[1]))

    def job(self, job: Runnable, of: ProbeSetting) -> Generator[Step, StepResult, None]:
        """A job beside a probe."""
        lab, step_s = self._lab, self._lab.step_s(job)
        solos = yield from self._job_alone(job)
        if not solos:
            return
        warmup_s = lab.pace.warmup_s

        def works(measure_s: float) -> tuple[Work, ...]:
            return job.work(PROBE, measure_s, warmup_s=warmup_s), self._work(of, measure_s, warmup_s)

        cost_s = self._pace.beside_trial_s(step_s, warmup_s)
        found = yield from self._both(works, self._pace.beside_s(step_s), cost_s, job.label, of.label)
        if found is not None:
            beside, conditions = found
            yield from self._keep(
                _Ran(job=job, first=None, second=of, beside=beside, conditions=conditions, job_solos=solos)
            )

    def closed(self) -> Generator[Step, StepResult, None]:
        """Tell anew what the runs alone at the end have changed."""
        for number in range(len(self._ran)):
            yield from self._tell(number)

    def _work(self, of: ProbeSetting, measure_s: float, warmup_s: float | None = None) -> Work:
        passes = self._passes.get((of.probe, of.burst_s), 0)
        return probe_work(of, measure_s, passes) if warmup_s is None else probe_work(of, measure_s, passes, warmup_s)

    def _both(
        self, works: Callable[[float], tuple[Work, ...]], measure_s: float, cost_s: float, first: str, second: str
    ) -> Generator[Step, StepResult, tuple[tuple[Beside, ...], Conditions | None] | None]:
        """Two at once; once more for longer where too few steps lie wholly in the time in which both ran, else none."""
        for times in (1.0, LENGTHENED):
            longer_s = (times - 1.0) * measure_s
            if longer_s and not self._lab.course.fits(cost_s + longer_s):
                break
            step = Together(label=PROBE, works=works(times * measure_s), mode=self._mode)
            result = yield from self._lab.course.attempt(step, cost_s + longer_s)
            if not isinstance(result, Done) or result.mode != self._mode:
                return None
            beside = beside_of(result.trials)
            if beside is not None:
                return beside, result.conditions
        yield from self._lab.course.warn("contend_probe_apart", first=first, second=second)
        return None

    def _job_alone(self, job: Runnable) -> Generator[Step, StepResult, tuple[Solo, ...]]:
        """A job's runs alone; measured where there is none."""
        known = self._lab.known
        if not known.alone_of(job.label).get(self._mode):
            yield from self._lab.alone(job, self._mode, idle=PARTNERS)
        solos = [solo_of(trial) for trial, _ in known.alone_of(job.label).get(self._mode, ())]
        return tuple(solo for solo in solos if solo is not None)

    def _keep(self, ran: _Ran) -> Generator[Step, StepResult, None]:
        self._ran.append(ran)
        yield from self._tell(len(self._ran) - 1)

    def _tell(self, number: int) -> Generator[Step, StepResult, None]:
        """Judge a pair by what is known alone now; tell the figures that are new or have changed."""
        ran, between = self._ran[number], repeats_of(self._lab.course.points)
        told = self._of_job(ran, ran.job, between) if ran.job is not None else self._of_probes(ran, between)
        fresh: list[Point] = []
        for place, point in enumerate(told):
            if point.value != self._told.get((number, place)):
                self._told[number, place] = point.value
                fresh.append(point)
        if fresh:
            yield from self._lab.course.tell(*fresh)

    def _probe(self, of: ProbeSetting, beside: Beside, between: Repeats) -> Slowed:
        solos = self._solos[of]
        return Slowed(spread=slowed(beside, solos, between), solo_change=solo_change(solos))

    def _of_job(self, ran: _Ran, job: Runnable, between: Repeats) -> list[Point]:
        of, share = ran.second, self._reached.get(ran.second)
        suffers = Slowed(
            spread=slowed(ran.beside[0], [mean_solo(ran.job_solos)], between),
            solo_change=solo_change(ran.job_solos),
            share_of_peak=share,
        )
        exerts = self._probe(of, ran.beside[1], between)
        self.sensitivity[job.label, of], self.exerted[job.label, of] = suffers.spread.median, exerts.spread.median
        return [
            job_point(self._lab.course, metric, job.label, job.name, of, self._mode, found, ran.conditions)
            for metric, found in ((SENSITIVITY, suffers), (EXERTED, exerts))
        ]

    def _of_probes(self, ran: _Ran, between: Repeats) -> list[Point]:
        pair = (ran.first or ran.second, ran.second)
        found = [self._probe(of, each, between) for of, each in zip(pair, ran.beside, strict=True)]
        if pair[0] == pair[1]:
            mean = mean_spread([each.spread for each in found])
            found = [Slowed(spread=mean, solo_change=found[0].solo_change)]
        told: list[Point] = []
        for (of, other), each in zip((pair, pair[::-1]), found, strict=False):
            self.probes[of, other] = each.spread.median
            told.append(calibration_point(self._lab.course, of, other, self._mode, each, ran.conditions))
        return told
