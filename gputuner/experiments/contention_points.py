"""What is known of jobs alone and at once, and the figures that tell it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import TYPE_CHECKING

from gputuner.analysis.contention import CoRun, inside
from gputuner.analysis.contention_baselines import (
    alone_tuned,
    clock_factor,
    energy_ratio,
    mean_power_w,
    p95_over_median,
    ratio,
    step_quantile,
)
from gputuner.analysis.contention_rounds import of_rounds
from gputuner.analysis.limits import limit_flags
from gputuner.experiments.course import Course
from gputuner.experiments.trained import skipped_share
from gputuner.model.points import Conditions, Flag, Point
from gputuner.model.readings import Scalar
from gputuner.model.steps import Mode, Trial

if TYPE_CHECKING:
    from gputuner.experiments.contention_measure import Runnable

NOTES = ("host_serialised", "thread_percentage", "priority", "threads", "iterations_per_window", "process_peak_bytes")
"""What a trial at once notes of how it shared the card."""
PEAKS = ("allocated_peak_bytes", "reserved_peak_bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """How the jobs of a mix share a card beside the mode; each tuple holds one value for each job, or is empty."""

    thread_percentages: tuple[int, ...] = ()
    priorities: tuple[int, ...] = ()

    def of(self, mode: Mode, jobs: int) -> "Shared":
        """What counts in ``mode`` for so many jobs: one value is that of all."""
        return Shared(
            thread_percentages=_each(self.thread_percentages, jobs) if mode == "mps" else (),
            priorities=_each(self.priorities, jobs) if mode == "streams" else (),
        )

    def options(self) -> tuple[tuple[str, str], ...]:
        """As the command line takes them; an empty value: not said."""
        return (
            ("--thread-percentage", ",".join(map(str, self.thread_percentages))),
            ("--priority", ",".join("high" if priority < 0 else "normal" for priority in self.priorities)),
        )

    @property
    def told(self) -> str:
        """As figures tell it: ``60,40``, ``high,normal``; empty: all alike."""
        return ",".join(told for _, told in self.options() if told)


def _each(values: tuple[int, ...], jobs: int) -> tuple[int, ...]:
    return values * jobs if len(values) == 1 else values[:jobs] if len(values) >= jobs else ()


def way_of(mode: Mode, shared: Shared) -> str:
    """The mode, and the shares where there are some."""
    return f"{mode}:{shared.told}" if shared.told else mode


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """A mix that ran once: solo before, at once, solo after."""

    jobs: "tuple[Runnable, ...]"
    mode: Mode
    trials: tuple[Trial, ...]
    """At once, in the order of the jobs."""
    conditions: Conditions | None
    before: Mapping[str, Trial]
    """Solo by label."""
    after: Mapping[str, Trial] = field(default_factory=lambda: {})
    window: tuple[int, int]
    """The time in which all ran, ns."""
    broken: bool = False
    """A job failed meanwhile: until then it ran too."""
    shared: Shared = Shared()
    places: tuple[int, ...] = ()
    """Of the jobs whose steps are known."""
    found: CoRun | None = None
    """Slowdowns and gain of these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """A job alone at its own best batch."""

    batch: int
    ratio: float
    """Its rate over that of the job as it ran (≥ 1)."""
    by: str
    """``measured``, or ``session`` and its id."""
    apart: float = 0.0
    """How far ``ratio`` may be off (relative, 95 %)."""


@dataclass(slots=True, kw_only=True)
class Known:
    """Everything that was measured so far."""

    rounds: dict[tuple[str, str], list[Round]] = field(default_factory=lambda: {})
    """By label of the mix and way of sharing (``way_of``)."""
    tuned: dict[str, Tuned] = field(default_factory=lambda: {})
    """By label of the job."""
    fixed_batch: bool = False
    """The batches are their owners' and stay."""
    _alone: dict[str, dict[Mode, list[tuple[Trial, Conditions | None]]]] = field(default_factory=lambda: {})

    def alone_of(self, label: str) -> Mapping[Mode, Sequence[tuple[Trial, Conditions | None]]]:
        """Trials of a job alone, and what the card did meanwhile, by mode, in the order measured."""
        return self._alone.get(label, {})

    def keep_alone(self, label: str, mode: Mode, trial: Trial, conditions: Conditions | None) -> None:
        """Add one."""
        self._alone.setdefault(label, {}).setdefault(mode, []).append((trial, conditions))

    def rate(self, label: str, mode: Mode) -> float | None:
        """Samples/s alone, the mean over its trials."""
        rates = [r for trial, _ in self.alone_of(label).get(mode, ()) if (r := rate_of(trial)) is not None]
        return mean(rates) if rates else None

    def conditions(self, label: str, mode: Mode) -> Conditions | None:
        """What the card did in the last trial of a job alone."""
        told = self.alone_of(label).get(mode, ())
        return told[-1][1] if told else None


