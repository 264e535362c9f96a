"""How a rule makes an advice: gains from points, rank from gain, confidence and risk (methods §10).

The rank is that without a record; ``chances`` has it as advice that was tried bore its kind out.
"""

from collections.abc import Sequence

from gputuner.advice.chances import PROBABILITY
from gputuner.advice.evidence import Evidence
from gputuner.analysis.statistics import ratio_of_spreads
from gputuner.analysis.trials import BETWEEN_TRIALS, between_of, between_trials
from gputuner.model.advice import Advice, Confidence, Gain
from gputuner.model.change import Change, TrainingSetting
from gputuner.model.points import Flag, Point
from gputuner.model.readings import Scalar

RISK_FACTOR = 0.5
"""Harmless before risky."""
GAIN_SCALE = 100.0
"""A sure gain of 1 % ranks as 1."""
SCATTERED = frozenset({Flag.NOT_STEADY, Flag.SPREAD, Flag.IMPLAUSIBLE})
SCATTERED_FACTOR = 0.5
"""Advice whose evidence did not settle ranks behind what did."""


def scattered(*points: Point) -> bool:
    """Whether any of the points did not settle."""
    return any(SCATTERED & set(point.flags) for point in points)


def gain_of(better: Point, base: Point, between: float = BETWEEN_TRIALS) -> Gain:
    """Ratio of two rates minus 1, with an interval where both have one.

    The interval includes how far whole trials of the same work differ: ``between`` (relative standard deviation) for
    each side, or the IQR of a figure that had not settled.
    """
    if better.spread is None or base.spread is None:
        return Gain(value=better.value / base.value - 1.0, unit="fraction")
    apart = (between_of(better, between), between_of(base, between))
    ratio = ratio_of_spreads(better.spread, base.spread, apart)
    if ratio.low is None or ratio.high is None:
        return Gain(value=ratio.value - 1.0, unit="fraction")
    return Gain(value=ratio.value - 1.0, unit="fraction", low=ratio.low - 1.0, high=ratio.high - 1.0)


def gain_from(evidence: Evidence, better: Point, base: Point) -> Gain:
    """``gain_of`` with the difference between trials as this run's repeated trials show it."""
    return gain_of(better, base, between_trials(evidence.points))


def make(
    identity: str,
    card: str,
    params: dict[str, Scalar],
    evidence: Sequence[Point | str],
    *,
    confidence: Confidence = Confidence.MEASURED,
    gain: Gain | None = None,
    weight: float = 0.0,
    snippet: str | None = None,
    risk: bool = False,
    chance: float = 1.0,
    change: Change | None = None,
) -> Advice:
    """An advice with its rank; says ``scattered`` in its params where the evidence did not settle.

    Figures that scattered say no less for it where turns (``advice.turns``) show the gain: that is what they are for.

    ``weight`` is the importance in per cent where no gain can be told (a fault to look at, a limit to know).
    ``chance`` is how likely the reader is in the situation at all. ``change``: what it changes of a training.
    """
    restless = scattered(*(e for e in evidence if isinstance(e, Point))) and "turns" not in params
    factor = (RISK_FACTOR if risk else 1.0) * (SCATTERED_FACTOR if restless else 1.0)
    worth = factor * chance * GAIN_SCALE * max(gain.value, 0.0) * PROBABILITY[confidence] if gain else 0.0
    references = tuple(dict.fromkeys(e if isinstance(e, str) else e.id for e in evidence))
    return Advice(
        id=identity,
        card=card,
        params={**params, "scattered": True} if restless else params,
        evidence=references,
        confidence=confidence,
        gain=gain,
        snippet=snippet,
        risk=risk,
        rank=worth + factor * weight,
        worth=worth,
        change=change,
    )


def setting_of(point: Point) -> TrainingSetting:
    """How the training of a rate was run, from its figure: batch, format and layout."""
    return TrainingSetting(
        batch=int(point.params["batch"]),
        precision=str(point.params["precision"]),
        channels_last=point.params.get("channels_last") is True,
    )


def change_between(base: Point, better: Point) -> Change | None:
    """From how ``base`` was run to how ``better`` was; None where that is the same."""
    first, second = setting_of(base), setting_of(better)
    return None if first == second else Change(workload=better.workload, base=first, advised=second)
