"""What a trial needs of a survey: a workload that goes through many settings by itself and times each."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from gputuner.workloads.bodies.body import Fact


class Tried(Protocol):
    """Takes how many settings were tried, and of how many (None: not known)."""

    def __call__(self, done: int, of: "int | None" = None) -> None:
        """Tell it."""
        ...


def _untold(done: int, of: "int | None" = None) -> None:
    """Nobody listens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How long a survey may take, and whether it should stop. ``measure_s`` is what was asked for, in seconds.

    Asking for ``left_s`` or ``stopped`` also lets the engine know that the survey goes on (at most twice a second): a
    survey asks where some µs do no harm, between its windows.
    """

    measure_s: float
    left_s: Callable[[], float]
    """Seconds left of it."""
    stopped: Callable[[], bool]
    tried: Tried = _untold
    """Tell how many settings were tried so far; without it the parts are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One setting: see ``model.steps.Part``, whose fields these are. Without windows it is a gap (``gaps.py``)."""

    params: "dict[str, Fact]"
    iteration_s: "tuple[float, ...]"
    t0_ns: int
    t1_ns: int
    work: "dict[str, float]" = field(default_factory=lambda: {})
    relative_error: "float | None" = None
    notes: "dict[str, Fact]" = field(default_factory=lambda: {})

    def message(self) -> "dict[str, Any]":
        """As it crosses the wire."""
        return {
            "params": self.params,
            "iteration_s": list(self.iteration_s),
            "t0_ns": self.t0_ns,
            "t1_ns": self.t1_ns,
            "work": self.work,
            "relative_error": self.relative_error,
            "notes": self.notes,
        }


class Survey(Protocol):
    """Set up when it is made; nothing is timed before ``parts``."""

    work: "dict[str, float]"
    """Empty, or what every part does per iteration."""

    def parts(self, pace: Pace) -> "Iterator[Part]":
        """Measure one setting after the other; ends by itself when all are measured or the time is used up."""
        ...

    def notes(self) -> "dict[str, Fact]":
        """Facts for the reader of all parts."""
        ...