def rate_of(trial: Trial, steps: Sequence[float] | None = None) -> float | None:
    """Samples/s of the median step; None where samples or steps are not known. Skipped steps are no work."""
    steps = trial.iteration_s if steps is None else steps
    samples = trial.work.get("samples")
    return samples * (1.0 - skipped_share(trial)) / step_quantile(steps, 0.5) if samples and steps else None


def alone_point(
    course: Course, job: "Runnable", mode: Mode, trial: Trial, conditions: Conditions | None, phase: str
) -> tuple[Point, ...]:
    """The rate alone, in steps where it is not known in samples; nothing where neither is."""
    params: dict[str, Scalar] = {**job.params(), "phase": phase, "mode": mode}
    return _rate_point(course, job, trial, conditions, params, trial.iteration_s)


def together_points(course: Course, of: Round) -> tuple[Point, ...]:
    """The rate of each job at once, of the steps wholly inside the common window."""
    label = "+".join(job.label for job in of.jobs)
    told: list[Point] = []
    for number, (job, trial) in enumerate(zip(of.jobs, of.trials, strict=True), 1):
        params = {**job.params(), "phase": "together", **_mix(label, of), "job": number}
        told += _rate_point(course, job, trial, of.conditions, params, inside(trial, *of.window))
    return tuple(told)


def _rate_point(
    course: Course, job: "Runnable", trial: Trial, conditions: Conditions | None, params: dict[str, Scalar],
    steps: tuple[float, ...],
) -> tuple[Point, ...]:  # fmt: skip
    samples = trial.work.get("samples")
    if not steps:
        return ()
    if not samples:  # a command that draws from no DataLoader
        return (
            course.make.rate("train_step_rate", job.name, "steps/s", 1.0, trial, conditions, params, iteration_s=steps),
        )
    flags = [Flag.IMPLAUSIBLE] if trial.notes.get("loss_finite") is False else []
    work = samples * (1.0 - skipped_share(trial))
    return (
        course.make.rate(
            "train_throughput", job.name, "samples/s", work, trial, conditions, params, flags=flags, iteration_s=steps
        ),
    )


def _mix(label: str, of: Round) -> dict[str, Scalar]:
    shares: dict[str, Scalar] = {"shares": of.shared.told} if of.shared.told else {}
    return {"mix": label, "mode": of.mode, **shares, "jobs": len(of.jobs)}


def mix_points(course: Course, known: Known, label: str, way: str) -> tuple[Point, ...]:
    """Slowdowns and gain of a mix over all of its rounds; nothing where no steps lay inside a common window."""
    return round_points(course, known, known.rounds.get((label, way), ()))


def round_points(course: Course, known: Known, rounds: Sequence[Round], **more: Scalar) -> tuple[Point, ...]:
    """Slowdowns and gain over these rounds of one mix in one mode; ``more`` goes to the params."""
    rounds = [each for each in rounds if each.found is not None]
    rounds = [each for each in rounds if each.places == rounds[-1].places]
    found = [each.found for each in rounds if each.found is not None]
    if not found:
        return ()
    whole, last = of_rounds(found), rounds[-1]
    label = "+".join(job.label for job in last.jobs)
    flags = [*limit_flags(last.conditions)]
    if last.conditions is None or last.conditions.samples == 0:
        flags.append(Flag.NO_TELEMETRY)
    if not whole.valid:
        flags.append(Flag.IMPLAUSIBLE)
    common: dict[str, Scalar] = {
        "solo_change": whole.solo_change,
        "between_trials": whole.between,
        "rounds": len(rounds),
    }
    told = [
        course.make.figure(
            "co_run_slowdown",
            last.jobs[place].name,
            job.spread.median,
            "",
            {**last.jobs[place].params(), **_mix(label, last), "job": place + 1, **more},
            conditions=last.conditions,
            flags=[*job.flags, *flags],
            repeats=job.spread,
            extra={**common, **_of_job(known, rounds, place, job.spread.median)},
        )
        for place, job in zip(last.places, whole.jobs, strict=True)
    ]
    if len(last.places) == len(last.jobs) and not last.broken:
        told.append(
            course.make.figure(
                "co_run_gain",
                label,
                whole.gain,
                "",
                {**_mix(label, last), **_alike(last), **more},
                conditions=last.conditions,
                flags=[*whole.flags, *flags],
                repeats=whole.gain_spread,
                extra={**common, **_of_mix(known, last, whole)},
            )
        )
    return tuple(told)


