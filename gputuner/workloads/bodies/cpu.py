"""The processor as a device: host clock, resident memory, a cap on the address space."""

import ctypes
import gc
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from gputuner.workloads.bodies.cpu_flags import bf16_native, fields
from gputuner.workloads.bodies.exercise import exercise

PROC = Path("/proc")
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
CAPPABLE = "MALLOC_MMAP_THRESHOLD_"
"""With this glibc setting (``workloads.launch``) a cap can be enforced; without it oneDNN may crash under one."""


class HostWindows:
    """Windows timed by the host clock; each has ended when ``run`` returns. The clock is read once per border."""

    def __init__(self) -> None:
        self._border = time.perf_counter()

    def run(self, iterate: Callable[[], None], count: int) -> list[float]:
        """Run one window; its seconds per iteration."""
        for _ in range(count):
            iterate()
        start, self._border = self._border, time.perf_counter()
        return [(self._border - start) / count]

    def drain(self) -> list[float]:
        """Nothing is ever left running."""
        return []

    def running(self) -> int:
        """Nothing is ever left running."""
        return 0


def _field_bytes(found: dict[str, str], name: str) -> int | None:
    """A field like ``1234 kB``, in bytes."""
    number = found.get(name, "").split()
    return int(number[0]) * 1024 if number else None


def _last_cache_bytes() -> int:
    sizes = [0]
    for size in CACHES.glob("index*/size"):
        text = size.read_text().strip()
        unit = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:], 1)
        digits = text.rstrip("KMG")
        sizes.append(int(digits) * unit if digits.isdigit() else 0)
    return max(sizes)


def _total_bytes() -> int | None:
    total = _field_bytes(fields(PROC / "meminfo"), "MemTotal")
    if total is None and hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return total


def _ever_peak_bytes() -> int | None:
    """The process's peak since its start, where there is no /proc to clear it."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if platform.system() == "Darwin" else peak * 1024


def _trim() -> None:
    """Give freed heap back to the system (glibc)."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):
        return


class CpuDevice:
    """The processor. Memory is counted above what the process holds after warm-up."""

    name = "cpu"
    tf32_native = False

    def __init__(self, memory_cap_bytes: int | None) -> None:
        self._cap = memory_cap_bytes
        self._baseline = 0
        self._threads = torch.get_num_threads()
        self._facts = fields(PROC / "cpuinfo")
        self.bf16_native = bf16_native(self._facts)
        self.cache_bytes = _last_cache_bytes()

    def ready(self) -> dict[str, Any]:
        """Name, memory and threads of the processor."""
        return {
            "device_name": self._facts.get("model name") or platform.processor() or platform.machine(),
            "capability": None,
            "sm_count": None,
            "total_bytes": self._cap or _total_bytes(),
            "free_bytes": min((size for size in (self._cap, self.free_bytes()) if size is not None), default=None),
            "bf16_native": self.bf16_native,
            "cache_bytes": self.cache_bytes,
            "threads": self._threads,
        }

    def open(self) -> dict[str, Any]:
        """Warm up, note what the process holds already, and limit what it may take beyond that where that is safe."""
        exercise(self.name)
        gc.collect()
        _trim()
        status = fields(PROC / "self/status")
        self._baseline = _field_bytes(status, "VmRSS") or _ever_peak_bytes() or 0
        enforced = self._limit(_field_bytes(status, "VmSize"))
        return {**self.ready(), "capacity_bytes": self._capacity(), "memory_cap_enforced": enforced}

    def _limit(self, mapped_bytes: int | None) -> bool:
        if self._cap is None or mapped_bytes is None or CAPPABLE not in os.environ:
            return False
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        limit = mapped_bytes + self._cap
        limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
        return True

    def _capacity(self) -> int | None:
        return self._cap if self._cap is not None else self.free_bytes()

    def limit(self, cap_bytes: int | None) -> dict[str, Any]:
        """Take as large a share of the threads as of the memory: jobs that share the cores must not fight for them.

        The address space itself is limited once, when the worker opens.
        """
        jobs = max(1, round(self._cap / cap_bytes)) if self._cap and cap_bytes else 1
        threads = max(1, self._threads // jobs)
        torch.set_num_threads(threads)
        return {"threads": threads}

    def release(self) -> None:
        """Give freed heap back to the system."""
        gc.collect()
        _trim()

    def begin_trial(self) -> None:
        """Give freed memory back and forget earlier peaks."""
        self.clear_peak()

    def clear_peak(self) -> None:
        """Give freed memory back and count the peak from here."""
        gc.collect()
        _trim()
        try:
            (PROC / "self/clear_refs").write_text("5")
        except OSError:
            return

    def memory(self) -> dict[str, int]:
        """Peak above the baseline, the cap, and what the host has free."""
        peak = _field_bytes(fields(PROC / "self/status"), "VmHWM") or _ever_peak_bytes()
        allocated = None if peak is None else max(0, peak - self._baseline)
        figures = {
            "allocated_peak_bytes": allocated,
            "capacity_bytes": self._capacity(),
            "free_bytes": self.free_bytes(),
        }
        return {name: value for name, value in figures.items() if value is not None}

    def free_bytes(self) -> int | None:
        """What the host has available."""
        return _field_bytes(fields(PROC / "meminfo"), "MemAvailable")

    def synchronise(self) -> None:
        """Nothing runs behind the caller's back."""

    def windows(self, length_s: float) -> HostWindows:
        """A row of windows on the host clock."""
        return HostWindows()

    def broken(self) -> bool:
        """A processor has no context to break."""
        return False

    def clock_mhz(self) -> float | None:
        """Not measured in band."""
        return None
