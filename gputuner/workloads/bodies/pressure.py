# pyright: standard
"""Pressure probes: loads that press on one resource as hard as their dial says, and tell how they fare beside others.

An iteration is one burst of kernels, and below dial 1 a pause of the host after it: burst · (1 − dial) / dial. Kernels
are as short as those of a training (some ten µs): behind a kernel that fills the card for milliseconds every other
process waits until its last block has begun, which is no pressure that a training exerts.

How many kernels make a burst is timed before the first iteration, alone; beside others it must be given (``passes``).
"""

import time
from typing import Protocol

import torch

from gputuner.workloads.bodies.body import Fact, Probe
from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.failures import UnsupportedError
from gputuner.workloads.bodies.pressure_kernels import KERNELS
from gputuner.workloads.bodies.pressure_threads import Spinning

TIMED_PASSES = 10
TIMED_TRIES = 3
SPIN_S = 3e-4
"""The end of a pause is spun: a sleeping thread wakes up some tenths of a millisecond late."""
ON_PROCESSOR = ("dram", "host")


class Kernel(Protocol):
    """What a probe does on the device."""

    work: dict[str, float]
    """Per pass."""

    def run(self) -> None:
        """Queue one pass."""
        ...

    def notes(self) -> "dict[str, Fact]":
        """Facts for the reader."""
        ...


def make(
    device: Device, *, probe: str, dial: float = 1.0, burst_s: float = 0.002, passes: int = 0, seed: int
) -> "Bursts | Spinning":
    """The body of a probe.

    Raises:
        UnsupportedError: no such probe, or the device has not what it presses on.
    """
    if device.name == "cpu" and probe not in ON_PROCESSOR:
        raise UnsupportedError(f"a processor has no probe {probe!r}")
    if probe == "host":
        return Spinning(dial=dial, burst_s=burst_s, passes=passes)
    if probe not in KERNELS:
        raise UnsupportedError(f"unknown probe: {probe}")
    return Bursts(device, KERNELS[probe](device, seed), dial=dial, burst_s=burst_s, passes=passes)


class Bursts:
    """Bursts of one kernel with pauses between them."""

    def __init__(self, device: Device, kernel: Kernel, *, dial: float, burst_s: float, passes: int) -> None:
        self._device, self._kernel, self._dial, self._burst_s = device, kernel, dial, burst_s
        self._passes = passes or max(1, round(burst_s / self._pass_s()))
        self._pause_s = burst_s * (1.0 - dial) / dial
        self.work = {name: amount * self._passes for name, amount in kernel.work.items()}

    def _pass_s(self) -> float:
        """Seconds of one pass, the shortest of some tries."""
        self._kernel.run()
        self._device.synchronise()
        tries: list[float] = []
        for _ in range(TIMED_TRIES):
            start = time.perf_counter()
            for _ in range(TIMED_PASSES):
                self._kernel.run()
            self._device.synchronise()
            tries.append((time.perf_counter() - start) / TIMED_PASSES)
        return max(min(tries), 1e-7)

    def probe(self, left_s: float) -> Probe | None:
        """No need."""
        return None

    def iterate(self) -> None:
        """Queue a burst; below dial 1 wait for its end, and pause."""
        for _ in range(self._passes):
            self._kernel.run()
        if self._pause_s > 0.0:
            self._wait()
            _pause(self._pause_s)

    def _wait(self) -> None:
        """Until the burst is over; only what this thread has queued, since others may share the process."""
        if self._device.name == "cuda":
            event = torch.cuda.Event(blocking=True)
            event.record()
            event.synchronize()

    def mark(self) -> None:
        """Nothing is counted."""

    def relative_error(self) -> float | None:
        """Nothing is computed that could be wrong."""
        return None

    def notes(self) -> "dict[str, Fact]":
        """What is needed to run the same burst again."""
        return {
            "kernel": "torch",
            "passes": self._passes,
            "burst_s": self._burst_s,
            "dial": self._dial,
            **self._kernel.notes(),
        }


def _pause(seconds: float) -> None:
    """Sleep, and spin at its end."""
    end = time.perf_counter() + seconds
    if seconds > SPIN_S:
        time.sleep(seconds - SPIN_S)
    while time.perf_counter() < end:
        pass
