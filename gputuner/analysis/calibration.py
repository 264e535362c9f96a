"""How often the words of confidence came true: predicted against realised gain, over what was tried (methods §10)."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import median

from gputuner.analysis.interleaved import Compared
from gputuner.analysis.statistics import NORMAL_975
from gputuner.analysis.trying import Verdict, is_scored, is_testable, memory_verdict, verdict
from gputuner.model.advice import Confidence, Gain
from gputuner.model.change import Aim


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One advice that was tried: what it promised and what it gave."""

    session: str
    """That gave the advice."""
    advice: str
    card: str
    """UUID of the card that it was tried on."""
    confidence: Confidence
    predicted: Gain | None
    found: Compared
    aim: Aim = "rate"
    memory_change: float | None = None
    """Relative change of peak memory; None: not measured."""

    @property
    def verdict(self) -> Verdict:
        """What came of it."""
        if self.aim == "memory":
            return memory_verdict(self.memory_change, self.found.value)
        return verdict(self.predicted, self.found)

    @property
    def error(self) -> float | None:
        """Realised minus predicted gain; None where none was predicted."""
        return None if self.predicted is None else self.found.value - self.predicted.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """``hits`` of ``of``, and the 95 % interval of the share (0 … 1)."""

    hits: int
    of: int
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What came of all advice of one word of confidence."""

    confidence: Confidence
    tries: int
    agreed: Share | None
    """As predicted, of those whose prediction could fail and that were known well enough to show it; None: none was."""
    open: int
    """Predicted in figures that could not fail: an upper bound, no interval, or one that is wider than the gain."""
    gained: Share | None
    """The realised interval lies above 0 (where memory is the aim: memory was saved), of those that have one."""
    error: float | None
    """Median of |realised − predicted| gain."""
    bias: float | None
    """Median of realised − predicted: below 0, more was promised than came."""


def wilson(hits: int, of: int) -> Share:
    """A share with its 95 % score interval (Wilson 1927), which also holds for few and for none or all.

    Raises:
        ValueError: not ``0 <= hits <= of``, or none of nothing.
    """
    if not 0 <= hits <= of or of < 1:
        raise ValueError(f"no share: {hits} of {of}")
    z2 = NORMAL_975**2
    centre = (hits + z2 / 2.0) / (of + z2)
    half = NORMAL_975 / (of + z2) * sqrt(hits * (of - hits) / of + z2 / 4.0)
    return Share(hits=hits, of=of, low=max(0.0, centre - half), high=min(1.0, centre + half))


def calibrate(tries: Sequence[Tried]) -> tuple[Tally, ...]:
    """One tally for each word of confidence that was tried, the strongest word first.

    An advice that was tried several times counts once, with the last of ``tries``.
    """
    newest = {(each.session, each.advice, each.card): each for each in tries}
    found = [[each for each in newest.values() if each.confidence is word] for word in Confidence]
    return tuple(_tally(group) for group in found if group)


def _tally(group: Sequence[Tried]) -> Tally:
    scored = [each.verdict for each in group if each.aim == "rate" and is_scored(each.predicted, each.found)]
    known = [each for each in group if each.aim == "memory" or each.found.low is not None]
    errors = [each.error for each in group if each.error is not None]
    return Tally(
        confidence=group[0].confidence,
        tries=len(group),
        agreed=wilson(scored.count(Verdict.AS_PREDICTED), len(scored)) if scored else None,
        open=sum(each.predicted is not None and not is_testable(each.predicted) for each in group),
        gained=wilson(sum(map(_gained, known)), len(known)) if known else None,
        error=median(map(abs, errors)) if errors else None,
        bias=median(errors) if errors else None,
    )


def _gained(each: Tried) -> bool:
    return each.verdict is Verdict.SAVES if each.aim == "memory" else each.found.is_faster
