"""Advice with its evidence, and questions to measure where evidence is missing. Words are made by ``language``."""

from dataclasses import dataclass, field
from enum import StrEnum
from math import isfinite

from gputuner.model.cards import Origin
from gputuner.model.change import Change
from gputuner.model.readings import Scalar

TRIES_HELD, TRIES = "tries_held", "tries"
"""Params: of so many tries of advice of its kind that show it, in how many the gain came true (both or neither)."""


class Confidence(StrEnum):
    """What an advice rests on (methods §10), strongest first."""

    MEASURED = "measured"
    """On this card with this workload."""
    MEASURED_OTHER = "measured_other"
    """On this card with another workload."""
    PUBLISHED = "published"
    MODEL = "model"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """Expected gain: a ratio − 1 (``unit`` ``fraction``) or an absolute figure; None where it was not estimated."""

    value: float
    unit: str
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        """Refuse NaN and infinities."""
        if any(v is not None and not isfinite(v) for v in (self.value, self.low, self.high)):
            raise ValueError("a gain is finite")


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """One piece of advice.

    ``id`` is the stable rule name (``batch.fastest``, ``precision.best``, ``limit.power`` …); ``language`` turns it
    and ``params`` into title, action and reason. ``evidence`` holds ``Point.id``s or ``card:reading`` references and
    is never empty. ``snippet`` is text to paste (code, not prose).
    """

    id: str
    card: str
    params: dict[str, Scalar]
    evidence: tuple[str, ...]
    confidence: Confidence
    gain: Gain | None = None
    snippet: str | None = None
    origin: Origin = Origin.MEASURED
    """Where its evidence comes from."""
    risk: bool = False
    """True if following it needs care (settings, hardware)."""
    rank: float = 0.0
    """Larger first: gain × probability, harmless before risky, free before paid."""
    worth: float = 0.0
    """The part of ``rank`` that is gain × probability."""
    change: Change | None = None
    """What it changes of a training, so that it can be tried; None: it is about the card or the owner's own acts."""

    def __post_init__(self) -> None:
        """Refuse advice without evidence."""
        if not self.evidence:
            raise ValueError("advice needs evidence")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What to measure next, with the command that does (only commands that exist)."""

    id: str
    card: str
    command: str
    params: dict[str, Scalar] = field(default_factory=lambda: {})
