"""What a card drew and how that is known: measured, told, or from its limit or sheet."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

NEAR, SUSTAINED_S = 0.9, 60.0
"""What was drawn is firm only where so many seconds in all were spent within this share of it."""
AT_WORK = 0.25
"""Share of its full draw, and of its time in use, below which a card was at rest: idle cards of 70 to 700 W draw 5 to
37 % (the most where one of 70 W keeps its clocks up, with nothing in use), trainings 40 % and more of both."""


class DrawSource(StrEnum):
    """How the watts of a card are known, best first."""

    MEASURED = "measured"
    TOLD = "told"
    """By the user."""
    LIMIT = "limit"
    """The card's power limit; not measured."""
    SHEET = "sheet"
    """The catalogue's figure; not measured."""


class Feed(StrEnum):
    """By what a card gets its watts: this decides which connectors are spoken of."""

    CABLES = "cables"
    """8-pin or 12VHPWR plugs of a desktop's supply; also what is not known."""
    SERVER = "server"
    """A board for servers: mostly one plug of the processor's kind (EPS), or a 16-pin one."""
    SLOT = "slot"
    """The slot alone."""
    MODULE = "module"
    """A module on a board (SXM, laptops): it has no plug."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What one trace shows, W: ``sustained_w`` over 15 s (or a longer bucket), ``peak_w`` the highest reading.

    ``held_s``: seconds in all that it drew nearly as much. ``interval_s``: between two readings (of roll-ups: the
    bucket's width). ``used``: highest share of its time in use over 15 s; None: not told.
    """

    sustained_w: float
    held_s: float
    peak_w: float
    interval_s: float
    session: str = ""
    used: float | None = None

    def at_work(self, full_w: float | None) -> bool:
        """False where the card was at rest, by its watts against ``full_w`` (limit or sheet) or by its use."""
        light = full_w is not None and self.sustained_w < AT_WORK * full_w
        return not light and (self.used is None or self.used >= AT_WORK)


@dataclass(frozen=True, slots=True, kw_only=True)
class CardDraw:
    """The watts that a card is sized by.

    ``limit_w``: its power limit, where known; ``lowest_w``: the lowest that it takes. ``sessions``: how many stored
    sessions tell of it. ``rest``: what they show where they never saw it at work; then it is sized by limit or sheet.
    """

    name: str
    source: DrawSource
    sustained_w: float
    peak_w: float
    uuid: str = ""
    limit_w: float | None = None
    lowest_w: float | None = None
    fed: Feed = Feed.CABLES
    seen: Seen | None = None
    rest: Seen | None = None
    sessions: int = 0
    simulated: bool = False

    @property
    def measured(self) -> bool:
        """Whether it is from a card's own readings (of a simulated card: from the model's)."""
        return self.source is DrawSource.MEASURED

    @property
    def most_w(self) -> float | None:
        """What it may draw sustained under another load; None: a card that was measured does not tell its limit."""
        if self.limit_w is None:
            return None if self.measured else self.sustained_w
        return max(self.limit_w, self.sustained_w)

    @property
    def full_w(self) -> float:
        """What its peaks of milliseconds stand on: the highest reading up to its limit, or the sustained draw."""
        seen = self.peak_w if self.limit_w is None else min(self.peak_w, self.limit_w)
        return max(self.sustained_w, seen)

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
