"""What an advice gained when it was tried, A B B A: the ratio of the rates with its interval, and what that says.

The order cancels a steady drift (methods §1). What is compared are whole trials: how far those of one side differ is
the error, so that clocks, allocator and neighbours are in the interval as well as the scatter of the steps.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import exp, log, sqrt

from gputuner.analysis.distributions import student_quantile
from gputuner.analysis.statistics import NORMAL_975, relative_half_width
from gputuner.analysis.trials import ASSUMED_TRIALS, BETWEEN_TRIALS
from gputuner.model.advice import Gain
from gputuner.model.points import Spread

LEAST_TRIALS = 2
"""Fewer trials of a side give no interval."""


class Verdict(StrEnum):
    """A realised gain against what was predicted."""

    AS_PREDICTED = "as_predicted"
    """The two intervals meet (of a predicted gain without one: it lies in the realised interval)."""
    MORE = "more"
    """Above the predicted interval."""
    LESS = "less"
    """A gain, below the predicted interval."""
    GAIN = "gain"
    """A gain where none was predicted in figures."""
    NO_GAIN = "no_gain"
    """The interval holds 0, and what was predicted lies above it."""
    LOSS = "loss"
    """Slower than before."""
    UNCLEAR = "unclear"
    """Too few trials for an interval."""
    SAVES = "saves"
    """Less peak memory, where that is the aim."""
    SAVES_NOTHING = "saves_nothing"
    """No less, or not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Realised:
    """The rate as advised over the rate before, minus 1, with its 95 % interval (None: too few trials)."""

    value: float
    low: float | None = None
    high: float | None = None
    between: float = BETWEEN_TRIALS
    """Relative standard deviation between trials of the same setting that the interval rests on."""
    trials: int = 0
    """Of both sides together."""

    @property
    def gain(self) -> Gain:
        """As a gain."""
        return Gain(value=self.value, unit="fraction", low=self.low, high=self.high)


def realised(base: Sequence[Spread], advised: Sequence[Spread]) -> Realised:
    """The gain from the rates of the trials of both sides, each with its spread.

    The ratio of the geometric means, with Student's interval from how far trials of a side differ: the wider of that
    from s² = Σ d² / Σ (n − 1) alone (d: deviations of the logarithms from their side's mean), and that from
    s² = (2·(0.003² + w²) + Σ d²) / (2 + Σ (n − 1)), in which what is known without these trials stands for two more:
    0.3 % between trials (as ``trials.between_trials``), and the mean square w of the relative standard errors within.
    The first alone would call four trials that happen to agree exact; the second is too narrow where trials differ by
    more than was known. The wider covers 95 to 99 % of the time from four trials on, for scatters of 0.3 to 10 %.

    Raises:
        ValueError: a side has no trial, or a rate is not above 0.
    """
    sides = [[log(each.median) for each in side] for side in (base, advised)]
    if not all(sides):
        raise ValueError("each side needs a trial")
    means = [sum(logs) / len(logs) for logs in sides]
    ratio = exp(means[1] - means[0])
    within = [_standard_error(each) ** 2 for each in (*base, *advised)]
    squares = sum((entry - mean) ** 2 for logs, mean in zip(sides, means, strict=True) for entry in logs)
    own = sum(len(logs) - 1 for logs in sides)
    known = BETWEEN_TRIALS**2 + sum(within) / len(within)
    between = sqrt((ASSUMED_TRIALS * known + squares) / (ASSUMED_TRIALS + own))
    trials = len(base) + len(advised)
    if min(map(len, sides)) < LEAST_TRIALS:
        return Realised(value=ratio - 1.0, between=between, trials=trials)
    half = max(
        student_quantile(0.975, ASSUMED_TRIALS + own) * between, student_quantile(0.975, own) * sqrt(squares / own)
    )
    factor = exp(half * sqrt(sum(1.0 / len(logs) for logs in sides)))
    return Realised(
        value=ratio - 1.0, low=ratio / factor - 1.0, high=ratio * factor - 1.0, between=between, trials=trials
    )


def _standard_error(of: Spread) -> float:
    """Relative, of a trial's median; its whole IQR where the trial gave no interval."""
    half = relative_half_width(of)
    return of.iqr / of.median if half is None else half / NORMAL_975


def together(rates: Sequence[Spread]) -> Spread:
    """The rate of several trainings at once: the sum, with half-widths and IQRs joined as roots of sums of squares.

    Raises:
        ValueError: there is none.
    """
    if not rates:
        raise ValueError("no rates")
    total = sum(each.median for each in rates)
    widths = [
        (each.median - each.ci95_low, each.ci95_high - each.median)
        for each in rates
        if each.ci95_low is not None and each.ci95_high is not None
    ]
    whole = len(widths) == len(rates)
    return Spread(
        n=min(each.n for each in rates),
        median=total,
        iqr=_root(each.iqr for each in rates),
        ci95_low=total - _root(low for low, _ in widths) if whole else None,
        ci95_high=total + _root(high for _, high in widths) if whole else None,
    )


def _root(parts: Iterable[float]) -> float:
    return sqrt(sum(part**2 for part in parts))


SAVED = 0.01
"""Peak memory is less from this share on."""


def memory_verdict(change: float | None) -> Verdict:
    """What a relative change of peak memory says where memory is the aim; None: it was not measured."""
    return Verdict.SAVES if change is not None and change <= -SAVED else Verdict.SAVES_NOTHING


def verdict(predicted: Gain | None, found: Realised) -> Verdict:
    """What the realised gain says of the predicted one."""
    if found.low is None or found.high is None:
        return Verdict.UNCLEAR
    if predicted is None:
        return Verdict.GAIN if found.low > 0 else Verdict.LOSS if found.high < 0 else Verdict.NO_GAIN
    low = predicted.value if predicted.low is None else predicted.low
    high = predicted.value if predicted.high is None else predicted.high
    if found.low <= high and low <= found.high:
        return Verdict.AS_PREDICTED
    if found.low > high:
        return Verdict.MORE
    if found.low > 0:
        return Verdict.LESS
    return Verdict.LOSS if found.high < 0 else Verdict.NO_GAIN
