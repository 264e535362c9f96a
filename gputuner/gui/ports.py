# pyright: standard
"""What the window needs of the rest of the program; the composition root hands in an object that has it.

Longer than other modules because it holds nothing but protocols, which one reads together: the border of the window.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from gputuner.analysis.regression import Key
from gputuner.analysis.session_spread import SessionSpread
from gputuner.analysis.supply_draw import CardDraw
from gputuner.analysis.wear import Wear
from gputuner.gui.alert_port import AlertPort
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.errors import StoreError
from gputuner.model.events import Event, Outcome
from gputuner.model.holders import Holder
from gputuner.model.jobs import Job, QueueView, Request
from gputuner.model.planned import Planned
from gputuner.model.points import Point
from gputuner.model.quantities import Quantity
from gputuner.model.readings import Scalar
from gputuner.telemetry.feed import Feed, Notice


class Run(Protocol):
    """A run of the engine: iterate its events; the last one is ``RunFinished``."""

    @property
    def run_id(self) -> str:
        """Its id."""
        ...

    @property
    def session_path(self) -> Path | None:
        """Where its session lies, if it is kept."""
        ...

    def __iter__(self) -> Iterator[Event]:
        """The events."""
        ...

    def cancel(self) -> None:
        """End the run early and keep what was measured; idempotent, any thread."""
        ...


@runtime_checkable
class Watching(Run, Protocol):
    """A command that is watched; ``cancel`` asks it to end, each time harder, and its run ends with it."""

    @property
    def output(self) -> Path:
        """The file that it writes to."""
        ...

    @property
    def running(self) -> bool:
        """Whether it runs."""
        ...

    def leave(self) -> None:
        """End the watching alone; it goes on."""
        ...


class SessionSummary(Protocol):
    """What the list shows of a session (``sessions.summary.SessionSummary`` is one)."""

    @property
    def run_id(self) -> str:
        """Its id."""
        ...

    @property
    def experiment(self) -> str:
        """``tune``, ``record`` …"""
        ...

    @property
    def started_unix_s(self) -> float:
        """Unix time of its start, in seconds."""
        ...

    @property
    def duration_s(self) -> float:
        """Its length in seconds."""
        ...

    @property
    def outcome(self) -> Outcome | None:
        """How it ended; None while it runs or if it was cut off."""
        ...

    @property
    def running(self) -> bool:
        """True while it is written."""
        ...

    @property
    def origin(self) -> Origin:
        """Measured, simulated or replayed."""
        ...

    @property
    def cards(self) -> tuple[CardInfo, ...]:
        """Its cards."""
        ...

    @property
    def point_count(self) -> int:
        """Number of figures."""
        ...

    @property
    def size_bytes(self) -> int:
        """Size on disk in bytes."""
        ...


class SessionEntry(Protocol):
    """One file of the list: a summary, or why it cannot be read (``sessions.library.Entry`` is one)."""

    @property
    def path(self) -> Path:
        """The file."""
        ...

    @property
    def summary(self) -> SessionSummary | None:
        """Its summary."""
        ...

    @property
    def error(self) -> StoreError | None:
        """Why there is no summary."""
        ...

    @property
    def outside(self) -> bool:
        """True for a file that was named and does not lie in the data folder."""
        ...


class Series(Protocol):
    """One quantity of one card over time; arrays of equal length without NaN."""

    @property
    def t_ns(self) -> NDArray[np.int64]:
        """Times in ns, int64 (n,)."""
        ...

    @property
    def minimum(self) -> NDArray[np.float64]:
        """Lowest values, float64 (n,)."""
        ...

    @property
    def mean(self) -> NDArray[np.float64]:
        """Mean values, float64 (n,)."""
        ...

    @property
    def maximum(self) -> NDArray[np.float64]:
        """Highest values, float64 (n,)."""
        ...

    @property
    def breaks(self) -> NDArray[np.int64]:
        """Indices before which the line is broken."""
        ...


class SessionReader(Protocol):
    """An open session; used by one thread at a time."""

    def cards(self) -> tuple[CardInfo, ...]:
        """The cards of the session."""
        ...

    def overview(
        self,
        quantities: Sequence[Quantity],
        cards: Collection[str] | None = None,
        t0_ns: int | None = None,
        t1_ns: int | None = None,
        at_most_points: int = 1000,
    ) -> Mapping[tuple[str, Quantity], Series]:
        """Series of several quantities and cards over time, from roll-ups."""
        ...

    def events(self, kinds: Collection[str] | None = None) -> Iterable[Event]:
        """The stored stream, or only these kinds of it."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...


