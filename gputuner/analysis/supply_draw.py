"""What a card drew and how that is known: measured, told, or from its limit or sheet."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

NEAR, SUSTAINED_S = 0.9, 60.0
"""What was drawn is firm only where so many seconds in all were spent within this share of it."""


class DrawSource(StrEnum):
    """How the watts of a card are known, best first."""

    MEASURED = "measured"
    TOLD = "told"
    """By the user."""
    LIMIT = "limit"
    """The card's power limit; not measured."""
    SHEET = "sheet"
    """The catalogue's figure; not measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What one trace shows, W: ``sustained_w`` over 15 s (or a longer bucket), ``peak_w`` the highest reading.

    ``held_s``: seconds in all that it drew nearly as much. ``interval_s``: between two readings (of roll-ups: the
    bucket's width).
    """

    sustained_w: float
    held_s: float
    peak_w: float
    interval_s: float
    session: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CardDraw:
    """The watts that a card is sized by.

    ``limit_w``: its power limit, where known. ``sessions``: how many stored sessions were looked at.
    """

    name: str
    source: DrawSource
    sustained_w: float
    peak_w: float
    uuid: str = ""
    limit_w: float | None = None
    seen: Seen | None = None
    sessions: int = 0
    simulated: bool = False

    @property
    def measured(self) -> bool:
        """Whether it is from a card's own readings (of a simulated card: from the model's)."""
        return self.source is DrawSource.MEASURED

    @property
    def short(self) -> bool:
        """Whether it was drawn for too short a time to be firm."""
        return self.seen is not None and self.seen.held_s < SUSTAINED_S


def highest(found: Sequence[Seen]) -> Seen | None:
    """Of several traces the one that drew most, with the highest reading of all and the seconds of all near it."""
    if not found:
        return None
    best = max(found, key=lambda each: each.sustained_w)
    held = sum(each.held_s for each in found if each.sustained_w >= NEAR * best.sustained_w)
    return replace(best, peak_w=max(each.peak_w for each in found), held_s=held)
