"""A claim that people repeat, against what was measured: three EDSR trainings at once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp, log
from statistics import mean

from gputuner.analysis.contention_figures import Mix, mixes
from gputuner.model.points import Flag, Point

CLAIM_WORKLOAD, CLAIM_JOBS = "edsr", 3
CLAIM_LOW, CLAIM_HIGH = 2.8, 3.5
"""The claim: three EDSR trainings at once stretch each iteration 2.8 to 3.5 times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The claim against what was measured: time per iteration of three EDSR trainings at once over one alone."""

    mode: str
    value: float
    """Geometric mean over the jobs."""
    low: float | None
    high: float | None
    evidence: tuple[str, ...]
    valid: bool
    """False where the measurement does not hold (a job seemed faster than alone, or solo moved)."""

    @property
    def holds(self) -> bool | None:
        """Whether it holds here; None where the interval reaches over an edge of the claim, or nothing is known."""
        if not self.valid:
            return None
        low, high = (self.value, self.value) if self.low is None or self.high is None else (self.low, self.high)
        if low >= CLAIM_LOW and high <= CLAIM_HIGH:
            return True
        return False if high < CLAIM_LOW or low > CLAIM_HIGH else None


def claims_of(points: Iterable[Point]) -> list[Claim]:
    """The claim for each mode in which three EDSR trainings alike ran; empty where none did."""
    return [_claim(mix.mode, mix.slowdowns) for mix in mixes(points) if not mix.shares and _is_claimed(mix)]


def _is_claimed(mix: Mix) -> bool:
    alike = len(set(mix.label.split("+"))) == 1
    edsr = all(point.workload == CLAIM_WORKLOAD for point in mix.slowdowns)
    return alike and edsr and mix.jobs == len(mix.slowdowns) == CLAIM_JOBS


def _claim(mode: str, points: Sequence[Point]) -> Claim:
    spreads = [point.spread for point in points if point.spread is not None]
    lows = [each.ci95_low for each in spreads if each.ci95_low is not None]
    highs = [each.ci95_high for each in spreads if each.ci95_high is not None]
    whole = len(lows) == len(highs) == len(points)
    return Claim(
        mode=mode,
        value=_geometric([point.value for point in points]),
        low=_geometric(lows) if whole else None,
        high=_geometric(highs) if whole else None,
        evidence=tuple(point.id for point in points),
        valid=not any(Flag.IMPLAUSIBLE in point.flags for point in points),
    )


def _geometric(values: Sequence[float]) -> float:
    return exp(mean(log(value) for value in values))
