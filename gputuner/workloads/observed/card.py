# pyright: standard
"""What a CUDA card tells without being waited for: whether it has caught up with the host, and the allocator's peaks.

Nothing here makes a context, waits for the card, or resets a figure that is the program's own.
"""

from __future__ import annotations

import sys


class Card:
    """The current device of a program that uses CUDA; silent until the program itself has begun to use it."""

    def __init__(self, torch) -> None:
        self._torch = torch
        self._cuda = torch.cuda
        self.possible = torch.version.cuda is not None
        self._ready = False
        self._launched = None
        self._ended = None
        self._marked = False

    def ready(self) -> bool:
        """Whether the program has made its CUDA context."""
        if self.possible and not self._ready:
            self._ready = bool(self._cuda.is_initialized())
        return self._ready

    def before_step(self) -> None:
        """The host is about to launch the optimizer's kernels: mark where the card's work then ends."""
        self._marked = False
        if not self.ready() or self._cuda.is_current_stream_capturing():
            return
        if self._launched is None:
            self._launched, self._ended = self._cuda.Event(), self._cuda.Event()
        self._launched.record()
        self._marked = True

    def behind_after_step(self) -> bool | None:
        """Whether the card still works on what was launched before the optimizer's step; marks the step's own end."""
        if not self._marked or self._launched is None or self._cuda.is_current_stream_capturing():
            return None
        behind = not self._launched.query()
        if self._ended is not None:
            self._ended.record()
        return behind

    def busy(self) -> bool | None:
        """Whether the card still works on the last step; None where that is not known."""
        if not self._marked or self._ended is None or self._cuda.is_current_stream_capturing():
            return None
        return not self._ended.query()

    def memory(self) -> dict[str, object]:
        """The allocator's figures of the current device, bytes; empty before the context is made."""
        if not self.ready():
            return {}
        device = self._cuda.current_device()
        stats = self._cuda.memory_stats(device)
        told = {
            "allocated": stats.get("allocated_bytes.all.peak"),
            "reserved": stats.get("reserved_bytes.all.peak"),
            "reserved_now": stats.get("reserved_bytes.all.current"),
            "split": stats.get("inactive_split_bytes.all.current"),
            "retries": stats.get("num_alloc_retries"),
            "ooms": stats.get("num_ooms"),
        }
        return {name: int(value) for name, value in told.items() if value is not None}

    def facts(self) -> dict[str, object]:
        """Which card it is and how much of its memory the program may use."""
        if not self.ready():
            return {"device": "cpu"}
        device = self._cuda.current_device()
        properties = self._cuda.get_device_properties(device)
        uuid = getattr(properties, "uuid", None)
        fraction = getattr(self._cuda, "get_per_process_memory_fraction", None)
        return {
            "device": "cuda",
            "uuid": f"GPU-{uuid}" if uuid is not None else None,
            "name": properties.name,
            "memory_total": int(properties.total_memory),
            "memory_fraction": float(fraction(device)) if fraction is not None else None,
            "benchmark": bool(self._torch.backends.cudnn.benchmark),
            "sms": int(properties.multi_processor_count),
        }


def compiled() -> int:
    """Graphs that torch.compile has made in this process so far."""
    module = sys.modules.get("torch._dynamo.utils")
    counters = getattr(module, "counters", None)
    if counters is None:
        return 0
    stats = dict.get(counters, "stats") or {}
    return int(dict.get(stats, "unique_graphs") or 0)
