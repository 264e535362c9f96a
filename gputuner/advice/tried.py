"""What stored tries found, read back from their figures."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from gputuner.advice.chances import Chances, chances
from gputuner.analysis.calibration import Tried
from gputuner.analysis.interleaved import Compared
from gputuner.model.advice import Confidence, Gain
from gputuner.model.cards import Origin
from gputuner.model.errors import GputunerError
from gputuner.model.points import Point

TRY = "try"
"""The experiment."""
GAIN = "advice_gain"
"""Its figure."""


class Summary(Protocol):
    """Of a session what tells whether it is a try."""

    @property
    def experiment(self) -> str:
        """Its experiment."""
        ...

    @property
    def origin(self) -> Origin:
        """Where its numbers come from."""
        ...


class Entry(Protocol):
    """A session file."""

    @property
    def path(self) -> Path:
        """The file."""
        ...

    @property
    def summary(self) -> Summary | None:
        """None: it cannot be read."""
        ...


class Figures(Protocol):
    """An open session."""

    def points(self) -> Sequence[Point]:
        """Its figures."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...


class Library(Protocol):
    """The stored sessions."""

    def entries(self) -> Sequence[Entry]:
        """All files, newest first."""
        ...

    def open(self, path: Path) -> Figures:
        """Read one.

        Raises:
            StoreError: it cannot be read.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTry:
    """The figure of one stored try, its session, and where its numbers come from."""

    point: Point
    origin: Origin
    path: Path


def stored_tries(library: Library) -> tuple[StoredTry, ...]:
    """What all stored tries found, the oldest first; a file that cannot be read is passed over."""
    found: list[StoredTry] = []
    for entry in library.entries():
        if entry.summary is None or entry.summary.experiment != TRY:
            continue
        try:
            stored = library.open(entry.path)
        except GputunerError:
            continue
        try:
            point = gain_point(stored.points())
        finally:
            stored.close()
        if point is not None:
            found.append(StoredTry(point=point, origin=entry.summary.origin, path=entry.path))
    return tuple(reversed(found))


def record_of(tries: Iterable[StoredTry], origin: Origin) -> Chances:
    """What came of advice that was tried on cards of this origin, of tries that say something of it."""
    return chances(tried_of(each.point) for each in tries if each.origin is origin and counts(each.point))


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
