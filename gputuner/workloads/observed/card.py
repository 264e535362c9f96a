# pyright: standard
"""What a CUDA card tells without being waited for: whether it has caught up with the host, and the allocator's peaks.

Nothing here makes a context, waits for the card, or resets a figure that is the program's own.
"""

from __future__ import annotations

import sys
from threading import get_ident

from .blame import ours


class Card:
    """The current device of a program that uses CUDA; silent until the program itself has begun to use it.

    Only the thread whose optimizer steps asks: while another thread captures a CUDA graph, a question from here would
    spoil its capture.
    """

    def __init__(self, torch) -> None:
        self._torch = torch
        self._cuda = torch.cuda
        self.possible = torch.version.cuda is not None
        self._ready = False
        self._events = {}
        self._marked = None
        self._thread = None

    def forget(self) -> None:
        """Let go of all events."""
        self._events, self._marked = {}, None

    def ready(self) -> bool:
        """Whether the program has made its CUDA context."""
        if self.possible and not self._ready:
            self._ready = bool(self._cuda.is_initialized())
        return self._ready

    def before_step(self) -> None:
        """The host is about to launch the optimizer's kernels: mark where the card's work then ends."""
        self._marked = None
        self._thread = get_ident()
        if not self.ready() or self._cuda.is_current_stream_capturing():
            return
        device = self._cuda.current_device()
        if device not in self._events:
            self._events[device] = (self._cuda.Event(), self._cuda.Event())
        self._events[device][0].record()
        self._marked = device

    def behind_after_step(self) -> bool | None:
        """Whether the card still works on what was launched before the optimizer's step; marks the step's own end."""
        if not self._may_ask():
            return None
        launched, ended = self._events[self._marked]
        if self._cuda.current_device() != self._marked:
            self._marked = None
            return None
        behind = not launched.query()
        ended.record()
        return behind

    def busy(self) -> bool | None:
        """Whether the card still works on the last step; None where that is not known."""
        return not self._events[self._marked][1].query() if self._may_ask() else None

    def _may_ask(self) -> bool:
        if self._marked is None or get_ident() != self._thread:
            return False
        return not self._cuda.is_current_stream_capturing()

    def memory(self) -> dict[str, object]:
        """The allocator's figures of the current device, bytes; empty before the context is made."""
        if not self.ready():
            return {}
        try:
            stats = self._cuda.memory_stats(self._cuda.current_device())
        except RuntimeError as error:  # an allocator of the program's own that keeps no statistics
            if not ours(error):
                raise
            return {}
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
