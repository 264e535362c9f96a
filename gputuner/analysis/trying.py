"""What an advice gained when it was tried, A B B A (``interleaved``), against what had been predicted.

A prediction can fail, or it is not scored: one that names no least gain (an upper bound, an interval that reaches to 0
or is wider than the gain) cannot, and a try that is known too poorly to tell the least predicted gain from none cannot
show it.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from math import sqrt

from gputuner.analysis.interleaved import Compared
from gputuner.model.advice import Gain
from gputuner.model.points import Spread


class Verdict(StrEnum):
    """A realised gain against what was predicted."""

    AS_PREDICTED = "as_predicted"
    """The realised gain lies in the predicted interval, widened by its own error, which is small enough to tell it from
    none."""
    UP_TO = "up_to"
    """A gain, and no more than was called possible; no less had been promised."""
    MORE = "more"
    """Above the predicted interval."""
    LESS = "less"
    """A gain, below the predicted interval."""
    GAIN = "gain"
    """A gain where none was predicted in figures, or none with an interval."""
    NO_GAIN = "no_gain"
    """The interval holds 0, and what was predicted lies above it."""
    LOSS = "loss"
    """Slower than before."""
    UNCLEAR = "unclear"
    """Too few trials for an interval, or one too wide to tell the predicted gain from none."""
    SAVES = "saves"
    """Less peak memory, where that is the aim."""
    SAVES_NOTHING = "saves_nothing"
    """No less, or not known."""


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


TOO_DEAR = 0.5
"""No saving of memory is worth more than this share of the rate."""


def memory_verdict(change: float | None, rate_change: float) -> Verdict:
    """What a relative change of peak memory says where memory is the aim; None: it was not measured.

    Args:
        change: of peak memory.
        rate_change: of the rate: one that is lost by more than half is a loss, whatever is saved.
    """
    if rate_change <= -TOO_DEAR:
        return Verdict.LOSS
    return Verdict.SAVES if change is not None and change <= -SAVED else Verdict.SAVES_NOTHING


def is_testable(predicted: Gain | None) -> bool:
    """Whether a prediction can fail: its interval leaves 0 out, and is no wider than the gain."""
    if predicted is None or predicted.low is None or predicted.high is None:
        return False
    return not predicted.low <= 0 <= predicted.high and predicted.high - predicted.low <= abs(predicted.value)


def is_scored(predicted: Gain | None, found: Compared) -> bool:
    """Whether a try shows if a prediction held: it can fail, and the try is precise enough.

    Precise enough: the whole realised interval is no wider than the predicted gain's end next to 0 is large. Then a
    setting that gains nothing is taken for as predicted in 2.5 % of tries at most, and whether a try is scored depends
    on how far its trials scatter, not on the gain that it found.
    """
    if predicted is None or not is_testable(predicted) or found.half is None:
        return False
    least = min(abs(end) for end in (predicted.low, predicted.high) if end is not None)
    return 2.0 * found.half <= least


def verdict(predicted: Gain | None, found: Compared) -> Verdict:
    """What the realised gain says of the predicted one.

    As predicted: it lies within the predicted interval, widened on either side by the half-width of its own 95 %
    interval, and it is precise enough (``is_scored``). Simulated with + 5 % (4 … 6 %) promised and four processes: a
    true promise passes in 99 % of scored tries where processes differ by 1 %, in 85 % at 2 %, where hardly a tenth are
    precise enough; of tries of nothing 0 to 0.6 % pass.
    """
    if found.low is None or found.high is None:
        return Verdict.UNCLEAR
    if predicted is None or predicted.low is None or predicted.high is None:
        return _plain(found, Verdict.GAIN)
    if found.low > predicted.high:
        return Verdict.MORE
    if found.high < predicted.low:
        return _plain(found, Verdict.LESS)
    if not is_testable(predicted):
        return _plain(found, Verdict.UP_TO)
    return Verdict.AS_PREDICTED if is_scored(predicted, found) else Verdict.UNCLEAR


def _plain(found: Compared, gained: Verdict) -> Verdict:
    """``gained`` where it is a gain, else what it is."""
    if found.is_faster:
        return gained
    return Verdict.LOSS if found.high is not None and found.high < 0 else Verdict.NO_GAIN
