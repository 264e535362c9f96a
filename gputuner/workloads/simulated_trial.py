"""A trial in the hands of a simulated worker: its state, and the message that tells its result."""

import random
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from gputuner.model.readings import Scalar
from gputuner.workloads.simulated_costs import Cost


class Phase(StrEnum):
    """What a trial is doing."""

    SETUP = "setup"
    WARMUP = "warmup"
    ARMED = "armed"
    MEASURE = "measure"


@dataclass(slots=True, kw_only=True)
class SimulatedTrial:
    """A trial in hand; times in ns on the card's clock."""

    id: str
    cost: Cost
    measure_s: float
    budget_s: float
    warmup_s: float | None
    barrier: bool
    deadline_ns: int
    capacity_bytes: int
    """What the allocator could reach when the trial began."""
    reserved_bytes: int
    retries: int
    rng: random.Random
    phase: Phase = Phase.SETUP
    ends_ns: int = 0
    """When the present window or phase ends."""
    began_ns: int = 0
    done_at_start: float = 0.0
    window_ns: int = 0
    t0_ns: int = 0
    windows: list[float] = field(default_factory=lambda: [])
    clocks: list[float] = field(default_factory=lambda: [])
    told_ns: int = -(10**18)
    armed_ns: int = 0

    def result(self, t1_ns: int, *, too_slow: bool, stopped: bool) -> dict[str, Any]:
        """Fields of the ``result`` message."""
        notes: dict[str, Scalar] = {**self.cost.notes, "simulated": True}
        if self.clocks:
            notes["clock_mhz"] = round(sum(self.clocks) / len(self.clocks), 1)
        if stopped:
            notes["stopped"] = True
        return {
            "id": self.id,
            "iteration_s": self.windows,
            "t0_ns": self.t0_ns,
            "t1_ns": t1_ns,
            "work": self.cost.work,
            "memory": {
                "allocated_peak_bytes": self.cost.allocated_bytes,
                "reserved_peak_bytes": self.reserved_bytes,
                "allocator_retries": self.retries,
                "capacity_bytes": self.capacity_bytes,
                "free_bytes": self.capacity_bytes,
            },
            "steady": not too_slow,
            "too_slow": too_slow,
            "relative_error": self.cost.relative_error,
            "notes": notes,
        }
