"""What jobs lose when they share a card, and whether the measurement of it holds (methods §6)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gputuner.model.steps import Trial

VALID_SLOWDOWN = 0.97
"""A job cannot run faster beside another: a smaller slowdown means that clocks or neighbours moved."""
SOLO_MOVED = 0.05
"""Solo before against solo after: a larger change makes the comparison invalid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoRun:
    """Two or more jobs at once against alone."""

    slowdowns: tuple[float, ...]
    gain: float
    """Sum of the jobs' speeds relative to alone: 1 = no better than one after the other."""
    fairness: float
    """Jain's index of the jobs' relative speeds: 1 = all lose alike, 1/n = one has it all."""
    solo_change: float
    """Solo after over solo before, minus 1 (time per step)."""
    common_s: float

    @property
    def valid(self) -> bool:
        """True if no job seems faster than alone and solo did not move meanwhile."""
        return min(self.slowdowns) >= VALID_SLOWDOWN and abs(self.solo_change) <= SOLO_MOVED


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


def co_run(together: Sequence[Trial], before: Sequence[Trial], after: Sequence[Trial]) -> CoRun | None:
    """Slowdowns, gain and fairness of jobs that ran at once against each alone before and after (A B A).

    ``before[i]`` and ``after[i]`` are job i alone (one entry each: the jobs are alike); without ``after`` the change
    of solo is 0. None where no step lies wholly inside the common window.
    """
    t0_ns, t1_ns = common_window(together)
    slowdowns: list[float] = []
    change = 0.0
    for index, trial in enumerate(together):
        steps = inside(trial, t0_ns, t1_ns)
        if not steps:
            return None
        first = float(np.median(before[index % len(before)].iteration_s))
        last = float(np.median(after[index % len(after)].iteration_s)) if after else first
        change = max(change, last / first - 1.0, key=abs)
        slowdowns.append(float(np.median(steps)) / ((first + last) / 2.0))
    return CoRun(
        slowdowns=tuple(slowdowns),
        gain=aggregate_gain(slowdowns),
        fairness=fairness(slowdowns),
        solo_change=change,
        common_s=(t1_ns - t0_ns) / 1e9,
    )
