"""Null check of co-runs: a job beside an idle partner, which must not slow it down (methods §1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from gputuner.model.points import Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class NullFound:
    """What rounds with an idle partner showed: the true slowdown of each is 1.

    ``beyond``: rounds whose 95 % interval does not hold 1. ``difference``: median |slowdown − 1|; ``largest``: the
    largest.
    """

    rounds: int
    beyond: int
    difference: float
    largest: float

    @property
    def false_rate(self) -> float:
        """Share of the rounds that would have been called a slowdown, or a speed-up (0–1)."""
        return self.beyond / self.rounds


def null_found(slowdowns: Sequence[Spread]) -> NullFound | None:
    """Over the rounds' slowdowns that have an interval; None where none has."""
    told = [each for each in slowdowns if each.ci95_low is not None and each.ci95_high is not None]
    if not told:
        return None
    sizes = [abs(each.median - 1.0) for each in told]
    return NullFound(
        rounds=len(told),
        beyond=sum(not (each.ci95_low or 0.0) <= 1.0 <= (each.ci95_high or 0.0) for each in told),
        difference=median(sizes),
        largest=max(sizes),
    )
