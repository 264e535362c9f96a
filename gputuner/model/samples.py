"""What one tick tells of one card, and the slower facts beside it."""

from dataclasses import dataclass, field
from math import isfinite

from gputuner.model.quantities import Quantity
from gputuner.model.readings import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One card at one tick.

    ``values`` holds what was read (floats finite); ``missing`` why the others were not. A quantity that is in neither
    was not due on this tick (its tier is slower) and must not be filled in.
    """

    card: str
    t_ns: int
    values: dict[Quantity, float]
    missing: dict[Quantity, Reason] = field(default_factory=lambda: {})

    def __post_init__(self) -> None:
        """Refuse NaN and infinities."""
        if not all(map(isfinite, self.values.values())):
            raise ValueError(f"not finite: {[name for name, value in self.values.items() if not isfinite(value)]}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessOnCard:
    """A process that holds memory on a card."""

    pid: int
    name: str | None
    user: str | None
    command: str | None
    memory_bytes: int | None
    memory_reason: Reason | None = None
    compute: bool = True
    """False for graphics-only clients (compositor, desktop)."""
    started_s: float | None = None
    """Unix time of the process's start."""
    sm_utilisation: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CardProcesses:
    """The process table of a card at a time; ``reason`` if it cannot be read."""

    card: str
    t_ns: int
    processes: tuple[ProcessOnCard, ...]
    reason: Reason | None = None
    unowned_bytes: int | None = None
    """Memory in use that no visible process owns (None: cannot be told)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Telemetry was silent from ``t0_ns`` to ``t1_ns`` (card None: all cards); the series keeps the gap."""

    card: str | None
    t0_ns: int
    t1_ns: int
    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class XidSeen:
    """The driver reported an XID error for a card."""

    card: str
    t_ns: int
    xid: int
