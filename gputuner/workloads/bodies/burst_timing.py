"""Timing of the settings of a survey in short bursts with pauses, so that they run before the power cap takes hold.

On an H200 the cap takes hold 35 to 77 ms after a full load begins; under it the clock wanders, and a setting of half a
second does not repeat within 1 %. So a card is loaded for at most ``LONGEST_BURST_S`` and then left alone for
``PAUSE_OVER_LOAD`` times as long: its mean draw stays near a quarter of the load's above idle. A window is what a burst
runs behind a short untimed lead (by which the host gets ahead of the card), timed by the card's own events.

Whether something held the clock back all the same is measured in band: a spin of known cycles behind each burst tells
the clock that it ended with, others before and after the bursts of a setting the clock of a card that rests. Telemetry
reads the limits twice a second and mostly meets a pause.

A setting's time counts from the end of its first iterations, in which libraries choose, compile and load kernels. Long
iterations have long pauses: where the time does not hold the bursts that an interval needs, more is taken, as far as
the survey has it (``most_s``).

Where there is no such cap (a processor), or where two iterations are longer than a burst may be, windows follow each
other without a pause, as ``setting_timing`` has it.
"""

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from gputuner.workloads.bodies.body import Fact
from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.setting_timing import first_iterations, timed_warm, waited_for, window_needs_s

PHASE = "bursts"
"""Of figures that were measured so."""
LONGEST_BURST_S, SHORTEST_BURST_S = 0.025, 0.004
PAUSE_OVER_LOAD = 3.0
BURSTS_WANTED = 24
"""For an interval (20 blocks) with some to spare."""
BURSTS_NEEDED = 21
"""For an interval, one to spare: for so many a setting gets more time, where there is some."""
LEAST_BURSTS = 8
WARM_BURSTS = 2
LEAD_S = 0.0005
"""Untimed at the start of a burst: the first launch after a pause takes the host longer."""
AROUND_S = 0.004
"""Of a burst beside its timed part and its pause: lead, clock, and what the host takes to wake up."""
CLOCK_STEP_MHZ, CLOCK_STEP = 15.0, 0.0075
"""A clock lower than that of the resting card by a step of it was held back: 15 MHz, at most so large a share."""
LOW_QUANTILE = 0.1
"""Of the clocks that the bursts ended with this one is told beside the median, which a few lowered ones do not move."""
TRIES = 2
"""An iteration that seems too long for a burst is timed so often again: the host may have been busy."""
REST_CLOCKS = 3
"""Spins whose median tells the clock of the resting card: one may be interrupted."""


@dataclass(frozen=True)
class Timing:
    """How long an iteration took, and how that was measured.

    ``params``: ``phase`` where it was in bursts. ``notes`` then: ``loaded_share`` (of the span), ``pause_s`` after each
    burst, ``clock_mhz`` at the end of the bursts (median), ``clock_low_mhz`` (their lowest tenth), ``clock_rest_mhz``
    of the resting card, and ``clock_lowered_share``, the share of the bursts that ended at least a step below it.
    """

    iteration_s: "tuple[float, ...]"
    t0_ns: int
    t1_ns: int
    params: "dict[str, Fact]" = field(default_factory=lambda: {})
    notes: "dict[str, Fact]" = field(default_factory=lambda: {})


@dataclass(frozen=True)
class _Shape:
    """A burst of ``count`` timed iterations behind ``lead`` untimed ones."""

    count: int
    lead: int
    length_s: float

    @classmethod
    def of(cls, length_s: float, iteration_s: float) -> "_Shape":
        lead = max(1, math.ceil(LEAD_S / iteration_s))
        return cls(count=max(1, int(length_s / iteration_s + 1e-6)), lead=lead, length_s=length_s)

    def load_s(self, iteration_s: float) -> float:
        """Seconds for which it loads the card."""
        return (self.count + self.lead) * iteration_s


def fits_bursts(iteration_s: float) -> bool:
    """Whether a lead and one timed iteration end before a cap may take hold."""
    return 2.0 * iteration_s <= LONGEST_BURST_S


def burst_length_s(seconds: float, iteration_s: float) -> float:
    """Seconds of the timed part of a burst: ``BURSTS_WANTED`` of them with their pauses fit into ``seconds``."""
    wanted_s = (seconds / BURSTS_WANTED - AROUND_S) / (1.0 + PAUSE_OVER_LOAD)
    return min(LONGEST_BURST_S - max(LEAD_S, iteration_s), max(SHORTEST_BURST_S, wanted_s))


def needed_s(iteration_s: float) -> float:
    """Seconds that ``BURSTS_NEEDED`` of the shortest bursts take with their pauses."""
    shape = _Shape.of(SHORTEST_BURST_S, iteration_s)
    return BURSTS_NEEDED * ((1.0 + PAUSE_OVER_LOAD) * shape.load_s(iteration_s) + AROUND_S)


