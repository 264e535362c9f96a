# pyright: standard
"""Read bandwidth of every region of the VRAM, through torch's sum: where our own kernels cannot run.

Nearly all free memory is taken in blocks, all are written before any is read, and every block must still have the sum
that it was written with.
"""

import random
import time
from collections.abc import Iterator

import torch

from gputuner.workloads.bodies.body import Fact
from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.failures import WrongResultError
from gputuner.workloads.bodies.survey import Pace, Part

LEAST_ROUNDS, MOST_ROUNDS = 3, 60
PASSES = 3
"""Reads of a block in a row; the first is not counted: it follows another block and a pause."""


class Regions:
    """Blocks of ``block_bytes`` in all that is free but ``keep_bytes``."""

    def __init__(self, device: Device, *, block_bytes: int, keep_bytes: int, seed: int) -> None:
        self._device = device
        self._size = block_bytes // 4096 * 4096
        self._random = random.Random(seed)
        generator = torch.Generator(device=device.name).manual_seed(seed)
        self._sum = torch.zeros((), device=device.name)
        self._blocks: list[torch.Tensor] = []
        while (device.free_bytes() or 0) >= self._size + keep_bytes:
            block = torch.empty(self._size // 4, device=device.name)
            self._blocks.append(block.normal_(generator=generator))
        if not self._blocks:
            raise MemoryError(f"out of memory: no room for a block of {self._size} bytes")
        self._sums = [self._exact(block) for block in self._blocks]
        self.work = {"bytes": float(self._size)}

    @staticmethod
    def _exact(block: torch.Tensor) -> float:
        return float(torch.sum(block, dtype=torch.float64))

    def parts(self, pace: Pace) -> Iterator[Part]:
        """All blocks, once all rounds are over."""
        t0_ns = time.monotonic_ns()
        found: list[list[float]] = [[] for _ in self._blocks]
        order = list(range(len(self._blocks)))
        rounds = 0
        while rounds < LEAST_ROUNDS or (rounds < MOST_ROUNDS and pace.left_s() > 0):
            if pace.stopped():
                return
            rounds += 1
            self._random.shuffle(order)
            for number in order:
                found[number] += self._timed(self._blocks[number])
        t1_ns = time.monotonic_ns()
        for number, seconds in enumerate(found):
            offset = number * self._size
            if self._exact(self._blocks[number]) != self._sums[number]:
                raise WrongResultError(f"the block at offset {offset} does not hold what was written there")
            yield Part(
                params={"offset_bytes": offset, "bytes": self._size},
                iteration_s=tuple(seconds),
                t0_ns=t0_ns,
                t1_ns=t1_ns,
                work=dict(self.work),
                relative_error=0.0,
                notes={"kernel": "torch"},
            )

    def _timed(self, block: torch.Tensor) -> list[float]:
        def read() -> None:
            torch.sum(block, dim=0, out=self._sum)

        windows = self._device.windows(0.001)
        done: list[float] = []
        for _ in range(PASSES):
            done += windows.run(read, 1)
        return [*done, *windows.drain()][1:]

    def notes(self) -> "dict[str, Fact]":
        """How much was read."""
        covered = len(self._blocks) * self._size
        return {"kernel": "torch", "inputs": "normal", "blocks": len(self._blocks), "covered_bytes": covered}
