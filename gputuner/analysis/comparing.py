"""Two figures of the same work: by how much they differ, and how sure that is."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, hypot, inf, log, sqrt

from gputuner.analysis.distributions import student_quantile, student_tail
from gputuner.analysis.headlines import less_is_better
from gputuner.analysis.statistics import NORMAL_975
from gputuner.analysis.trials import BETWEEN_TRIALS, between_of
from gputuner.model.points import Point

LEAST_REPEATS = 5
"""Fewer repeats than this give no interval of any kind."""
LARGE = 1e6
"""Degrees of freedom from which on Student's t is the normal distribution to six digits."""
NOTCH = 1.57
"""Half-width of a median's notch in IQR/√n (McGill, Tukey & Larsen 1978): stands in where a trial had too few blocks
for a bootstrap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """A median with its 95 % interval; ``notch``: approximated from IQR and n."""

    value: float
    low: float
    high: float
    notch: bool = False


def bounds(point: Point) -> Bounds | None:
    """The interval of a figure: its own, else the notch of its repeats; None with fewer than five of them."""
    spread = point.spread
    if spread is None or point.value <= 0:
        return None
    if spread.ci95_low is not None and spread.ci95_high is not None and spread.ci95_low > 0:
        return Bounds(value=point.value, low=spread.ci95_low, high=spread.ci95_high)
    if spread.n < LEAST_REPEATS:
        return None
    half = NOTCH * spread.iqr / sqrt(spread.n)
    if half >= point.value:
        return None
    return Bounds(value=point.value, low=point.value - half, high=point.value + half, notch=True)


def improvement(before: Point, after: Point) -> float:
    """Relative change, positive where ``after`` is better (of times: shorter)."""
    ratio = after.value / before.value
    return (1.0 / ratio if less_is_better(before) else ratio) - 1.0


def apart(first: Bounds, second: Bounds) -> bool:
    """True if neither interval reaches the other."""
    return first.low > second.high or second.low > first.high


def worse_p(
    before: Point,
    after: Sequence[Point],
    between: float = BETWEEN_TRIALS,
    freedom: float = inf,
) -> float | None:
    """One-sided p-value of "``after`` is no worse", in the logarithm of the ratio; None where a figure has no interval.

    Of several figures after, their mean counts. The standard error joins the intervals and ``between``, the relative
    standard deviation between sessions of the same work, once for each figure: of a difference of two that is √2 times
    it. Where ``between`` was estimated, Student's t takes the normal distribution's place, with the degrees of freedom
    of Welch and Satterthwaite, as the error within a figure counts as known.

    Args:
        before: the figure to hold on to.
        after: the newer one, and what was measured again.
        between: relative standard deviation between sessions (or trials).
        freedom: degrees of freedom that it is known by.
    """
    told = _error(before, after, between, freedom)
    if told is None:
        return None
    change = sum(log(1.0 + improvement(before, each)) for each in after) / len(after)
    error, known_by = told
    return student_tail(-change / error, known_by) if error > 0 else float(change >= 0)


def change_interval(
    before: Point, after: Point, between: float = BETWEEN_TRIALS, freedom: float = inf
) -> tuple[float, float] | None:
    """The 95 % interval of ``improvement``, by the error that ``worse_p`` judges with; None without an interval."""
    told = _error(before, [after], between, freedom)
    if told is None:
        return None
    error, known_by = told
    middle, half = log(1.0 + improvement(before, after)), student_quantile(0.975, min(known_by, LARGE)) * error
    return exp(middle - half) - 1.0, exp(middle + half) - 1.0


def _error(before: Point, after: Sequence[Point], between: float, freedom: float) -> tuple[float, float] | None:
    """Standard error of the logarithm of the ratio, and the degrees of freedom that it is known by."""
    told = [bounds(point) for point in (before, *after)]
    known = [each for each in told if each is not None]
    if len(known) < len(told):
        return None
    weights = (1.0, *(1.0 / len(after) for _ in after))
    inner = [weight * _log_half(each) / NORMAL_975 for weight, each in zip(weights, known, strict=True)]
    outer = [weight * between_of(each, between) for weight, each in zip(weights, (before, *after), strict=True)]
    error, spread = hypot(*inner, *outer), hypot(*outer)
    return error, freedom * (error / spread) ** 4 if spread > 0 else inf


def _log_half(of: Bounds) -> float:
    return log(max(of.high / of.value, of.value / of.low))


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values over all metrics (Holm 1979): p(i) · (m − i + 1), made non-decreasing, at most 1."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for place, i in enumerate(order):
        highest = max(highest, min(1.0, p_values[i] * (len(p_values) - place)))
        adjusted[i] = highest
    return adjusted