def _alike(of: Round) -> dict[str, Scalar]:
    """Params of the job where all are the same."""
    return of.jobs[0].params() if len({job.label for job in of.jobs}) == 1 else {}


def _of_job(known: Known, rounds: Sequence[Round], place: int, slowdown: float) -> dict[str, Scalar]:
    """What is told of a job beside its slowdown."""
    last = rounds[-1]
    job, trials = last.jobs[place], [each.trials[place] for each in rounds]
    steps = [s for each in rounds for s in inside(each.trials[place], *each.window)]
    middle, slowest = step_quantile(steps, 0.5), step_quantile(steps, 0.95)
    solo = known.alone_of(job.label).get(last.mode, ())
    alone = known.rate(job.label, last.mode)
    timed = _timed(trials[-1])
    told: dict[str, Scalar | None] = {
        "clock_factor": clock_factor(known.conditions(job.label, last.mode), last.conditions),
        "step_median_s": middle,
        f"{timed}_p95_s": slowest,
        f"{timed}_p95_over_median": slowest / middle,
        **({f"alone_{_timed(solo[-1][0])}_p95_over_median": p95_over_median(solo[-1][0])} if solo else {}),
        "rate_alone": alone,
        "rate_together": None if alone is None else alone / slowdown,
        **{name: max((t.memory[name] for t in trials if name in t.memory), default=None) for name in PEAKS},
        **{name: trials[-1].notes.get(name) for name in NOTES},
    }
    for name, values in (("thread_percentage", last.shared.thread_percentages), ("priority", last.shared.priorities)):
        if values:
            told[name] = values[place]
    return {name: value for name, value in told.items() if value is not None}


def _timed(trial: Trial) -> str:
    """What its times are of: steps, or windows, whose means of several steps hide single slow ones."""
    several = trial.notes.get("iterations_per_window", 1)
    return "window" if isinstance(several, int) and several > 1 else "step"


def _of_mix(known: Known, last: Round, whole: CoRun) -> dict[str, Scalar]:
    """What is told of a mix beside its gain."""
    alone = [known.conditions(job.label, last.mode) for job in last.jobs]
    tuned = [known.tuned.get(job.label) for job in last.jobs]
    ratios = [each.ratio for each in tuned if each is not None]
    by = dict.fromkeys(each.by for each in tuned if each is not None)
    watts = [w for each in alone if (w := mean_power_w(each)) is not None]
    clocks = [c for each in alone if (c := clock_factor(each, last.conditions)) is not None]
    told: dict[str, Scalar | None] = {
        "one_after_other": 1.0,
        "alone_tuned": alone_tuned(whole.slowdowns, ratios) if len(ratios) == len(tuned) else None,
        "alone_tuned_apart": max((each.apart for each in tuned if each is not None), default=None),
        "tuned_by": "fixed" if known.fixed_batch else ", ".join(by) or None,
        "fairness": whole.fairness,
        "energy_ratio": energy_ratio(whole.slowdowns, alone, last.conditions),
        "power_ratio": ratio(mean_power_w(last.conditions), mean(watts) if len(watts) == len(alone) else None),
        "clock_factor": mean(clocks) if len(clocks) == len(alone) else None,
        "solo_after_measured": bool(last.after),
        "valid": whole.valid,
        "common_s": whole.common_s,
        "host_serialised": any(trial.notes.get("host_serialised") is True for trial in last.trials) or None,
        "tuned_batch": tuned[0].batch if tuned[0] is not None and len(set(map(_batch, tuned))) == 1 else None,
    }
    return {name: value for name, value in told.items() if value is not None}


def _batch(of: Tuned | None) -> int | None:
    return None if of is None else of.batch
