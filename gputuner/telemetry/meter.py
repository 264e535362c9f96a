"""What watching costs: time of calls, real interval, processor time and memory of this process."""

import os
import time
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from operator import sub

from gputuner.telemetry.feed import CallCost

RECENT = 120
"""Readings that medians are taken over (a minute of one card at 2 Hz)."""


def _median(numbers: Iterable[int]) -> int:
    """The lower median: one of ``numbers``."""
    ordered = sorted(numbers)
    return ordered[(len(ordered) - 1) // 2]


class Meter:
    """Counts and medians that the collector reports."""

    def __init__(self, now_ns: int) -> None:
        """Begin to count now."""
        self._begun_ns = now_ns
        self._took_ns: defaultdict[str, deque[int]] = defaultdict(lambda: deque(maxlen=RECENT))
        self._worst_ns: defaultdict[str, int] = defaultdict(int)
        self._card, self._last_ns = "", 0
        self._intervals_ns: deque[int] = deque(maxlen=RECENT)
        self.ticks = 0
        self.missed = 0

    def called(self, kind: str, took_ns: int) -> None:
        """A call of this kind took so long."""
        self._took_ns[kind].append(took_ns)
        if took_ns > self._worst_ns[kind]:
            self._worst_ns[kind] = took_ns

    def swept(self, kind: str, rounds: Sequence[Sequence[int]]) -> None:
        """Rounds of calls of this kind.

        Of each round the times (ns) at which its calls began, one when the one before was over, and at last the end.
        """
        recent = self._took_ns[kind]
        for times in rounds:
            recent.extend(map(sub, times[1:], times))
        worst_ns = max(max(map(sub, times[1:], times)) for times in rounds)
        self._worst_ns[kind] = max(self._worst_ns[kind], worst_ns)

    def sampled(self, card: str, *times_ns: int) -> None:
        """The first card of rounds was read at these times."""
        if card == self._card:
            self._intervals_ns.extend(map(sub, times_ns, (self._last_ns, *times_ns)))
        else:
            self._intervals_ns.extend(map(sub, times_ns[1:], times_ns))
        self._card, self._last_ns = card, times_ns[-1]

    def cost(self, kind: str) -> CallCost | None:
        """Median and worst time of the calls of one kind."""
        took_ns = self._took_ns.get(kind)
        return CallCost(median_s=_median(took_ns) / 1e9, worst_s=self._worst_ns[kind] / 1e9) if took_ns else None

    def interval_s(self) -> float | None:
        """Median real time between two readings of a card."""
        return _median(self._intervals_ns) / 1e9 if self._intervals_ns else None

    def age_s(self, now_ns: int) -> float:
        """Seconds since the start."""
        return (now_ns - self._begun_ns) / 1e9

    @staticmethod
    def cpu_s() -> float:
        """Processor time of this process, all threads, in seconds."""
        return time.process_time()

    @staticmethod
    def memory_bytes() -> int | None:
        """Resident memory of this process; None where the system does not tell (no ``/proc``)."""
        try:
            descriptor = os.open("/proc/self/statm", os.O_RDONLY)
            try:
                pages = int(os.read(descriptor, 200).split()[1])
            finally:
                os.close(descriptor)
            return pages * os.sysconf("SC_PAGE_SIZE")
        except (OSError, ValueError, IndexError, AttributeError):
            return None