def is_lowered(clock_mhz: float, rest_mhz: float) -> bool:
    """Whether a clock lies a step or more below that of the resting card."""
    return clock_mhz <= rest_mhz - min(CLOCK_STEP_MHZ, CLOCK_STEP * rest_mhz)


def clock_notes(clocks: "Sequence[float]", rest_mhz: float) -> "dict[str, Fact]":
    """What the clocks at the end of the bursts say beside that of the resting card, in MHz."""
    if not clocks:
        return {}
    lowered = sum(is_lowered(clock, rest_mhz) for clock in clocks)
    return {
        "clock_mhz": round(statistics.median(clocks), 1),
        "clock_low_mhz": round(sorted(clocks)[int(LOW_QUANTILE * len(clocks))], 1),
        "clock_rest_mhz": round(rest_mhz, 1),
        "clock_lowered_share": round(lowered / len(clocks), 3),
    }


class BurstTimer:
    """Times one setting of a survey after the other, and keeps the highest clock that the resting card had."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._highest_mhz = 0.0

    def timed(self, iterate: Callable[[], Any], seconds: float, most_s: float = 0.0) -> Timing:
        """One setting; at least ``LEAST_BURSTS`` bursts, however short the time.

        Args:
            iterate: queues one iteration.
            seconds: to take, from the end of the first iterations on.
            most_s: to take where fewer do not hold what an interval needs.
        """
        iteration_s = first_iterations(self._device, iterate)
        for _ in range(TRIES if self._device.name != "cpu" and not fits_bursts(iteration_s) else 0):
            iteration_s = min(iteration_s, waited_for(self._device, iterate))
        begun_s = time.monotonic()
        if self._device.name == "cpu" or not fits_bursts(iteration_s):
            taken_s = max(seconds, min(most_s, window_needs_s(iteration_s)))
            done, span = timed_warm(self._device, iterate, taken_s, begun_s, iteration_s)
            return Timing(iteration_s=tuple(done), t0_ns=span[0], t1_ns=span[1])
        for _ in range(WARM_BURSTS):
            shape = _Shape.of(SHORTEST_BURST_S, iteration_s)
            iteration_s, _ = self._burst(iterate, shape)
            time.sleep(PAUSE_OVER_LOAD * shape.load_s(iteration_s))
        rest_mhz = self._rest()
        spent_s = time.monotonic() - begun_s
        left_s = max(seconds - spent_s, min(most_s - spent_s, needed_s(iteration_s)))
        return self._bursts(iterate, _Shape.of(burst_length_s(left_s, iteration_s), iteration_s), left_s, rest_mhz)

    def _bursts(self, iterate: Callable[[], Any], shape: _Shape, seconds: float, rest_mhz: float) -> Timing:
        done: list[float] = []
        clocks: list[float] = []
        loaded_s = 0.0
        start_s, t0_ns = time.monotonic(), time.monotonic_ns()
        while True:
            iteration_s, clock = self._burst(iterate, shape)
            t1_ns = time.monotonic_ns()
            done.append(iteration_s)
            clocks += [] if clock is None else [clock]
            loaded_s += shape.load_s(iteration_s)
            pause_s = PAUSE_OVER_LOAD * shape.load_s(statistics.median(done))
            time.sleep(pause_s)
            if len(done) >= LEAST_BURSTS and time.monotonic() - start_s >= seconds:
                break
        notes: dict[str, Fact] = {
            "loaded_share": min(1.0, loaded_s * 1e9 / max(1, t1_ns - t0_ns)),
            "pause_s": round(pause_s, 5),
            **clock_notes(clocks, self._reference(max(rest_mhz, self._rest()))),
        }
        return Timing(iteration_s=tuple(done), t0_ns=t0_ns, t1_ns=t1_ns, params={"phase": PHASE}, notes=notes)

    def _burst(self, iterate: Callable[[], Any], shape: _Shape) -> "tuple[float, float | None]":
        """Seconds per iteration of one burst, and the clock that it ended with in MHz."""
        for _ in range(shape.lead):
            iterate()
        windows = self._device.windows(shape.length_s)
        done = windows.run(iterate, shape.count)
        clock = self._device.clock_mhz()
        return (done + windows.drain())[0], clock

    def _rest(self) -> float:
        return rest_clock_mhz(self._device)

    def _reference(self, rest_mhz: float) -> float:
        """The resting card's clock around a setting; where it is lower than once in the survey by more than a step
        (which a warmer card takes by itself), a step below that."""
        self._highest_mhz = max(self._highest_mhz, rest_mhz)
        return max(rest_mhz, self._highest_mhz - CLOCK_STEP_MHZ)


def rest_clock_mhz(device: Device) -> float:
    """The clock of the resting card in MHz, the median of a few spins; 0: not to be measured."""
    found = [clock for _ in range(REST_CLOCKS) if (clock := device.clock_mhz()) is not None]
    return statistics.median(found) if found else 0.0
