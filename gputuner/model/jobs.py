"""The words of the job queue: a job, what it needs, how it stands, and why it waits."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import isfinite

from gputuner.model.readings import Scalar


class JobState(StrEnum):
    """How a job stands.

    waiting → starting (placed; its supervisor has been sent for) → running (claimed by the supervisor) → one of the
    ends. A start that nobody claimed goes back to waiting, and so does an end that is tried again.
    """

    WAITING = "waiting"
    STARTING = "starting"
    RUNNING = "running"
    DONE = "done"
    """Ended with exit code 0."""
    FAILED = "failed"
    """Ended with another code, by a signal, or its end is not known."""
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    INTERRUPTED = "interrupted"
    """The machine went down, or something outside ended the supervisor."""


PLACED = (JobState.STARTING, JobState.RUNNING)
"""States in which a job holds a place on its cards."""
ENDED = (JobState.DONE, JobState.FAILED, JobState.CANCELLED, JobState.TIMED_OUT, JobState.INTERRUPTED)
"""States from which only the user, or the job's own policy, brings it back."""


class OnReboot(StrEnum):
    """What becomes of a job that ran when the machine went down."""

    RERUN = "rerun"
    STOP = "stop"


class NeedSource(StrEnum):
    """Where a job's need of memory comes from."""

    GIVEN = "given"
    HISTORY = "history"
    """Earlier jobs of the same command in the same folder."""
    WATCHED = "watched"
    """A stored session of ``watch`` of the same command."""
    SESSION = "session"
    """A stored session that the user named."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why a job waits or how it ended, as a code with its values; ``language.jobs`` makes the sentence."""

    code: str
    params: dict[str, Scalar] = field(default_factory=lambda: {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What a job needs before it can start.

    ``memory_bytes``: on each of its ``cards`` (None: not known, so it gets its cards to itself). ``minutes``: how long
    it is expected to run. ``alone``: no other job beside it. ``share``: it may stand beside a job whose slowdown beside
    it was never measured, if that one may too. ``pinned``: UUIDs of the only cards it may use (empty: any).
    ``label``: the name under which ``contend`` measured it.
    """

    memory_bytes: int | None = None
    cards: int = 1
    minutes: float | None = None
    source: NeedSource = NeedSource.UNKNOWN
    alone: bool = False
    share: bool = False
    pinned: tuple[str, ...] = ()
    label: str = ""

    def __post_init__(self) -> None:
        """Refuse what cannot be a need."""
        if self.cards < 1 or (self.memory_bytes is not None and self.memory_bytes < 0):
            raise ValueError("a job needs at least one card and no negative memory")
        if self.minutes is not None and not (isfinite(self.minutes) and self.minutes > 0):
            raise ValueError("the expected time is a positive number of minutes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A job as it is asked for.

    ``command``: the words as they will be run. ``environment``: all of it; kept privately, never told.
    ``after``: ids of the jobs that must be done first. ``retries``: how often it is tried again after it failed.
    ``timeout_s``: it is ended after so long. ``start_within_s``: it is given up when it has not started by then.
    """

    command: tuple[str, ...]
    folder: str
    environment: dict[str, str] = field(repr=False, default_factory=lambda: {})
    needs: Needs = field(default_factory=Needs)
    name: str = ""
    priority: int = 0
    after: tuple[int, ...] = ()
    retries: int = 0
    timeout_s: float | None = None
    start_within_s: float | None = None
    on_reboot: OnReboot = OnReboot.STOP
    array: tuple[int, ...] = ()
    """Indices of an array: one job for each; empty: one job without."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job of the queue as it stands. Times are Unix seconds; None: not yet."""

    id: int
    command: tuple[str, ...]
    """The words as they may be told: without secrets and the user's folders."""
    folder: str
    needs: Needs
    state: JobState
    whole: tuple[str, ...] = ()
    """All words for their owner, without secrets."""
    name: str = ""
    priority: int = 0
    after: tuple[int, ...] = ()
    retries: int = 0
    timeout_s: float | None = None
    start_within_s: float | None = None
    on_reboot: OnReboot = OnReboot.STOP
    array_id: int | None = None
    """Id of the first job of its array."""
    array_index: int | None = None
    attempt: int = 0
    """How often it was started."""
    cards: tuple[str, ...] = ()
    reserved_bytes: int | None = None
    """Memory kept for it on each of its cards; None: the cards are its own."""
    reason: Reason | None = None
    """Why it waits, or how it ended where that was not by itself."""
    added_unix_s: float = 0.0
    waiting_since_unix_s: float = 0.0
    started_unix_s: float | None = None
    ended_unix_s: float | None = None
    exit_code: int | None = None
    """128 + n after signal n."""
    pid: int | None = None
    """Process of the command."""
    used_bytes: int | None = None
    """Most that it has on one of its cards now; None: not told."""
    peak_bytes: int | None = None
    """Most that it ever had on one of its cards."""
    log: str = ""
    """Path of the log of its last start."""
    tail: str = ""
    """Last lines of that log, where it failed."""

    @property
    def grown_bytes(self) -> int:
        """Bytes by which it has grown past what is kept for it."""
        if self.reserved_bytes is None or self.peak_bytes is None:
            return 0
        return max(0, self.peak_bytes - self.reserved_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryHolder:
    """A process outside the queue that holds memory of a card."""

    pid: int
    name: str
    memory_bytes: int | None = None
    idle_s: float | None = None
    """Since when it has computed nothing, as far as the queue has watched; None: it computes, or that is not told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueCard:
    """A card as the queue's runner saw it last.

    ``reserved_bytes``: kept for jobs there. ``paused``: why nothing is started on it. ``slots``: jobs at a time
    (the card ``cpu`` only).
    """

    uuid: str
    title: str
    index: int
    total_bytes: int | None
    free_bytes: int | None = None
    reserved_bytes: int = 0
    jobs: tuple[int, ...] = ()
    holders: tuple[MemoryHolder, ...] = ()
    temperature_c: float | None = None
    paused: Reason | None = None
    slots: int | None = None
    seen_unix_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerInfo:
    """Who serves the queue."""

    pid: int
    since_unix_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueView:
    """The queue at a time: running and waiting jobs first, in their order, then ended ones, the newest first."""

    jobs: tuple[Job, ...] = ()
    cards: tuple[QueueCard, ...] = ()
    runner: RunnerInfo | None = None
    counts: dict[JobState, int] = field(default_factory=lambda: {})
    """Of all jobs, told here or not."""
    left: Mapping[int, tuple[int, ...]] = field(default_factory=lambda: {})
    """Processes that live on although their job has ended, by job; only where it was asked for."""
    pretended: bool = False
    """True: made up for a picture of simulated cards; nobody has queued anything."""

    @property
    def paused(self) -> Reason | None:
        """Why nothing starts although a runner serves: every card is paused."""
        reasons = [card.paused for card in self.cards]
        return reasons[0] if reasons and all(reasons) else None


class NoteKind(StrEnum):
    """What a runner tells while it serves."""

    STARTED = "started"
    ENDED = "ended"
    TRIED_AGAIN = "tried_again"
    INTERRUPTED = "interrupted"
    GREW = "grew"
    """A job holds more than is kept for it; it is told, not ended."""
    PAUSED = "paused"
    RESUMED = "resumed"
    WAITS = "waits"
    """Why the first of the line waits."""
    GIVEN_UP = "given_up"
    """A job did not start within the time that its owner set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerNote:
    """One thing that happened, for whoever watches the runner."""

    kind: NoteKind
    job: Job | None = None
    reason: Reason | None = None
