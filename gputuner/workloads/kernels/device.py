"""An NVIDIA card as a device for our own kernels: memory that is counted and given back, windows, the clock in band."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gputuner.workloads.bodies.driver import DriverFacts
from gputuner.workloads.kernels.runtime import Grid, Kernel, Runtime
from gputuner.workloads.kernels.source import spin_source
from gputuner.workloads.kernels.windows import MarkWindows

SPIN_CYCLES = (400_000, 1_400_000)
"""Two spins of known length; the difference cancels the launch. Together about 1 ms."""
PLAUSIBLE_MHZ = (100.0, 5000.0)
"""Outside of this a spin was interrupted (another process had the card)."""
AHEAD_CYCLES = 200_000
"""About 100 to 150 µs, in which the host queues a kernel and a mark."""
ONE = Grid(blocks=1, threads=1)


class KernelsDevice:
    """The one visible card; a body asks it for memory, kernels and times."""

    name = "kernels"
    bf16_native = False
    tf32_native = False

    def __init__(self, facts: DriverFacts, runtime: Runtime, memory_cap_bytes: int | None) -> None:
        self.facts = facts
        self.runtime = runtime
        self.cache_bytes = facts.l2_bytes
        self.sm_count = facts.sm_count
        self._cap = self._cap_at_start = memory_cap_bytes
        self._held: dict[int, int] = {}
        self._peak = 0
        self._free_before = 0
        self._compiled: dict[str, Mapping[str, Kernel]] = {}

    def ready(self) -> dict[str, Any]:
        """What the driver says without a context."""
        return {
            "device_name": self.facts.name,
            "capability": ".".join(map(str, self.facts.capability)),
            "sm_count": self.sm_count,
            "total_bytes": self.facts.total_bytes,
            "free_bytes": None,
            "cache_bytes": self.cache_bytes,
            "driver_cuda": ".".join(map(str, self.facts.cuda)),
        }

    def open(self) -> dict[str, Any]:
        """Make the context and compile the first kernel."""
        self.runtime.start()
        self.clock_mhz()
        self.begin_trial()
        free, total = self.runtime.memory()
        return {**self.ready(), "total_bytes": total, "free_bytes": self._within_cap(free), "capacity_bytes": free,
                "memory_cap_enforced": self._cap is not None, "allocator": "cuMemAlloc"}  # fmt: skip

    def _within_cap(self, size: int) -> int:
        return size if self._cap is None else min(size, self._cap)

    def limit(self, cap_bytes: int | None) -> dict[str, Any]:
        """Let the coming trials have this much memory."""
        self._cap = self._cap_at_start if cap_bytes is None else cap_bytes
        return {}

    def release(self) -> None:
        """Give back all that the last body took."""
        for address in list(self._held):
            self.free(address)

    def begin_trial(self) -> None:
        """Start from nothing held."""
        self.release()
        self.clear_peak()
        self._free_before, _ = self.runtime.memory()

    def clear_peak(self) -> None:
        """Count peaks from here."""
        self._peak = sum(self._held.values())

    def memory(self) -> dict[str, int]:
        """What the trial held at most, and what it could have had."""
        capacity = self._within_cap(self._free_before)
        return {"allocated_peak_bytes": self._peak, "reserved_peak_bytes": self._peak, "allocator_retries": 0,
                "capacity_bytes": capacity, "free_bytes": self._free_before}  # fmt: skip

    def free_bytes(self) -> int | None:
        """What can still be taken; None: the driver does not answer."""
        try:
            free, _ = self.runtime.memory()
        except RuntimeError:
            return None
        return free if self._cap is None else min(free, self._cap - sum(self._held.values()))

    def synchronise(self) -> None:
        """Wait for the card."""
        self.runtime.synchronise()

    def windows(self, length_s: float) -> MarkWindows:
        """A row of windows on the card's own clock."""
        return MarkWindows(self.runtime, length_s)

    def broken(self) -> bool:
        """Whether the context answers with an error even to a wait (a sticky error)."""
        try:
            self.runtime.synchronise()
        except RuntimeError:
            return True
        return False

    def clock_mhz(self) -> float | None:
        """SM clock from two spins of known cycles, queued right behind the load, in MHz."""
        runtime, spin = self.runtime, self.kernels(spin_source(), ("spin",))["spin"]
        runtime.launch(spin, ONE, SPIN_CYCLES[0])  # the card is busy while the rest is queued
        marks = [runtime.mark()]
        for cycles in SPIN_CYCLES:
            runtime.launch(spin, ONE, cycles)
            marks.append(runtime.mark())
        runtime.wait(marks[-1])
        longer_s = runtime.seconds(marks[1], marks[2]) - runtime.seconds(marks[0], marks[1])
        if longer_s <= 0:
            return None
        clock = (SPIN_CYCLES[1] - SPIN_CYCLES[0]) / longer_s / 1e6
        return clock if PLAUSIBLE_MHZ[0] <= clock <= PLAUSIBLE_MHZ[1] else None

    # --- for the bodies -----------------------------------------------------------------------------------------

    def kernels(self, source: str, names: Sequence[str]) -> Mapping[str, Kernel]:
        """The kernels of a source; each source is compiled once."""
        if source not in self._compiled:
            self._compiled[source] = self.runtime.compile(source, names)
        return self._compiled[source]

    def allocate(self, size: int) -> int:
        """Address of ``size`` bytes, held until ``free`` or the end of the trial.

        Raises:
            MemoryError: they do not fit, or exceed the cap.
        """
        held = sum(self._held.values())
        if self._cap is not None and held + size > self._cap:
            raise MemoryError(f"out of memory: {size} bytes beside {held} exceed the cap of {self._cap}")
        address = self.runtime.allocate(size)
        self._held[address] = size
        self._peak = max(self._peak, held + size)
        return address

    def free(self, address: int) -> None:
        """Give one allocation back."""
        del self._held[address]
        self.runtime.free(address)

    def timed(self, queue: Callable[[], None], before: Callable[[], None] | None = None) -> float:
        """Seconds that what ``queue`` puts on the stream takes on the card's own clock; waits for it.

        A spin before keeps the card busy while the host queues, so that no launch falls between the marks.

        Args:
            queue: launches what is timed.
            before: launches what goes before it and is not timed: it leaves the L2 as work under way does.
        """
        self.runtime.launch(self.kernels(spin_source(), ("spin",))["spin"], ONE, AHEAD_CYCLES)
        if before is not None:
            before()
        start = self.runtime.mark()
        queue()
        end = self.runtime.mark()
        self.runtime.wait(end)
        return self.runtime.seconds(start, end)