class Obstacle(Protocol):
    """Why a benchmark cannot run here."""

    @property
    def code(self) -> str:
        """Stable code of the sentence."""
        ...

    @property
    def params(self) -> Mapping[str, Scalar]:
        """The sentence's values."""
        ...


class BenchmarkEntry(Protocol):
    """One benchmark of the suite as it stands on a card."""

    @property
    def name(self) -> str:
        """Stable name."""
        ...

    @property
    def group(self) -> str:
        """Group that it is listed under."""
        ...

    @property
    def in_default(self) -> bool:
        """Whether the default suite has it."""
        ...

    @property
    def default_s(self) -> float:
        """Seconds at its usual size."""
        ...

    @property
    def full_s(self) -> float:
        """Seconds with every size and setting."""
        ...

    @property
    def obstacle(self) -> Obstacle | None:
        """Why it cannot run here."""
        ...


class QueuePort(Protocol):
    """The job queue of the data folder; a call may take a disk's time, and raises a ``GputunerError`` if it fails."""

    @property
    def acting(self) -> bool:
        """Whether jobs may be added and a runner started: the cards are real."""
        ...

    def read(self) -> QueueView:
        """The queue as it stands."""
        ...

    def cards(self) -> tuple[CardInfo, ...]:
        """The cards that jobs can be kept to."""
        ...

    def pretend(self) -> None:
        """From now on tell of invented jobs, for pictures on simulated cards; the view says so."""
        ...

    def sessions(self) -> Sequence[SessionEntry]:
        """The stored sessions, newest first."""
        ...

    def add(self, request: Request, like: str = "") -> tuple[Job, ...]:
        """Add a job with this program's environment; an array gives several.

        ``like``: id of the stored session that measured its memory.
        """
        ...

    def move(self, job_id: int, before: int | None, after: int | None) -> None:
        """Put a waiting job before or behind another; to the front where neither is named."""
        ...

    def cancel(self, job_id: int) -> None:
        """Take a waiting job out; end a running one with its whole process group."""
        ...

    def retry(self, job_id: int) -> None:
        """Let an ended job wait again."""
        ...

    def start_runner(self) -> None:
        """Start the process that serves the queue; it outlives the window."""
        ...

    def stop_runner(self) -> None:
        """Ask that process to end; running jobs go on."""
        ...


