"""A loader before a training: whether more processes are worth trying, how many to take, what another setting gains.

*Supply* is what the loader delivers alone, *demand* what the training eats of batches that lie ready in the host's
memory, *fed* what the training does with the loader. Batches are copied to the device in both of the last, so that
starvation, the share of the demand that is lost, is the loader's. What two settings differ by: ``interleaved``.
"""

from collections.abc import Iterable, Mapping
from math import exp, log
from statistics import fmean

from gputuner.model.points import Point

ENOUGH_WITHIN = 0.02
"""A training that is fed at less than this below its demand does not wait for its loader."""
CHOSEN_WITHIN = 0.02
"""Of the numbers of processes within this of the best rate the smallest is taken."""
KNEE_GAIN, SUPPLY_GAIN, PLENTY = 0.03, 0.1, 1.2
"""More processes are not tried where a doubling feeds the training less than the first faster, and the loader alone
less than the second, or it delivers that many times the demand anyway."""


def starvation(fed: float, demand: float) -> float:
    """Share of the training's own rate that it loses while it is fed, 0 … 1."""
    return min(1.0, max(0.0, 1.0 - fed / demand)) if demand > 0 else 0.0


def enough(fed: float, demand: float) -> bool:
    """Whether the training hardly waits."""
    return fed >= (1.0 - ENOUGH_WITHIN) * demand


def at_knee(fed: Mapping[int, float], supply: Mapping[int, float], demand: float) -> bool:
    """Whether more processes than the most that were tried are not worth trying (rates in samples/s by processes)."""
    tried = sorted(workers for workers in fed if workers in supply)
    if not tried:
        return False
    last = tried[-1]
    if enough(fed[last], demand):
        return True
    if len(tried) < 2 or tried[-2] == 0:
        return False
    before = tried[-2]
    doublings = log(last / before) / log(2.0)
    gained = (fed[last] / fed[before]) ** (1.0 / doublings) - 1.0
    supplied = (supply[last] / supply[before]) ** (1.0 / doublings) - 1.0
    return gained < KNEE_GAIN and (supplied < SUPPLY_GAIN or supply[last] >= PLENTY * demand)


def chosen(fed: Mapping[int, float]) -> int:
    """The fewest processes whose rate lies within 2 % of the best.

    Raises:
        ValueError: no rates.
    """
    if not fed:
        raise ValueError("no rates")
    best = max(fed.values())
    return min(workers for workers, rate in fed.items() if rate >= (1.0 - CHOSEN_WITHIN) * best)


def refined(fed: Mapping[int, float]) -> int | None:
    """A number of processes between the chosen one and the next smaller, if there is one to try."""
    best = chosen(fed)
    smaller = [workers for workers in fed if workers < best]
    if not smaller or best - max(smaller) < 2:
        return None
    return (best + max(smaller)) // 2


def epoch_saving(restart_s: float, kept_s: float, epoch_s: float) -> float:
    """Share of the time of training that processes kept from epoch to epoch save.

    Args:
        restart_s: beginning of an epoch with processes that start anew, in seconds.
        kept_s: the same where they are kept.
        epoch_s: an epoch's batches, without its beginning.
    """
    whole = epoch_s + restart_s
    return max(0.0, (restart_s - kept_s) / whole) if whole > 0 else 0.0


def pooled(points: Iterable[Point]) -> float:
    """The geometric mean of some rates of the same work.

    Raises:
        ValueError: no points.
    """
    logs = [log(point.value) for point in points]
    if not logs:
        raise ValueError("no points")
    return exp(fmean(logs))
