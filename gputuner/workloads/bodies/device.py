"""What a trial needs of the device it runs on. Knows no library, so that every kind of worker can share it."""

from collections.abc import Callable
from typing import Any, Protocol


class Windows(Protocol):
    """A gapless row of timed batches of iterations."""

    def run(self, iterate: Callable[[], None], count: int) -> list[float]:
        """Run one window of ``count`` iterations; seconds per iteration of the windows that have ended by now."""
        ...

    def drain(self) -> list[float]:
        """Wait for what is still running; seconds per iteration of its windows."""
        ...

    def running(self) -> int:
        """How many windows are queued but not yet timed."""
        ...


class Device(Protocol):
    """One device with its clock and its memory."""

    name: str
    """``cuda`` or ``cpu`` as torch calls it, or ``kernels``."""
    bf16_native: bool
    tf32_native: bool
    cache_bytes: int
    """L2 on a GPU, last cache level on a CPU; 0: not known."""

    def ready(self) -> dict[str, Any]:
        """Facts that need no context, for the ``ready`` message."""
        ...

    def open(self) -> dict[str, Any]:
        """Make the context, warm the libraries up, set the memory cap; facts for the ``device`` message."""
        ...

    def limit(self, cap_bytes: "int | None") -> dict[str, Any]:
        """Let the coming trials have this much memory; None: as the worker was started with. Returns notes on it."""
        ...

    def release(self) -> None:
        """Give back what the last trial left cached: an idle worker must not hold memory that another needs."""
        ...

    def begin_trial(self) -> None:
        """Give cached memory back and forget earlier peaks."""
        ...

    def clear_peak(self) -> None:
        """Give cached memory back and count peaks from here."""
        ...

    def memory(self) -> dict[str, int]:
        """``allocated_peak_bytes``, ``capacity_bytes``, ``free_bytes`` and the allocator's own figures, if known."""
        ...

    def free_bytes(self) -> int | None:
        """Memory that is free now, in bytes."""
        ...

    def synchronise(self) -> None:
        """Wait until everything queued has run."""
        ...

    def windows(self, length_s: float) -> Windows:
        """A fresh row of timed windows of about ``length_s`` each."""
        ...

    def broken(self) -> bool:
        """Whether the context no longer answers (after an error)."""
        ...

    def clock_mhz(self) -> float | None:
        """The core clock in the wake of the load, measured in band, in MHz; None: no way to measure it."""
        ...
