# pyright: standard
"""Copy of one buffer to another on the same device: bytes read plus bytes written."""

import torch

from gputuner.workloads.bodies.body import Fact, Probe
from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.failures import WrongResultError

TRIES = 3
"""Timed runs of each way to copy, before the faster one is taken."""


WINDOW_S = 0.01
"""Length of a window that choosing the kernel is timed with, about."""


class Copy:
    """``target = source`` for buffers of FP32 numbers.

    Two ways are tried and the faster one is measured: the device's own copy, and an elementwise kernel (negation) that
    reads and writes the same bytes. On some cards the first does not reach the memory's rate.
    """

    def __init__(self, device: Device, *, bytes: int, seed: int) -> None:
        self._device = device
        count = max(1, bytes // 4)
        self._bytes = count * 4
        self.work = {"bytes": 2.0 * self._bytes}
        random = torch.Generator(device=device.name).manual_seed(seed)
        self._source = torch.randn(count, device=device.name, generator=random)
        self._target = torch.zeros(count, device=device.name)
        self._negated = False
        seconds = {negated: self._fastest_s(negated) for negated in (False, True)}
        self._negated = seconds[True] < seconds[False]

    def _fastest_s(self, negated: bool) -> float:
        self._negated = negated
        self.iterate()
        self._device.synchronise()
        windows = self._device.windows(WINDOW_S)
        done = [seconds for _ in range(TRIES) for seconds in windows.run(self.iterate, 1)]
        return min(done + windows.drain())

    def probe(self, left_s: float) -> Probe | None:
        """No need: the two ways were timed in set-up."""
        return None

    def iterate(self) -> None:
        """Queue one copy."""
        if self._negated:
            torch.neg(self._source, out=self._target)
        else:
            self._target.copy_(self._source)

    def mark(self) -> None:
        """Nothing is counted."""

    def relative_error(self) -> float | None:
        """0: every number arrived.

        Raises:
            WrongResultError: one did not.
        """
        expected = self._source.neg_() if self._negated else self._source
        if not torch.equal(self._target, expected):
            raise WrongResultError("the copy differs from its source")
        return 0.0

    def notes(self) -> dict[str, Fact]:
        """Which way was faster, and how far the buffer is beyond the last cache."""
        facts: dict[str, Fact] = {"kernel": "elementwise" if self._negated else "copy"}
        if self._device.cache_bytes:
            facts["buffer_over_cache"] = round(self._bytes / self._device.cache_bytes, 3)
        return facts
