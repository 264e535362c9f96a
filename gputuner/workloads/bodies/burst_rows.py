"""Different pieces of work timed once each, in short bursts with pauses (``burst_timing.py``), as a search asks for."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from gputuner.workloads.bodies.body import Fact
from gputuner.workloads.bodies.burst_timing import (
    LONGEST_BURST_S,
    PAUSE_OVER_LOAD,
    SHORTEST_BURST_S,
    clock_notes,
    rest_clock_mhz,
)
from gputuner.workloads.bodies.device import Device


@dataclass(frozen=True)
class Piece:
    """What queues it, the seconds that it should take (0: not known), and whether it has never run."""

    iterate: Callable[[], Any]
    expected_s: float
    new: bool = False

    def runs(self, first: bool) -> int:
        """The first of a burst runs once untimed before it is timed, and so does one that has never run."""
        return 2 if first or self.new else 1


@dataclass
class BurstRows:
    """Times rows of pieces and keeps for how long and at which clocks the card was loaded."""

    device: Device
    clocks: "list[float]" = field(default_factory=lambda: [])
    """Clock that each burst ended with, MHz."""
    loaded_s: float = 0.0
    span_s: float = 0.0
    rest_mhz: float = 0.0

    def timed(self, pieces: Sequence[Piece]) -> "list[float]":
        """Seconds of each piece, as many in a burst as fit into ``LONGEST_BURST_S``, a pause behind each burst."""
        self.rest_mhz = max(self.rest_mhz, rest_clock_mhz(self.device))
        done: list[float] = []
        at = 0
        while at < len(pieces):
            count = how_many(pieces[at:])
            began_s = time.monotonic()
            done += self._burst(pieces[at : at + count])
            loaded_s = time.monotonic() - began_s
            time.sleep(PAUSE_OVER_LOAD * loaded_s)
            self.loaded_s += loaded_s
            self.span_s += time.monotonic() - began_s
            at += count
        return done

    def _burst(self, pieces: Sequence[Piece]) -> "list[float]":
        pieces[0].iterate()
        windows = self.device.windows(SHORTEST_BURST_S)
        ended: list[float] = []
        queued = 0
        kept: list[int] = []
        for place, piece in enumerate(pieces):
            for _ in range(piece.runs(first=False) if place else 1):
                ended += windows.run(piece.iterate, 1)
                queued += 1
            kept.append(queued - 1)
        clock = self.device.clock_mhz()
        ended += windows.drain()
        self.clocks += [] if clock is None else [clock]
        return [ended[place] for place in kept]

    def notes(self) -> "dict[str, Fact]":
        """For how large a share of the time the card was loaded, and what the clocks say."""
        share = {"loaded_share": self.loaded_s / self.span_s} if self.span_s else {}
        return {**share, **clock_notes(self.clocks, self.rest_mhz)}


def how_many(pieces: Sequence[Piece]) -> int:
    """So many of the first pieces fit into one burst, with what runs untimed; at least one."""
    load_s = 0.0
    for count, piece in enumerate(pieces):
        load_s += piece.expected_s * piece.runs(first=count == 0)
        if count and load_s > LONGEST_BURST_S:
            return count
    return len(pieces)
