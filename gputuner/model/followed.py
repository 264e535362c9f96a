"""What is seen of a command that a user runs under observation, from outside: its processes, now and in all."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowedProcess:
    """One process of the command's tree as it was last seen."""

    pid: int
    name: str
    cpu_s: float = 0.0
    """Processor time of all its threads so far."""
    busiest_thread_s: float = 0.0
    """Processor time of the thread that used most of it."""
    seen_s: float = 0.0
    """Seconds between its first and its last sighting."""
    memory_peak_bytes: int = 0
    """Most resident memory it was seen with."""
    read_bytes: int | None = None
    """Read from storage so far; None where the system does not tell."""
    written_bytes: int | None = None
    card_bytes: dict[str, int] = field(default_factory=lambda: {})
    """Most memory that the driver said it holds, by card."""
    alive: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeNow:
    """The tree since the look before: sums over its processes.

    ``cpu_cores``: processor time per second of wall time; ``busiest_thread``: share of one core that the busiest thread
    of all took. ``memory_bytes``: resident, shared pages counted in each process. Bytes per second are of storage (None
    where the system does not tell).
    """

    processes: int
    cpu_cores: float
    busiest_thread: float
    memory_bytes: int
    read_bytes_per_s: float | None = None
    written_bytes_per_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CardHeld:
    """Memory on a card now, in bytes: the tree's and that of other processes (None: the driver does not tell)."""

    card: str
    own_bytes: int | None
    others_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingNow:
    """A training inside the command as its own process tells it, newest figures.

    ``step_s``: seconds per optimizer step lately; ``waiting``: share of the time spent waiting for data;
    ``rate_per_s``: samples per second; memory: torch's own peaks in bytes.
    """

    pid: int
    rank: int | None = None
    steps: int = 0
    step_s: float | None = None
    waiting: float | None = None
    rate_per_s: float | None = None
    batch: int | None = None
    allocated_peak_bytes: int | None = None
    reserved_peak_bytes: int | None = None
    memory_total_bytes: int | None = None
