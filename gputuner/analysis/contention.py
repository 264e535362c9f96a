"""What jobs lose when they share a card, and whether the measurement of it holds (methods §6)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp, hypot, log, sqrt

import numpy as np

from gputuner.analysis.statistics import relative_half_width, spread, spread_flags
from gputuner.analysis.trials import ASSUMED_TRIALS, Repeats
from gputuner.model.points import Flag, Spread
from gputuner.model.steps import Trial

VALID_SLOWDOWN = 0.97
"""A job cannot run faster beside another: a smaller slowdown means that clocks or neighbours moved."""
SOLO_MOVED = 0.05
"""Solo before against solo after: a larger change makes the comparison invalid."""

UNKNOWN = Repeats()
"""No trial was repeated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slowdown:
    """One job's time per step together over alone, with its interval (trial-to-trial spread included) and flags."""

    spread: Spread
    """``n`` steps within the common window; ``median`` is the slowdown."""
    flags: tuple[Flag, ...] = ()
    within: float | None = None
    """Relative half-width of the 95 % interval from the steps alone, without the spread between trials."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoRun:
    """Two or more jobs at once against alone."""

    jobs: tuple[Slowdown, ...]
    gain_spread: Spread
    """Sum of the jobs' speeds relative to alone: 1 = no better than one after the other."""
    fairness: float
    """Jain's index of the jobs' relative speeds: 1 = all lose alike, 1/n = one has it all."""
    solo_change: float
    """Solo after over solo before, minus 1 (time per step)."""
    between: float
    """Relative standard deviation between trials of the same work that the intervals include."""
    common_s: float
    gain_within: float | None = None
    """As ``Slowdown.within``, of the gain."""

    @property
    def slowdowns(self) -> tuple[float, ...]:
        """Time per step together over alone, one for each job."""
        return tuple(job.spread.median for job in self.jobs)

    @property
    def gain(self) -> float:
        """Sum of the jobs' speeds relative to alone."""
        return self.gain_spread.median

    @property
    def valid(self) -> bool:
        """True if no job seems faster than alone and solo did not move meanwhile."""
        return min(self.slowdowns) >= VALID_SLOWDOWN and abs(self.solo_change) <= SOLO_MOVED

    @property
    def flags(self) -> tuple[Flag, ...]:
        """What is wrong with the pair as a whole: every flag of a job, and ``implausible`` where it is not valid."""
        found = [flag for job in self.jobs for flag in job.flags]
        return tuple(dict.fromkeys([*found, *(() if self.valid else (Flag.IMPLAUSIBLE,))]))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """Together and alone of one job: seconds per step, and relative half-widths of 95 % intervals within trials."""

    together: Spread
    alone_s: float
    together_half: float | None
    alone_half: float | None
    flags: tuple[Flag, ...]

    @property
    def slowdown(self) -> float:
        return self.together.median / self.alone_s


def aggregate_gain(slowdowns: Sequence[float]) -> float:
    """Σ 1/slowdown: work done per time together, over that of one job alone."""
    return sum(1.0 / s for s in slowdowns)


def fairness(slowdowns: Sequence[float]) -> float:
    """Jain's index (Σx)²/(n·Σx²) of the relative speeds x = 1/slowdown."""
    x = np.asarray([1.0 / s for s in slowdowns], dtype=np.float64)
    return float(x.sum() ** 2 / (x.size * (x @ x)))


def common_window(trials: Sequence[Trial]) -> tuple[int, int]:
    """Start and end (ns) of the time in which all trials ran; end ≤ start where they did not overlap."""
    return max(t.t0_ns for t in trials), min(t.t1_ns for t in trials)


def inside(trial: Trial, t0_ns: int, t1_ns: int) -> tuple[float, ...]:
    """The entries of ``iteration_s`` that lie wholly inside the window.

    Entries stand for equal numbers of iterations, so each one's place follows from the running sum, scaled to the
    trial's own window.
    """
    total = sum(trial.iteration_s)
    if total <= 0 or t1_ns <= t0_ns:
        return ()
    scale = (trial.t1_ns - trial.t0_ns) / total
    kept: list[float] = []
    at = float(trial.t0_ns)
    slack = 1e-6 * (trial.t1_ns - trial.t0_ns)
    for seconds in trial.iteration_s:
        end = at + seconds * scale
        if at >= t0_ns - slack and end <= t1_ns + slack:
            kept.append(seconds)
        at = end
    return tuple(kept)


