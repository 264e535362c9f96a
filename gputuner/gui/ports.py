"""What the window needs of the rest of the program; the composition root hands in an object that has it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gputuner.model.advice import Advice, Question
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.events import Event, Outcome, Warned
from gputuner.model.points import Point
from gputuner.model.readings import Scalar
from gputuner.telemetry.feed import Feed


class Run(Protocol):
    """A run of the engine: iterate its events; the last one is ``RunFinished``."""

    @property
    def run_id(self) -> str:
        """The run's id."""
        ...

    @property
    def session_path(self) -> Path | None:
        """Where its session lies."""
        ...

    def __iter__(self) -> Iterator[Event]: ...

    def cancel(self) -> None:
        """End the run early and keep what was measured; idempotent, any thread."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStep:
    """One step of the dry run."""

    label: str
    params: Mapping[str, Scalar] = field(default_factory=lambda: {})
    expected_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What a start would do: the steps, how long it takes, and the limits that are kept (codes with values)."""

    steps: tuple[PlannedStep, ...]
    expected_s: float
    cards: tuple[str, ...] = ()
    warnings: tuple[Warned, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionItem:
    """One line of the list of sessions."""

    session_id: str
    experiment: str
    started_unix_s: float
    duration_s: float | None
    cards: tuple[str, ...]
    origin: Origin
    outcome: Outcome | None
    points: int = 0
    size_bytes: int | None = None


class Series(Protocol):
    """A rolled-up series of one quantity; arrays of equal length."""

    @property
    def t_ns(self) -> NDArray[np.int64]: ...
    @property
    def minimum(self) -> NDArray[np.float64]: ...
    @property
    def mean(self) -> NDArray[np.float64]: ...
    @property
    def maximum(self) -> NDArray[np.float64]: ...


class SessionReader(Protocol):
    """An open session; used from one thread only."""

    def cards(self) -> tuple[CardInfo, ...]:
        """The cards of the session."""
        ...

    def series(self, card: str, quantity: str, t0_ns: int | None, t1_ns: int | None, at_most_points: int) -> Series:
        """Minimum, mean and maximum of a quantity over time, from roll-ups."""
        ...

    def points(self) -> tuple[Point, ...]:
        """All measured points."""
        ...

    def advice(self) -> tuple[tuple[Advice, ...], tuple[Question, ...]]:
        """Advice and open questions."""
        ...

    def events(self) -> Iterator[Event]:
        """The stored stream."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...


class Ports(Protocol):
    """Everything the window asks for. Calls that may take time are made from worker threads only."""

    @property
    def feed(self) -> Feed:
        """The feed Monitor starts with."""
        ...

    @property
    def tune_spec(self) -> type[object]:
        """The frozen dataclass whose fields make the form of the page Tune."""
        ...

    def reference(self, card: str) -> Mapping[str, float]:
        """Figures of the card's sheet: ``peak_fp16`` … (FLOP/s), ``peak_bandwidth`` (bytes/s); empty if unknown."""
        ...

    def start_tune(self, spec: object, cards: tuple[str, ...], share: bool) -> Run:
        """Start the experiment.

        Raises:
            GputunerError: it cannot start (card busy, running elsewhere, no permission …).
        """
        ...

    def dry_run(self, spec: object, cards: tuple[str, ...], share: bool) -> Planned:
        """What ``start_tune`` would do; touches nothing.

        Raises:
            GputunerError: it could not start.
        """
        ...

    def start_record(self, cards: tuple[str, ...]) -> Run:
        """Record telemetry until cancelled."""
        ...

    def sessions(self) -> tuple[SessionItem, ...]:
        """All stored sessions."""
        ...

    def open_session(self, session_id: str) -> SessionReader:
        """Open a session for reading."""
        ...

    def replay(self, session_id: str) -> Feed:
        """A feed that plays the session back."""
        ...

    def delete_session(self, session_id: str) -> None:
        """Delete a session for good."""
        ...

    def export_session(self, session_id: str, target: Path) -> None:
        """Write the session to ``target``; its ending (``.csv``, ``.json``) picks the format."""
        ...

    def preference(self, name: str) -> str | None:
        """A stored preference (``language``, ``theme``), or None."""
        ...

    def set_preference(self, name: str, value: str) -> None:
        """Store a preference."""
        ...
