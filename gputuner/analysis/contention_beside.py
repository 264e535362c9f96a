"""One job or probe beside another over alone: the slowdown with the spread of both, and solo that moves meanwhile.

Dozens of such short trials make the curves of a run, so their intervals come from a formula in place of the bootstrap:
the standard error of a median is 1.253 standard deviations over the root of the number of independent values (normal
theory), the deviation from the IQR, and the number from the autocorrelation at lag 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, hypot, log, sqrt

import numpy as np

from gputuner.analysis.contention import common_window, inside
from gputuner.analysis.statistics import MINIMUM_BLOCKS, NORMAL_975, iqr, lag_one
from gputuner.analysis.trials import Repeats
from gputuner.model.points import Flag, Spread
from gputuner.model.steps import Trial

MEDIAN_OVER_MEAN = 1.2533
"""Standard error of a median over that of a mean, of normal values."""
IQR_OF_NORMAL = 1.349
SOLO_MOVED = 0.02
"""A probe alone that changed by more from the start to the end makes what it told doubtful."""
LEAST_INSIDE = 3
"""Fewer steps wholly inside the common window are not enough to take their median."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Solo:
    """Steps alone, and when they ran (s, on the clock of the trials)."""

    steps: Spread
    at_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """Steps beside another, wholly inside the time in which both ran, and when that was."""

    steps: tuple[float, ...]
    at_s: float


def middle_s(trial: Trial) -> float:
    """The middle of what a trial timed, s."""
    return 0.5 * (trial.t0_ns + trial.t1_ns) / 1e9


def solo_of(trial: Trial) -> Solo | None:
    """A trial alone; None: it has no steps."""
    return Solo(steps=quick_spread(trial.iteration_s), at_s=middle_s(trial)) if trial.iteration_s else None


def mean_solo(solos: Sequence[Solo]) -> Solo:
    """All solos as one: the mean of their medians, with the scatter of the last, at its time.

    Raises:
        ValueError: there is none.
    """
    if not solos:
        raise ValueError("alone it did not run")
    last = solos[-1].steps
    factor = sum(solo.steps.median for solo in solos) / len(solos) / last.median
    low, high = (None if each is None else each * factor for each in (last.ci95_low, last.ci95_high))
    steps = Spread(n=last.n, median=last.median * factor, iqr=last.iqr * factor, ci95_low=low, ci95_high=high)
    return Solo(steps=steps, at_s=solos[-1].at_s)


def beside_of(trials: Sequence[Trial]) -> tuple[Beside, ...] | None:
    """The steps of each trial inside the common window; None where those of one are too few."""
    window = common_window(trials)
    told = [Beside(steps=inside(trial, *window), at_s=0.5 * sum(window) / 1e9) for trial in trials]
    return tuple(told) if all(len(each.steps) >= LEAST_INSIDE for each in told) else None


def quick_spread(steps: Sequence[float]) -> Spread:
    """Median, IQR and the interval by normal theory; no interval of fewer than 20 steps.

    Raises:
        ValueError: no steps.
    """
    if not steps:
        raise ValueError("no steps")
    middle, wide = float(np.median(steps)), iqr(steps)
    if len(steps) < MINIMUM_BLOCKS or middle <= 0:
        return Spread(n=len(steps), median=middle, iqr=wide)
    dependent = lag_one(steps)
    independent = max(1.0, len(steps) * (1.0 - dependent) / (1.0 + dependent))
    half = NORMAL_975 * MEDIAN_OVER_MEAN * wide / IQR_OF_NORMAL / sqrt(independent)
    return Spread(n=len(steps), median=middle, iqr=wide, ci95_low=middle - half, ci95_high=middle + half)


def solo_change(solos: Sequence[Solo]) -> float | None:
    """The last solo over the first, minus 1 (time per step); None: it ran alone but once."""
    return solos[-1].steps.median / solos[0].steps.median - 1.0 if len(solos) > 1 else None


def alone_at(solos: Sequence[Solo], at_s: float) -> float:
    """Seconds per step alone at a time, on straight lines between the solos; beyond them as the nearest.

    Raises:
        ValueError: there is none.
    """
    if not solos:
        raise ValueError("alone it did not run")
    known = sorted(solos, key=lambda solo: solo.at_s)
    return float(np.interp(at_s, [solo.at_s for solo in known], [solo.steps.median for solo in known]))


def slowed(of: Beside, solos: Sequence[Solo], between: Repeats) -> Spread:
    """The slowdown: its IQR and interval hold the spread together, alone, and between trials of the same work.

    ``n``: steps together. No interval where those together or alone are too few for one.
    """
    together, alone_s = quick_spread(of.steps), alone_at(solos, of.at_s)
    value = together.median / alone_s
    alone = [solo.steps for solo in solos]
    relative = hypot(together.iqr / together.median, sum(each.iqr / each.median for each in alone) / len(alone))
    halves = [_half(each) for each in (together, *alone)]
    low = high = None
    if all(half is not None for half in halves):
        own, *others = (half or 0.0 for half in halves)
        half = hypot(own, hypot(*others) / len(alone), between.half(1.0 + 1.0 / len(alone)))
        low, high = value * exp(-half), value * exp(half)
    return Spread(n=together.n, median=value, iqr=value * relative, ci95_low=low, ci95_high=high)


def beside_flags(slowdown: Spread, moved: float | None) -> tuple[Flag, ...]:
    """What a slowdown beside a probe must say of itself."""
    few = (Flag.FEW_SAMPLES,) if slowdown.ci95_low is None else ()
    return (*few, *((Flag.NOT_STEADY,) if abs(moved or 0.0) > SOLO_MOVED else ()))


def mean_spread(spreads: Sequence[Spread]) -> Spread:
    """Alike spreads, of a slowdown that was measured in two places at once, as one (geometric mean).

    Raises:
        ValueError: there is none.
    """
    if not spreads:
        raise ValueError("no spread")
    value = exp(sum(log(each.median) for each in spreads) / len(spreads))
    halves = [_half(each) for each in spreads]
    half = None if None in halves else max(h for h in halves if h is not None)
    return Spread(
        n=min(each.n for each in spreads),
        median=value,
        iqr=value * max(each.iqr / each.median for each in spreads),
        ci95_low=None if half is None else value * exp(-half),
        ci95_high=None if half is None else value * exp(half),
    )


def _half(of: Spread) -> float | None:
    """Relative half-width of an interval."""
    return None if of.ci95_low is None or of.ci95_high is None else 0.5 * (of.ci95_high - of.ci95_low) / of.median
