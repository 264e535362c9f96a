"""A against B over whole trials taken in turn (A B B A): the ratio of their rates and its 95 % interval.

One rule for all that compares so (switches, loaders, advice that is tried). The order cancels a steady drift, and how
far whole trials of one side differ is the error: clocks, allocator and neighbours are in it as well as the scatter
within a trial (methods §1).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, sqrt

from gputuner.analysis.distributions import student_quantile
from gputuner.analysis.statistics import NORMAL_975, relative_half_width
from gputuner.analysis.trials import ASSUMED_TRIALS, BETWEEN_TRIALS
from gputuner.model.advice import Gain
from gputuner.model.points import Point, Spread

Round = tuple[Sequence[Spread], Sequence[Spread]]
"""Rates of the trials of both sides, A first, in one process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The rate of B over that of A, minus 1, with its 95 % interval (None: too few trials to know it)."""

    value: float
    low: float | None = None
    high: float | None = None
    between: float = BETWEEN_TRIALS
    """Relative standard deviation between trials of the same setting."""
    trials: int = 0
    """Of both sides together."""

    @property
    def gain(self) -> Gain:
        """As a gain."""
        return Gain(value=self.value, unit="fraction", low=self.low, high=self.high)

    @property
    def is_faster(self) -> bool:
        """Whether B is known to be faster: the whole interval lies above 0."""
        return self.low is not None and self.low > 0

    @property
    def half(self) -> float | None:
        """Half of the interval's width."""
        return None if self.low is None or self.high is None else 0.5 * (self.high - self.low)


def compared(base: Sequence[Spread], other: Sequence[Spread]) -> Compared:
    """The gain of ``other`` over ``base`` from the rates of their trials, each with its spread.

    The ratio of the geometric means, with Student's interval from how far trials of a side differ: the wider of that
    from s² = Σ d² / Σ (n − 1) alone (d: deviations of the logarithms from their side's mean), and that from
    s² = (2·(0.003² + w²) + Σ d²) / (2 + Σ (n − 1)), in which what is known without these trials stands for two more:
    0.3 % between trials (as ``trials.between_trials``), and the mean square w of the relative standard errors within.
    The first alone would call four trials that happen to agree exact; the second is too narrow where trials differ by
    more than was known. The wider covers 95 to 99 % of the time from four trials on, for scatters of 0.3 to 10 %.
    One trial a side gives no interval. Of several candidates each has 5 % to be called different by chance.

    Raises:
        ValueError: a side has no trial, or a rate is not above 0.
    """
    sides = [[log(each.median) for each in side] for side in (base, other)]
    if not all(sides):
        raise ValueError("each side needs a trial")
    means = [sum(logs) / len(logs) for logs in sides]
    squares = sum((entry - mean) ** 2 for logs, mean in zip(sides, means, strict=True) for entry in logs)
    own = sum(len(logs) - 1 for logs in sides)
    return _told(means[1] - means[0], squares, own, sum(1.0 / len(logs) for logs in sides), (*base, *other))


def compared_points(base: Sequence[Point], other: Sequence[Point]) -> Compared:
    """``compared`` of figures; one without a spread stands for itself.

    Raises:
        ValueError: a side has no figure, or a value is not above 0.
    """
    first, second = ([_spread(point) for point in side] for side in (base, other))
    return compared(first, second)


def compared_rounds(rounds: Sequence[Round]) -> Compared:
    """The gain from rounds that each ran in a process of its own: one ratio a round, and Student's t over rounds.

    What a process brings with it (start, allocation, algorithms that were chosen) moves all of its trials, and not
    both sides alike: trials of one process are no repeats of it (methods §1, start × block). So the rule of
    ``compared`` is applied to the logarithms of the rounds' ratios. One round gives no interval; a round of which one
    side is missing is left out.

    Raises:
        ValueError: no round has both sides, or a rate is not above 0.
    """
    whole = [(base, other) for base, other in rounds if base and other]
    if not whole:
        raise ValueError("each side needs a trial")
    ratios = [log(1.0 + compared(base, other).value) for base, other in whole]
    mean = sum(ratios) / len(ratios)
    base, other = ([each for entry in whole for each in entry[side]] for side in (0, 1))
    squares = sum((ratio - mean) ** 2 for ratio in ratios)
    told = _told(mean, squares, len(ratios) - 1, 1.0 / len(ratios), (*base, *other))
    between = compared(base, other).between
    return Compared(value=told.value, low=told.low, high=told.high, between=between, trials=told.trials)


def _told(apart: float, squares: float, own: int, share: float, trials: Sequence[Spread]) -> Compared:
    """``apart`` with the wider interval.

    Args:
        apart: difference of the logarithms.
        squares: squared deviations of what was repeated from its mean.
        own: degrees of freedom of these.
        share: variance of ``apart`` over that of one repeat.
        trials: all rates.
    """
    known = BETWEEN_TRIALS**2 + sum(_standard_error(each) ** 2 for each in trials) / len(trials)
    between = sqrt((ASSUMED_TRIALS * known + squares) / (ASSUMED_TRIALS + own))
    ratio = exp(apart)
    if own < 1:
        return Compared(value=ratio - 1.0, between=between, trials=len(trials))
    half = max(
        student_quantile(0.975, ASSUMED_TRIALS + own) * between, student_quantile(0.975, own) * sqrt(squares / own)
    )
    factor = exp(half * sqrt(share))
    return Compared(
        value=ratio - 1.0, low=ratio / factor - 1.0, high=ratio * factor - 1.0, between=between, trials=len(trials)
    )


def _standard_error(of: Spread) -> float:
    """Relative, of a trial's median; its whole IQR where the trial gave no interval."""
    half = relative_half_width(of)
    return of.iqr / of.median if half is None else half / NORMAL_975


def _spread(point: Point) -> Spread:
    return point.spread or Spread(n=1, median=point.value, iqr=0.0)
