# pyright: standard
"""An NVIDIA card as a device: event timing, the caching allocator's figures, a cap on it."""

import collections
import gc
import os
from collections.abc import Callable
from typing import Any

import torch

from gputuner.workloads.bodies.driver import DriverFacts
from gputuner.workloads.bodies.exercise import exercise

IN_FLIGHT = 2
"""Windows queued ahead at least: the device never waits for the host between two of them."""
AHEAD_S = 0.02
"""Work queued ahead in short windows: waking up from an event takes the host up to some milliseconds."""

SPIN_CYCLES = (400_000, 1_400_000)
"""Two spins of known length; the difference cancels the launch. Together about 1 ms."""

PLAUSIBLE_MHZ = (100.0, 5000.0)
"""Outside of this a spin was interrupted (another process had the card)."""


class EventWindows:
    """Windows timed by events on the current stream; the end of one is the start of the next."""

    def __init__(self, length_s: float) -> None:
        self._ahead = max(IN_FLIGHT, round(AHEAD_S / length_s))
        self._borders: collections.deque[tuple[torch.cuda.Event, int]] = collections.deque()
        self._mark(0)

    def _mark(self, count: int) -> None:
        # blocking: the host sleeps until the event, so that the wait costs the neighbours no core
        event = torch.cuda.Event(enable_timing=True, blocking=True)
        event.record()
        self._borders.append((event, count))

    def run(self, iterate: Callable[[], None], count: int) -> list[float]:
        """Queue one window; seconds per iteration of those that are over, keeping some in flight."""
        for _ in range(count):
            iterate()
        self._mark(count)
        return self._collect(self._ahead)

    def drain(self) -> list[float]:
        """Seconds per iteration of the windows still in flight."""
        return self._collect(0)

    def running(self) -> int:
        """Windows in flight."""
        return len(self._borders) - 1

    def _collect(self, keep: int) -> list[float]:
        done: list[float] = []
        while len(self._borders) - 1 > keep:
            start, _ = self._borders.popleft()
            end, count = self._borders[0]
            end.synchronize()
            done.append(start.elapsed_time(end) / 1e3 / count)
        return done


class CudaDevice:
    """The one visible card."""

    name = "cuda"

    def __init__(self, facts: DriverFacts, memory_cap_bytes: int | None) -> None:
        self._facts = facts
        self._cap = self._cap_at_start = memory_cap_bytes
        self._retries_before = 0
        self._free_before = 0
        self._reserved_before = 0
        self.bf16_native = facts.capability >= (8, 0)
        self.tf32_native = facts.capability >= (8, 0)
        self.cache_bytes = facts.l2_bytes

    def ready(self) -> dict[str, Any]:
        """What the driver says without a context; free memory needs one and comes with ``open``."""
        return {
            "device_name": self._facts.name,
            "capability": ".".join(map(str, self._facts.capability)),
            "sm_count": self._facts.sm_count,
            "total_bytes": self._facts.total_bytes,
            "free_bytes": None,
            "bf16_native": self.bf16_native,
            "cache_bytes": self.cache_bytes,
            "driver_cuda": ".".join(map(str, self._facts.cuda)),
            "threads": torch.get_num_threads(),
        }

    def open(self) -> dict[str, Any]:
        """Make the context, warm the libraries up, cap the allocator."""
        torch.cuda.init()
        torch.cuda.set_device(0)
        free, total = torch.cuda.mem_get_info()
        if self._cap is not None:
            torch.cuda.set_per_process_memory_fraction(min(1.0, self._cap / total), 0)
        exercise(self.name)
        self.clock_mhz()  # loads its kernel now, not behind the first load
        torch.cuda.synchronize()
        self.begin_trial()
        return {
            **self.ready(),
            "total_bytes": total,
            "free_bytes": free if self._cap is None else min(free, self._cap),
            "capacity_bytes": self._capacity(),
            "memory_cap_enforced": self._cap is not None,
            "allocator": os.environ.get("PYTORCH_ALLOC_CONF") or os.environ.get("PYTORCH_CUDA_ALLOC_CONF") or "",
        }

    def _capacity(self) -> int:
        """What this process's allocator can reach: what it holds and what was free, at most the cap."""
        reach = self._free_before + self._reserved_before
        return reach if self._cap is None else min(reach, self._cap)

    def limit(self, cap_bytes: "int | None") -> dict[str, Any]:
        """Cap the allocator; it counts nothing but its own blocks, contexts lie outside."""
        wanted = self._cap_at_start if cap_bytes is None else cap_bytes
        if wanted != self._cap:
            self._cap = wanted
            share = 1.0 if wanted is None else min(1.0, wanted / self._facts.total_bytes)
            torch.cuda.set_per_process_memory_fraction(share, 0)
        return {}

    def release(self) -> None:
        """Empty the allocator's cache."""
        gc.collect()
        torch.cuda.empty_cache()

    def begin_trial(self) -> None:
        """Empty the allocator's cache, count peaks and retries from here."""
        self.clear_peak()
        self._free_before, _ = torch.cuda.mem_get_info()
        self._reserved_before = torch.cuda.memory_reserved()
        self._retries_before = self._retries()

    def clear_peak(self) -> None:
        """Empty the allocator's cache (autotuning leaves large blocks in it) and count peaks from here."""
        torch.cuda.synchronize()
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()

    def _retries(self) -> int:
        return int(torch.cuda.memory_stats().get("num_alloc_retries", 0))

    def memory(self) -> dict[str, int]:
        """Peaks since the last clearing, retries since the trial began, and what the trial could have had."""
        return {
            "allocated_peak_bytes": torch.cuda.max_memory_allocated(),
            "reserved_peak_bytes": torch.cuda.max_memory_reserved(),
            "allocator_retries": self._retries() - self._retries_before,
            "capacity_bytes": self._capacity(),
            "free_bytes": self._free_before,
        }

    def free_bytes(self) -> int | None:
        """What the driver has free now; None: it does not answer."""
        try:
            return torch.cuda.mem_get_info()[0]
        except RuntimeError:
            return None

    def synchronise(self) -> None:
        """Wait for the card."""
        torch.cuda.synchronize()

    def windows(self, length_s: float) -> EventWindows:
        """A row of windows on the card's own clock."""
        return EventWindows(length_s)

    def broken(self) -> bool:
        """Whether the context answers with an error even to a wait (a sticky error)."""
        try:
            torch.cuda.synchronize()
        except RuntimeError:
            return True
        return False

    def clock_mhz(self) -> float | None:
        """SM clock from two spins of known cycles, queued right behind the load, in MHz."""
        spin = getattr(torch.cuda, "_sleep", None)
        if spin is None:
            return None
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(3)]
        spin(SPIN_CYCLES[0])  # the card is busy while the rest is queued: no launch gap falls between the marks
        marks[0].record()
        for cycles, mark in zip(SPIN_CYCLES, marks[1:], strict=True):
            spin(cycles)
            mark.record()
        marks[-1].synchronize()
        longer_ms = marks[1].elapsed_time(marks[2]) - marks[0].elapsed_time(marks[1])
        if longer_ms <= 0:
            return None
        clock = (SPIN_CYCLES[1] - SPIN_CYCLES[0]) / (longer_ms * 1e3)
        return clock if PLAUSIBLE_MHZ[0] <= clock <= PLAUSIBLE_MHZ[1] else None