def co_run(
    together: Sequence[Trial],
    before: Sequence[Trial],
    after: Sequence[Trial],
    between: Repeats | float = UNKNOWN,
    window: tuple[int, int] | None = None,
) -> CoRun | None:
    """Slowdowns, gain and fairness of jobs that ran at once against each alone before and after (A B A).

    ``before[i]`` and ``after[i]`` are job i alone (one entry each: the jobs are alike); without ``after`` the change
    of solo is 0. None where no step lies wholly inside the common window; ``window`` is a shorter one, of a co-run
    that also held jobs whose steps are not known, or in which one failed.

    Intervals combine relative half-widths in the logarithm as roots of sums of squares: of the steps together, of the
    steps alone (mean of before and after), and Student's between trials (``trials.Repeats.half``), once for the time
    together and once, over their number, for the solo trials. ``between`` is what the run's repeated trials tell of
    the scatter (a bare deviation counts as assumed); where they tell nothing, solo before and after are the repeats:
    95 % are covered at any scatter, but one round with one pair of solo trials knows it from a single difference, so
    its interval is wide. Without ``after`` and without repeats the scatter is taken to be 0.3 %, and it is too narrow
    where that does not hold. Solo and the co-run itself are common to all jobs, so in the gain only the scatter of
    the steps together averages out.
    """
    t0_ns, t1_ns = window or common_window(together)
    jobs: list[_Job] = []
    change = 0.0
    for index, trial in enumerate(together):
        solo = [trials[index % len(trials)] for trials in (before, after) if trials]
        job = _job(trial, inside(trial, t0_ns, t1_ns), solo)
        if job is None:
            return None
        first, last = (float(np.median(t.iteration_s)) for t in (solo[0], solo[-1]))
        change = max(change, last / first - 1.0, key=abs)
        jobs.append(job)
    told = between if isinstance(between, Repeats) else _assumed(between)
    if not told.own and after:
        told = _of_pairs(before, after, told)
    moved = abs(log(1.0 + change)) / sqrt(2.0)
    common_half = told.half(1.0 + 1.0 / (2 if after else 1), least=moved)
    within = _gain_half(jobs)
    return CoRun(
        jobs=tuple(_slowdown(job, common_half) for job in jobs),
        gain_spread=_gain(jobs, None if within is None else hypot(within, common_half)),
        fairness=fairness([job.slowdown for job in jobs]),
        solo_change=change,
        between=max(told.between, moved),
        common_s=(t1_ns - t0_ns) / 1e9,
        gain_within=within,
    )


def _assumed(between: float) -> Repeats:
    """A deviation that is assumed in place of the usual 0.3 %: it stands for two trials as that does."""
    return Repeats(squares=max(0.0, ASSUMED_TRIALS * (between**2 - UNKNOWN.between**2)))


def _of_pairs(before: Sequence[Trial], after: Sequence[Trial], told: Repeats) -> Repeats:
    """Solo before against solo after of each job as repeats: the half of each squared logarithm, one degree each."""
    pairs = {id(first): (first, last) for first, last in zip(before, after, strict=False)}
    logs = [log(float(np.median(b.iteration_s)) / float(np.median(a.iteration_s))) for a, b in pairs.values()]
    return Repeats(squares=told.squares + sum(each**2 for each in logs) / 2.0, own=len(logs))


@lru_cache(maxsize=64)
def _spread_of(steps: tuple[float, ...]) -> Spread:
    """``spread``, kept: the same solo run stands beside each of several jobs, and beside two mixes."""
    return spread(steps)


def _job(trial: Trial, steps: tuple[float, ...], solo: Sequence[Trial]) -> _Job | None:
    if not steps:
        return None
    beside = _spread_of(steps)
    alone = [_spread_of(t.iteration_s) for t in solo]
    halves = [half for half in map(relative_half_width, alone) if half is not None]
    flags = [*spread_flags(steps, beside)]
    for trial_alone, of in zip(solo, alone, strict=True):
        flags += spread_flags(trial_alone.iteration_s, of)
    if not all(t.steady for t in (trial, *solo)):
        flags.append(Flag.NOT_STEADY)
    if any(t.too_slow for t in (trial, *solo)):
        flags.append(Flag.TOO_SLOW)
    return _Job(
        together=beside,
        alone_s=float(np.mean([of.median for of in alone])),
        together_half=relative_half_width(beside),
        alone_half=hypot(*halves) / len(alone) if len(halves) == len(alone) else None,
        flags=tuple(dict.fromkeys(flags)),
    )


def _slowdown(job: _Job, common_half: float) -> Slowdown:
    value = job.slowdown
    within = half = None
    if job.together_half is not None and job.alone_half is not None:
        within = hypot(job.together_half, job.alone_half)
        half = hypot(within, common_half)
    steps = job.together
    flags = job.flags if value >= VALID_SLOWDOWN else (*job.flags, Flag.IMPLAUSIBLE)
    spread_of = _spread(steps.n, value, steps.iqr / job.alone_s, half, steps.block_length)
    return Slowdown(spread=spread_of, flags=flags, within=within)


def _shares(jobs: Sequence[_Job]) -> tuple[float, list[tuple[float, _Job]]]:
    """The gain, and each job's share of it."""
    value = aggregate_gain([job.slowdown for job in jobs])
    return value, [(1.0 / job.slowdown / value, job) for job in jobs]


def _gain_half(jobs: Sequence[_Job]) -> float | None:
    """Relative half-width of the gain's interval from the steps, with the jobs' shares of it as weights."""
    _, shared = _shares(jobs)
    within = [share * job.together_half for share, job in shared if job.together_half is not None]
    alone = [share * job.alone_half for share, job in shared if job.alone_half is not None]
    return hypot(*within, sum(alone)) if len(within) == len(alone) == len(jobs) else None


def _gain(jobs: Sequence[_Job], half: float | None) -> Spread:
    """The gain; ``n`` the fewest steps of a job."""
    value, shared = _shares(jobs)
    iqr = hypot(*(share * job.together.iqr / job.together.median for share, job in shared))
    lengths = [job.together.block_length for job in jobs if job.together.block_length is not None]
    return _spread(min(job.together.n for job in jobs), value, value * iqr, half, max(lengths, default=None))


def _spread(n: int, value: float, iqr: float, half: float | None, length: int | None) -> Spread:
    low, high = (value / exp(half), value * exp(half)) if half is not None else (None, None)
    return Spread(n=n, median=value, iqr=iqr, ci95_low=low, ci95_high=high, block_length=length)
