# pyright: standard
"""The device as one of several jobs in a process sees it: its own stream, and nothing done to the others' memory."""

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

from gputuner.workloads.bodies.device import Device, Windows
from gputuner.workloads.bodies.precision import tf32_allowed


@contextlib.contextmanager
def lane(device: Device, priority: int) -> Iterator[None]:
    """A stream of its own for this thread (on a card), and autograd in this thread.

    Args:
        device: the process's device.
        priority: of the stream, 0 normal, −1 high; acts on blocks of kernels that have not begun.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.autograd.set_multithreading_enabled(False))
        if device.name == "cuda":
            stack.enter_context(torch.cuda.stream(torch.cuda.Stream(priority=priority)))
        yield


def settings() -> "dict[str, object]":
    """What torch keeps for the whole process and a job may have set."""
    cuda = torch.backends.cuda
    return {
        **{f"tf32_{name}": value for name, value in tf32_allowed().items()},
        "cudnn_autotune": torch.backends.cudnn.benchmark,
        "cudnn_deterministic": torch.backends.cudnn.deterministic,
        "half_accumulation": getattr(cuda.matmul, "allow_fp16_accumulation", None),
        "half_sums": getattr(cuda.matmul, "allow_fp16_reduced_precision_reduction", None),
        "bf16_sums": getattr(cuda.matmul, "allow_bf16_reduced_precision_reduction", None),
        "flash": cuda.flash_sdp_enabled(),
        "memory_efficient": cuda.mem_efficient_sdp_enabled(),
    }


def peak_from_here(device: Device) -> "int | None":
    """Bytes that are allocated now, with peaks counted anew from here; None: not told of a part of the process.

    Only a card's allocator tells. Its cache stays, as other jobs wait with theirs.
    """
    if device.name != "cuda":
        return None
    torch.cuda.reset_peak_memory_stats()
    return torch.cuda.memory_allocated()


class JobDevice:
    """One job's view of a device that others use too.

    Memory belongs to the process: nothing is emptied, and no peak is told as this job's while others run.
    """

    def __init__(self, device: Device, jobs: int) -> None:
        self._device = device
        self._jobs = jobs
        self.name = device.name
        self.bf16_native = device.bf16_native
        self.tf32_native = device.tf32_native
        self.cache_bytes = device.cache_bytes

    def limit(self, cap_bytes: "int | None") -> "dict[str, Any]":
        """An equal part of the threads on a processor; the memory is the process's, which has its cap already."""
        if self.name != "cpu":
            return {}
        threads = max(1, self._device.ready()["threads"] // self._jobs)
        torch.set_num_threads(threads)
        return {"threads": threads}

    def begin_trial(self) -> None:
        """Nothing: the others run."""

    def clear_peak(self) -> None:
        """Nothing: the peak is all jobs'."""

    def release(self) -> None:
        """Nothing: the worker does it in the end."""

    def memory(self) -> "dict[str, int]":
        """Not known of one job."""
        return {}

    def free_bytes(self) -> "int | None":
        """What the process may still take."""
        return self._device.free_bytes()

    def synchronise(self) -> None:
        """Wait for what this job has queued."""
        if self.name == "cuda":
            torch.cuda.current_stream().synchronize()

    def windows(self, length_s: float) -> Windows:
        """Windows on this job's own stream."""
        return self._device.windows(length_s)

    def broken(self) -> bool:
        """Whether the process's context is."""
        return self._device.broken()

    def clock_mhz(self) -> "float | None":
        """Not measured while others run."""
        return None
