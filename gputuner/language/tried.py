"""Words of tries: what an advice gained when it was tried, against what was predicted."""

from gputuner.analysis.calibration import Share, Tried
from gputuner.analysis.trying import Verdict
from gputuner.language import numbers
from gputuner.language.words import N_, _
from gputuner.model.advice import Gain
from gputuner.model.readings import Scalar

EVEN = 0.005
"""A median difference below half a percentage point is no tendency."""
VERDICTS: dict[Verdict, str] = {
    Verdict.AS_PREDICTED: N_("As predicted, within the intervals."),
    Verdict.UP_TO: N_("It gained, and no more than was called possible; no less had been promised."),
    Verdict.MORE: N_("It gained more than was predicted."),
    Verdict.LESS: N_("It gained, but less than was predicted."),
    Verdict.GAIN: N_("It gained; how much had not been predicted."),
    Verdict.NO_GAIN: N_("No gain that can be told from none."),
    Verdict.LOSS: N_("It is slower than before: stay with what you had."),
    Verdict.SAVES: N_("It saves memory, as it is meant to; the rate above is what that costs."),
    Verdict.SAVES_NOTHING: N_("It saves no memory that was measured."),
    Verdict.UNCLEAR: N_("Too few trials to be sure; give it more time."),
}


def verdict(entry: Verdict) -> str:
    """What came of a try, in one sentence."""
    return _(VERDICTS[entry])


def tried(entry: Tried) -> str:
    """Realised against predicted gain in one line."""
    told = _("Realised gain: {gain}").format(gain=gain(entry.found.gain))
    if entry.predicted is None:
        return told
    return _("{realised}; predicted: {gain}").format(realised=told, gain=gain(entry.predicted))


def memory(change: Scalar | None) -> str:
    """What became of the peak memory; empty where it was not measured."""
    if not isinstance(change, int | float):
        return ""
    return _("Peak memory: {change}.").format(change=percent(change))


def gain(entry: Gain) -> str:
    """A gain with its interval, finely enough to tell small ones apart: ``+2.3 % (+1.8 % … +2.7 %)``."""
    if entry.low is None or entry.high is None:
        return percent(entry.value)
    return f"{percent(entry.value)} ({percent(entry.low)} … {percent(entry.high)})"


def percent(fraction: float) -> str:
    """A ratio − 1 with its sign; below 100 % with one decimal."""
    digits = 0 if abs(fraction) >= 1.0 else 1
    return f"{round(100.0 * fraction, digits) + 0.0:+.{digits}f} %"


def share(entry: Share | None) -> str:
    """``3 of 4 (30 % … 95 %)``."""
    if entry is None:
        return _("not known")
    low, high = (numbers.value(bound, "fraction") for bound in (entry.low, entry.high))
    return _("{hits} of {of} ({low} … {high})").format(hits=entry.hits, of=entry.of, low=low, high=high)


def points(error: float | None) -> str:
    """A difference of two gains, in percentage points."""
    return _("not known") if error is None else _("{n} points").format(n=f"{100.0 * error:.1f}")


def tendency(bias: float | None) -> str:
    """Whether more is promised than comes."""
    if bias is None:
        return _("not known")
    if abs(bias) < EVEN:
        return _("neither")
    told = _("promise {n} points too much") if bias < 0 else _("promise {n} points too little")
    return told.format(n=f"{100.0 * abs(bias):.1f}")


def scatter(between: float) -> str:
    """A relative standard deviation."""
    return f"{100.0 * between:.1f} %"
