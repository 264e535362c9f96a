"""What one trial costs on a simulated card: load per iteration, work, memory, and what its result will say."""

from dataclasses import dataclass, field

from gputuner.devices.simulated_load import Load
from gputuner.model.readings import Scalar


class UnsupportedOnChipError(Exception):
    """The simulated chip or worker cannot do what was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """One trial's demand: load per iteration, work per iteration, memory, and what the result will say."""

    load: Load
    work: dict[str, float]
    allocated_bytes: int
    reserved_bytes: int
    noise: float
    """Relative spread (lognormal) of timed windows."""
    scatter: float = 0.0
    """Relative spread (lognormal) of whole trials."""
    relative_error: float | None = None
    notes: dict[str, Scalar] = field(default_factory=lambda: {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting of a survey: its parameters and what an iteration of it costs."""

    params: dict[str, Scalar]
    cost: Cost
    once: bool = False
    """It is one iteration by itself, as a step of a training is; not timed again and again."""
    bursts: bool = False
    """It is timed in short bursts with pauses (``bodies/burst_timing.py``)."""