class Ports(Protocol):
    """Everything the window asks for. Only ``feed``, specs, ``benchmarks`` and preferences are used in its thread."""

    @property
    def feed(self) -> Feed:
        """The feed that Monitor starts with; closed by its maker after the window."""
        ...

    @property
    def tune_spec(self) -> type[object]:
        """The frozen dataclass whose fields make the form of the page Tune."""
        ...

    @property
    def batch_spec(self) -> type[object]:
        """The frozen dataclass whose fields make the form of the page Training."""
        ...

    @property
    def questions(self) -> Mapping[str, type[object]]:
        """The frozen dataclasses of the further questions of the page Training, by name."""
        ...

    @property
    def contend_spec(self) -> type[object]:
        """The frozen dataclass whose fields make the form of the page Share."""
        ...

    @property
    def power_spec(self) -> type[object]:
        """The frozen dataclass whose fields make the form of the page Power."""
        ...

    @property
    def cooling_spec(self) -> type[object]:
        """The frozen dataclass whose fields make the form of the page Cooling."""
        ...

    @property
    def health_spec(self) -> type[object]:
        """The frozen dataclass whose fields make the form of the page Health."""
        ...

    @property
    def sold_names(self) -> Mapping[str, str]:
        """Names of the cards of the catalogue, by id, for what a card may have been sold as."""
        ...

    def wear(self, card: str, told: Callable[[int, int], object], stop: Callable[[], bool]) -> Wear | None:
        """The wear of a card from its stored sessions; None: there is none of it.

        ``told`` is called with how many sessions were read, and of how many; ``stop`` ends it.
        """
        ...

    @property
    def queue(self) -> QueuePort:
        """The job queue."""
        ...

    @property
    def alerts(self) -> AlertPort:
        """The user's alerts."""
        ...

    @property
    def trainings(self) -> Sequence[str]:
        """Names of the built-in trainings, the usual one first."""
        ...

    @property
    def bench_spec(self) -> type[object]:
        """The frozen dataclass of the page Benchmarks: ``names``, ``full``, ``minutes``."""
        ...

    def benchmarks(self, card: str) -> Sequence[BenchmarkEntry]:
        """The suite in its order, with what keeps a benchmark from running on the card with this UUID."""
        ...

    def start(self, spec: object, cards: tuple[str, ...], share: bool) -> Run:
        """Start the experiment that the spec is of on the cards with these UUIDs.

        Raises:
            GputunerError: it cannot start (card busy, running elsewhere, no permission …).
        """
        ...

    def dry_run(self, spec: object, cards: tuple[str, ...], share: bool) -> Planned:
        """What ``start`` would do; touches nothing.

        Raises:
            GputunerError: it could not start.
        """
        ...

    def start_try(self, session: str, name: str, folder: str, share: bool) -> Run:
        """Try the advice ``name`` of the stored session (its id) on its card; ``folder``: where its recipe lies.

        Raises:
            GputunerError: there is none such, it cannot be tried here, or it cannot start.
        """
        ...

    def tries(self, session: str) -> Mapping[str, tuple[Point, Path]]:
        """What came of a session's advice that was tried: by name the gain's figure and the file of the try."""
        ...

    def start_record(self, cards: tuple[str, ...]) -> Run:
        """Record telemetry of the cards until cancelled.

        Raises:
            GputunerError: it cannot start.
        """
        ...

    def start_watch(
        self, argv: tuple[str, ...], folder: Path | None, hooks: bool, cards: tuple[str, ...] = ()
    ) -> Watching:
        """Start a command of the user's in ``folder`` (None: here) and follow it, with hooks in its Python or without;
        no ``cards``: all that there are.

        Raises:
            GputunerError: it cannot be started, or the cards are not real.
        """
        ...

    def sessions(self, also: Sequence[Path] = ()) -> Sequence[SessionEntry]:
        """All stored sessions, newest first; before them the files ``also`` that are not among them."""
        ...

    def open_session(self, path: Path) -> SessionReader:
        """Open a session for reading.

        Raises:
            StoreError: it cannot be read.
        """
        ...

    def spreads(self, path: Path, but: str) -> Mapping[Key, SessionSpread]:
        """How far figures of stored sessions lie apart, told by that at ``path`` and those before it on its card.

        ``but`` is the run that it is compared with.

        Raises:
            StoreError: it cannot be read.
        """
        ...

    def draw(self, card: str) -> CardDraw:
        """What the card with this UUID drew by its stored sessions; without any its limit, or the sheet.

        Raises:
            GputunerError: it is the processor, there is no such card, or nothing tells its watts.
        """
        ...

    def replay(self, path: Path) -> Feed:
        """A feed that plays the session back; the window closes it.

        Raises:
            StoreError: it cannot be read.
        """
        ...

    def delete_session(self, path: Path) -> None:
        """Delete a session for good.

        Raises:
            StoreError: it is in use or cannot be deleted.
        """
        ...

    def export_session(self, path: Path, form: str, target: Path) -> tuple[Path, ...]:
        """Write a session to ``target`` as ``csv`` or ``json``; what was there is replaced. Returns the files written.

        Raises:
            StoreError: it cannot be read or written.
        """
        ...

    def elsewhere(self, cards: Sequence[str]) -> Mapping[str, tuple[Holder, ...]]:
        """Which other processes of gputuner use or read each of the cards (UUIDs); of ``""`` which read all."""
        ...

    def preference(self, name: str) -> str | None:
        """A stored preference (``language``, ``theme``), or None."""
        ...

    def preference_notices(self) -> Sequence[Notice]:
        """What is wrong with the file of the preferences now."""
        ...

    def set_preference(self, name: str, value: str) -> None:
        """Store a preference.

        Raises:
            GputunerError: it cannot be stored.
        """
        ...
