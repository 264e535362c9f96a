"""How far sessions of the same card lie apart without anything having changed: what one session cannot show of itself.

Few sessions tell the spread of a single metric badly, so the variances of several metrics are moderated: each is drawn
towards what those of its benchmark have in common, by as much as they are alike (empirical Bayes: Smyth, Statistical
Applications in Genetics and Molecular Biology 3(1), 2004, article 3, section 6.2).
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, inf, log
from statistics import fmean, variance
from typing import TypeVar

from gputuner.analysis.distributions import digamma, trigamma
from gputuner.analysis.trials import BETWEEN_TRIALS

TYPICAL = 0.02
"""Relative standard deviation between sessions that is assumed while too few are stored: 2 %."""
LEAST_SESSIONS = 5
"""Sessions of a metric from which on their spread is believed."""
LEAST_ALIKE = 4
"""Metrics from which on their variances tell how much alike they are."""
MOST_WEIGHT = 16.0
"""Degrees of freedom that the other metrics may add at most: within a session they move together."""
LEAST_VARIANCE = 1e-6
"""Square of 0.1 %: below it a spread says nothing, since 0.3 % between trials are assumed anyway."""


K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSpread:
    """Relative standard deviation of a metric between sessions, with the degrees of freedom that it is known by.

    ``known``: from stored sessions; otherwise assumed, and a difference within it is open.
    """

    deviation: float = TYPICAL
    freedom: float = inf
    known: bool = False


ASSUMED = SessionSpread()
"""Where too few sessions are stored."""


def session_spreads(logs: Mapping[K, Sequence[float]], groups: Mapping[K, str]) -> dict[K, SessionSpread]:
    """Spread of each metric between sessions.

    Args:
        logs: logarithms of a metric's figures, one a session.
        groups: the benchmark of each metric; metrics of a smaller one than ``LEAST_ALIKE`` are moderated by all.
    """
    result: dict[K, SessionSpread] = {}
    told: dict[K, tuple[float, int]] = {}
    for key, values in logs.items():
        if len(values) >= LEAST_SESSIONS:
            told[key] = (max(LEAST_VARIANCE, variance(values)), len(values) - 1)
        elif len(values) > 1:
            result[key] = SessionSpread(deviation=max(TYPICAL, variance(values) ** 0.5))
    for key, (own, freedom) in told.items():
        alike = [each for other, each in told.items() if groups[other] == groups[key]]
        common, weight = _common(alike if len(alike) >= LEAST_ALIKE else [*told.values()])
        moderated = (weight * common + freedom * own) / (weight + freedom)
        deviation = max(BETWEEN_TRIALS, moderated**0.5)
        result[key] = SessionSpread(deviation=deviation, freedom=freedom + weight, known=True)
    return result


def _common(variances: Sequence[tuple[float, int]]) -> tuple[float, float]:
    """The variance that several metrics have in common, and its weight in degrees of freedom (0: nothing in common).

    Of sample variances with f degrees of freedom the logarithms scatter by trigamma(f/2); what they scatter beyond
    that is the metrics' own, and the weight d solves trigamma(d/2) = that excess (Smyth 2004).
    """
    if len(variances) < LEAST_ALIKE:
        return 0.0, 0.0
    centred = [log(own) - digamma(freedom / 2.0) + log(freedom / 2.0) for own, freedom in variances]
    middle = fmean(centred)
    excess = variance(centred) - fmean(trigamma(freedom / 2.0) for _, freedom in variances)
    low, high = 0.0, MOST_WEIGHT
    if excess <= trigamma(high / 2.0):
        return exp(middle), high
    for _ in range(50):
        weight = (low + high) / 2.0
        low, high = (weight, high) if trigamma(weight / 2.0) > excess else (low, weight)
    return exp(middle + digamma(high / 2.0) - log(high / 2.0)), high
