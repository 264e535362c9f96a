"""A trial in the hands of a simulated worker: its state, and the message that tells its result."""

import random
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from gputuner.model.readings import Scalar
from gputuner.workloads.bodies.burst_timing import PAUSE_OVER_LOAD, clock_notes
from gputuner.workloads.simulated_costs.cost import Cost, Setting


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
    settings: tuple[Setting, ...]
    """One; of a survey all that it goes through."""
    survey: bool
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
    scatter: float = 1.0
    """Factor on all of its times."""
    phase: Phase = Phase.SETUP
    ends_ns: int = 0
    """When the present window or phase ends."""
    began_ns: int = 0
    done_at_start: float = 0.0
    window_ns: int = 0
    t0_ns: int = 0
    part_ns: int = 0
    """When the setting in hand began to be measured."""
    windows: list[float] = field(default_factory=lambda: [])
    clocks: list[float] = field(default_factory=lambda: [])
    host: list[float] = field(default_factory=lambda: [])
    """Share of the host's processor time in use, at the end of each window."""
    resting: bool = False
    """In a pause between two bursts."""
    rest_mhz: float = 0.0
    """Highest clock at the end of such a pause."""
    told_ns: int = -(10**18)
    armed_ns: int = 0
    at: int = 0
    """Place of the setting in hand."""
    parts: list[dict[str, Any]] = field(default_factory=lambda: [])

    @property
    def cost(self) -> Cost:
        """What an iteration of the setting in hand costs."""
        return self.settings[self.at].cost

    @property
    def allocated_bytes(self) -> int:
        """The most that any setting holds."""
        return max(setting.cost.allocated_bytes for setting in self.settings)

    @property
    def setting_s(self) -> float:
        """Seconds to measure each setting for."""
        return self.measure_s / len(self.settings)

    def close_part(self, t_ns: int) -> bool:
        """Keep the setting in hand as measured until ``t_ns`` and go on to the next; False: it was the last."""
        setting = self.settings[self.at]
        self.parts.append(
            {
                "params": setting.params,
                "iteration_s": self.windows,
                "t0_ns": self.part_ns,
                "t1_ns": t_ns,
                "work": setting.cost.work,
                "relative_error": setting.cost.relative_error,
                "notes": {**setting.cost.notes, **self._burst_notes()},
            }
        )
        self.windows, self.part_ns, self.resting = [], t_ns, False
        if self.at + 1 == len(self.settings):
            return False
        self.at += 1
        return True

    def rested(self, t_ns: int, clock_mhz: float) -> None:
        """A pause is over; the setting in hand is measured from the first of its bursts on."""
        self.resting, self.rest_mhz = False, max(self.rest_mhz, clock_mhz)
        self.part_ns = self.part_ns if self.windows else t_ns

    def _burst_notes(self) -> dict[str, Scalar]:
        """What a setting that is timed in bursts says of them."""
        if not self.settings[self.at].bursts or not self.windows:
            return {}
        return {
            "loaded_share": 1.0 / (1.0 + PAUSE_OVER_LOAD),
            "pause_s": round(PAUSE_OVER_LOAD * self.window_ns / 1e9, 5),
            **clock_notes(self.clocks[-len(self.windows) :], self.rest_mhz),
        }

    def progress(self, t_ns: int) -> dict[str, Any]:
        """How far it is at ``t_ns``: phase, seconds of it, seconds left, and of a survey the settings."""
        done_s = (t_ns - self.began_ns) / 1e9
        left_s = self.measure_s
        left_s += self.window_ns / 1e9 if self.phase is Phase.WARMUP else -done_s
        return {
            "phase": self.phase.value,
            "done_s": done_s,
            "left_s": max(0.0, left_s),
            "done": len(self.parts) if self.survey else None,
            "of": len(self.settings) if self.survey else None,
        }

    def result(self, t1_ns: int, *, too_slow: bool, stopped: bool) -> dict[str, Any]:
        """Fields of the ``result`` message."""
        notes: dict[str, Scalar] = {**({} if self.survey else self.cost.notes), "simulated": True}
        if self.clocks:
            notes["clock_mhz"] = round(sum(self.clocks) / len(self.clocks), 1)
        if self.host and not self.survey:
            notes["host_busy"] = round(sum(self.host) / len(self.host), 3)
        if stopped:
            notes["stopped"] = True
        return {
            "id": self.id,
            "parts": self.parts,
            "iteration_s": [] if self.survey else self.windows,
            "t0_ns": self.t0_ns,
            "t1_ns": t1_ns,
            "work": {} if self.survey else self.cost.work,
            "memory": {
                "allocated_peak_bytes": self.allocated_bytes,
                "reserved_peak_bytes": self.reserved_bytes,
                "allocator_retries": self.retries,
                "capacity_bytes": self.capacity_bytes,
                "free_bytes": self.capacity_bytes,
            },
            "steady": not too_slow,
            "too_slow": too_slow,
            "relative_error": None if self.survey else self.cost.relative_error,
            "notes": notes,
        }
