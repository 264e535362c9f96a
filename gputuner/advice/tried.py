"""What a stored try found, read back from its figure."""

from collections.abc import Iterable, Sequence

from gputuner.analysis.calibration import Tried
from gputuner.analysis.interleaved import Compared
from gputuner.model.advice import Confidence, Gain
from gputuner.model.points import Point

TRY = "try"
"""The experiment."""
GAIN = "advice_gain"
"""Its figure."""


def gain_point(points: Iterable[Point]) -> Point | None:
    """The last figure of a try, which rests on all of its trials; None where it was ended before there was one."""
    return next((point for point in reversed([*points]) if point.metric == GAIN), None)


def tried_of(point: Point) -> Tried:
    """The try that a figure tells of."""
    extra = point.extra
    spread = point.spread
    low, high = (spread.ci95_low, spread.ci95_high) if spread else (None, None)
    trials, between = extra.get("trials", 0), extra.get("between_trials", 0.0)
    predicted = _number(extra.get("predicted"))
    return Tried(
        session=str(point.params.get("session", "")),
        advice=str(point.params.get("advice", "")),
        card=point.card,
        confidence=Confidence(str(extra.get("confidence", Confidence.MEASURED.value))),
        predicted=None
        if predicted is None
        else Gain(
            value=predicted,
            unit="fraction",
            low=_number(extra.get("predicted_low")),
            high=_number(extra.get("predicted_high")),
        ),
        found=Compared(value=point.value, low=low, high=high, trials=int(trials), between=float(between)),
        aim="memory" if extra.get("aim") == "memory" else "rate",
        memory_change=_number(extra.get("memory_change")),
    )


def counts(point: Point) -> bool:
    """Whether a try says something of the word of confidence: on the same card, with the same recipe."""
    return point.extra.get("same_card") is True and point.extra.get("recipe_same") is not False


def last_of(points: Sequence[Point], session: str) -> dict[str, Point]:
    """Of figures in the order of their runs the last for each advice of ``session``."""
    return {str(p.params["advice"]): p for p in points if p.metric == GAIN and p.params.get("session") == session}


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
