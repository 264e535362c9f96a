"""What the commands need of the program below them; ``gputuner.assembly`` meets it.

``assembly.open_setup`` is an ``OpenSetup``. Opening touches no card and starts no process: the telemetry starts with
the first use of ``feed``, ``cards`` or ``select``, so that ``sessions`` and ``--help`` work on any machine.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from gputuner.analysis.telemetry_quality import QualityNote
from gputuner.experiments.protocol import Experiment
from gputuner.model.advice import Advice, Question
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.errors import GputunerError
from gputuner.model.events import AlertCleared, AlertRaised, CommandEnded, Event, Outcome, RunStarted, Warned
from gputuner.model.findings import Finding
from gputuner.model.fingerprint import HostFingerprint, TorchFingerprint
from gputuner.model.planned import Rehearsed
from gputuner.model.points import Point
from gputuner.telemetry.feed import Feed, Notice

if TYPE_CHECKING:
    from gputuner.engine.watched_begun import Begun
    from gputuner.experiments.benchmarks.benchmark import Machine


class Run(Protocol):
    """A run under way: iterate its events; the last is ``RunFinished``."""

    @property
    def run_id(self) -> str:
        """Identity of the run and of its session."""
        ...

    @property
    def session_path(self) -> Path | None:
        """Where the session is kept (None: it is not)."""
        ...

    def __iter__(self) -> Iterator[Event]:
        """The events; blocks until the next one."""
        ...

    def cancel(self, *, force: bool = False) -> None:
        """End the run early, with ``force`` without grace; idempotent, from any thread or signal handler."""
        ...


class Summary(Protocol):
    """A stored session in short (``sessions``' own summary)."""

    @property
    def run_id(self) -> str:
        """Identity of the run."""
        ...

    @property
    def path(self) -> Path:
        """Its file."""
        ...

    @property
    def experiment(self) -> str:
        """Name of the experiment (``tune``, ``record``)."""
        ...

    @property
    def started_unix_s(self) -> float:
        """When it began (unix time)."""
        ...

    @property
    def duration_s(self) -> float | None:
        """How long it took; None while it runs or where its end is not known."""
        ...

    @property
    def outcome(self) -> Outcome | None:
        """None: still running, or the program was killed."""
        ...

    @property
    def running(self) -> bool:
        """True while it is being written."""
        ...

    @property
    def origin(self) -> Origin:
        """Measured, simulated or replayed."""
        ...

    @property
    def source(self) -> str:
        """Who read the telemetry."""
        ...

    @property
    def cards(self) -> tuple[CardInfo, ...]:
        """The cards it is about."""
        ...

    @property
    def point_count(self) -> int:
        """How many figures it holds."""
        ...

    @property
    def size_bytes(self) -> int:
        """Size of its files."""
        ...


class Entry(Protocol):
    """One session file: its summary, or why it cannot be read."""

    @property
    def path(self) -> Path:
        """The file."""
        ...

    @property
    def summary(self) -> Summary | None:
        """The session in short."""
        ...

    @property
    def error(self) -> GputunerError | None:
        """Why it cannot be read."""
        ...


class Stored(Protocol):
    """A stored session, read back."""

    def summary(self) -> Summary:
        """The session in short."""
        ...

    @property
    def started(self) -> RunStarted:
        """The start of its run: cards, fingerprint, origin."""
        ...

    def torch(self) -> TorchFingerprint | None:
        """The torch that was measured; None where none was asked."""
        ...

    def points(self) -> Sequence[Point]:
        """All figures."""
        ...

    def advice(self) -> tuple[Sequence[Advice], Sequence[Question]]:
        """Advice and open questions."""
        ...

    def warnings(self) -> Sequence[Warned]:
        """All warnings."""
        ...

    def alerts(self) -> Sequence[AlertRaised | AlertCleared]:
        """What the user's alerts told."""
        ...

    def command_ended(self) -> CommandEnded | None:
        """What was seen of a watched command; None where none was."""
        ...

    def close(self) -> None:
        """Close the file; idempotent."""
        ...


class Library(Protocol):
    """The stored sessions of one data folder."""

    def entries(self) -> Sequence[Entry]:
        """All session files, newest first; those that cannot be read come last."""
        ...

    def find(self, which: str | None) -> Path:
        """The file of a session by id, unique prefix or path (None: the newest finished one).

        Raises:
            StoreError: none or several fit.
        """
        ...

    def open(self, path: Path) -> Stored:
        """Read a session (also one that is still being written).

        Raises:
            StoreError: not a session, damaged, or of a newer version.
        """
        ...

    def disagreements(self, path: Path) -> Sequence[QualityNote]:
        """What sessions from other sources tell otherwise of the same cards at the same time.

        Raises:
            StoreError: the session cannot be read.
        """
        ...

    def export(self, path: Path, form: str, target: Path) -> Sequence[Path]:
        """Write a session as ``csv``, ``json`` or ``parquet``; the files written.

        Raises:
            StoreError: it cannot be read or written, or the extra for ``parquet`` is missing.
        """
        ...

    def delete(self, path: Path) -> None:
        """Remove a session's files.

        Raises:
            StoreError: it is being written now, or may not be removed.
        """
        ...


class Setup(Protocol):
    """The program as the options ask for it."""

    @property
    def origin(self) -> Origin:
        """Measured, simulated or replayed."""
        ...

    @property
    def data_dir(self) -> Path:
        """Where sessions and logs lie."""
        ...

    @property
    def feed(self) -> Feed:
        """The telemetry of all cards; starts on first use."""
        ...

    @property
    def sessions(self) -> Library:
        """The stored sessions."""
        ...

    def cards(self) -> tuple[CardInfo, ...]:
        """Every card (the card ``cpu`` among them only where there is no other)."""
        ...

    def notices(self) -> Sequence[Notice]:
        """What the telemetry met that a reader must know, each once; starts nothing."""
        ...

    def host(self) -> HostFingerprint:
        """The machine around the cards."""
        ...

    def machine(self, card: CardInfo) -> "Machine":
        """What can be told of a card, its neighbours and the software before anything runs."""
        ...

    def select(self, selection: str | None, *, for_experiment: bool) -> tuple[CardInfo, ...]:
        """The cards that ``--gpu`` names; None: all for viewing, for an experiment the one that suits best.

        Raises:
            NoCard: there is none such.
            UsageError: the selection is empty or fits several cards.
        """
        ...

    def start(self, spec: Experiment, cards: Sequence[CardInfo], *, share: bool) -> Run:
        """Start an experiment on each of ``cards`` in turn.

        Raises:
            CardBusy: others compute on a card and ``share`` is False, or another run holds it.
            UsageError: the cards are replayed.
        """
        ...

    def launch(
        self,
        argv: Sequence[str],
        *,
        hooks: bool,
        to_stderr: bool = False,
        around: AbstractContextManager[object] | None = None,
    ) -> "Begun":
        """Start a command of the user's, on the streams we were given; with ``to_stderr`` its output goes to stderr.

        ``around`` is entered while its process is made.

        Raises:
            CommandError: it cannot be started.
        """
        ...

    def watch(self, begun: "Begun", cards: Sequence[CardInfo], *, kept: bool = True) -> Run:
        """Follow a command that has been started, and the cards; ends with it.

        Raises:
            StoreError: the session cannot be written.
        """
        ...

    def rehearse(self, spec: Experiment, card: CardInfo) -> Rehearsed:
        """What ``start`` would do and leave out; touches nothing."""
        ...

    def doctor(self) -> Sequence[Finding]:
        """What on this machine stands in the way; never raises for what it finds."""
        ...

    def close(self) -> None:
        """Stop the telemetry and every child; idempotent."""
        ...


class OpenSetup(Protocol):
    """``assembly.open_setup``."""

    def __call__(
        self,
        *,
        simulate: tuple[str, ...] = (),
        replay: Path | None = None,
        data_dir: Path | None = None,
        python: str | None = None,
        memory_cap_bytes: int | None = None,
    ) -> Setup:
        """Put the program together.

        Raises:
            UsageError: ``simulate`` names no card of the catalogue.
            StoreError: the file to replay cannot be read.
        """
        ...
