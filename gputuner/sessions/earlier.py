"""Stored sessions that tell how far the figures of an unchanged card lie apart."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from gputuner.model.cards import CardInfo, Origin
from gputuner.model.errors import GputunerError
from gputuner.model.events import Outcome, RunStarted
from gputuner.model.points import Point

EARLIER_MOST = 20
"""So many of the newest sessions tell a metric's run-to-run spread."""
AGAINST = "against"
"""Field of a stored spec: a run of the guard tells nothing of the usual spread, it may be the fall itself."""


class Summary(Protocol):
    """A session in short."""

    @property
    def run_id(self) -> str:
        """Its id."""
        ...

    @property
    def path(self) -> Path:
        """Its file."""
        ...

    @property
    def started_unix_s(self) -> float:
        """Unix time of its start, seconds."""
        ...

    @property
    def outcome(self) -> Outcome | None:
        """How it ended."""
        ...

    @property
    def origin(self) -> Origin:
        """Measured, simulated or replayed."""
        ...

    @property
    def cards(self) -> tuple[CardInfo, ...]:
        """Its cards."""
        ...


class Entry(Protocol):
    """A file of the list."""

    @property
    def summary(self) -> Summary | None:
        """What it is, None where it cannot be read."""
        ...


class Stored(Protocol):
    """An open session."""

    @property
    def started(self) -> RunStarted:
        """How it began."""
        ...

    def points(self) -> Sequence[Point]:
        """Its figures."""
        ...

    def close(self) -> None:
        """Close it."""
        ...


class Library(Protocol):
    """The stored sessions (``sessions.library.SessionLibrary`` is one)."""

    def entries(self) -> Sequence[Entry]:
        """All of them, newest first."""
        ...

    def open(self, path: Path) -> Stored:
        """Read one.

        Raises:
            GputunerError: it cannot be read.
        """
        ...


def telling_spread(
    library: Library, card: CardInfo, started: RunStarted, points: Sequence[Point], *, but: str = ""
) -> list[Sequence[Point]]:
    """Figures of a session and of the newest before it: what came later may be the fall that is looked for, and so may
    a run of the guard. Sessions that cannot be read and those that did not complete tell nothing.

    Args:
        library: the stored sessions.
        card: the session's card.
        started: how the session began.
        points: its figures.
        but: a session that is compared itself.
    """
    read: list[Sequence[Point]] = [points]
    for entry in library.entries():
        summary = entry.summary
        if summary is None or summary.run_id == but or len(read) >= EARLIER_MOST or not _tells(summary, card, started):
            continue
        try:
            stored = library.open(summary.path)
        except GputunerError:
            continue
        try:
            if not stored.started.spec.get(AGAINST):
                read.append(stored.points())
        finally:
            stored.close()
    return read


def _tells(summary: Summary, card: CardInfo, started: RunStarted) -> bool:
    before = summary.run_id != started.run_id and summary.started_unix_s < started.unix_s
    same = any(each.uuid == card.uuid for each in summary.cards) and summary.origin is card.origin
    return before and same and summary.outcome is Outcome.COMPLETED
