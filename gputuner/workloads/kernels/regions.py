"""Read bandwidth of every region of the VRAM.

Nearly all free memory is taken in blocks. All are written with the hash of their place before any is read, so that a
block which shares its cells with another has a wrong checksum. Then they are read in random order, round after round:
what is slower in every round is slower memory. Offsets count the blocks in the order in which the driver gave them out.
"""

import random
import time
from collections.abc import Iterator

import numpy as np

from gputuner.workloads.bodies.body import Fact
from gputuner.workloads.bodies.failures import WrongResultError
from gputuner.workloads.bodies.survey import Pace, Part
from gputuner.workloads.kernels.device import KernelsDevice
from gputuner.workloads.kernels.runtime import Grid
from gputuner.workloads.kernels.stream_source import CHECK_NAMES, SUMS, checks_source, stream_source, variants
from gputuner.workloads.kernels.tuning import Way, fastest, ways

LEAST_ROUNDS, MOST_ROUNDS = 3, 60
TUNE_S = 0.5


class Regions:
    """Blocks of ``block_bytes`` in all that is free but ``keep_bytes``."""

    def __init__(self, device: KernelsDevice, *, block_bytes: int, keep_bytes: int, seed: int) -> None:
        self._device = device
        self._size = block_bytes // 4096 * 4096
        self._random = random.Random(seed)
        self._seed = seed & 0x7FFFFFFF
        capability = device.facts.capability
        made = variants(capability)
        self._read = device.kernels(stream_source("read", capability), [v.name("read") for v in made])
        self._checks = device.kernels(checks_source(), CHECK_NAMES)
        self._sums = device.allocate(4 * SUMS)
        self._grid = Grid(blocks=8 * device.sm_count, threads=256)
        self._blocks = self._take(keep_bytes)
        for number, address in enumerate(self._blocks):
            self._device.runtime.launch(
                self._checks["fill"], self._grid, address, self._size // 4, number * self._size // 4, self._seed
            )
        self._way = fastest(ways(made), lambda way: self._seconds(way, self._blocks[0]), TUNE_S)
        self.work: dict[str, float] = {"bytes": float(self._size)}

    def _take(self, keep_bytes: int) -> list[int]:
        """As many blocks as there is room for.

        Raises:
            MemoryError: not even one.
        """
        blocks: list[int] = []
        while (self._device.free_bytes() or 0) >= self._size + keep_bytes:
            try:
                blocks.append(self._device.allocate(self._size))
            except MemoryError:
                break
        if not blocks:
            raise MemoryError(f"out of memory: no room for a block of {self._size} bytes")
        return blocks

    def _queue(self, way: Way, address: int) -> None:
        grid = way.grid(self._size, 1, self._device.sm_count)
        kernel = self._read[way.variant.name("read")]
        self._device.runtime.launch(kernel, grid, address, address, address, self._sums, self._size // 16, 1, 0)

    def _seconds(self, way: Way, address: int) -> float:
        return self._device.timed(lambda: self._queue(way, address))

    def parts(self, pace: Pace) -> Iterator[Part]:
        """All blocks, once all rounds are over."""
        t0_ns = time.monotonic_ns()
        found: list[list[float]] = [[] for _ in self._blocks]
        order = list(range(len(self._blocks)))
        while len(found[0]) < LEAST_ROUNDS or (len(found[0]) < MOST_ROUNDS and pace.left_s() > 0):
            if pace.stopped():
                return
            self._random.shuffle(order)
            for number in order:
                found[number].append(self._seconds(self._way, self._blocks[number]))
        t1_ns = time.monotonic_ns()
        for number, seconds in enumerate(found):
            self._check(number)
            yield Part(
                params={"offset_bytes": number * self._size, "bytes": self._size},
                iteration_s=tuple(seconds),
                t0_ns=t0_ns,
                t1_ns=t1_ns,
                work=dict(self.work),
                relative_error=0.0,
            )

    def _check(self, number: int) -> None:
        runtime = self._device.runtime
        runtime.clear(self._sums, 4 * SUMS)
        self._queue(self._way, self._blocks[number])
        found = self._sum()
        runtime.clear(self._sums, 4 * SUMS)
        start = number * self._size // 4
        runtime.launch(self._checks["checksum"], self._grid, self._size // 4, start, self._seed, self._sums)
        if found != self._sum():
            offset = number * self._size
            raise WrongResultError(f"the block at offset {offset} does not hold what was written there")

    def _sum(self) -> int:
        words = np.frombuffer(self._device.runtime.read(self._sums, 4 * SUMS), np.uint32)
        return int(np.bitwise_xor.reduce(words))

    def notes(self) -> dict[str, Fact]:
        """How much of the card was read, and by which kernel."""
        covered = len(self._blocks) * self._size
        total = self._device.facts.total_bytes
        return {"kernel": f"nvrtc {self._way.label()}", "inputs": "normal", "blocks": len(self._blocks),
                "covered_bytes": covered, "coverage": round(covered / total, 4) if total else 0.0}  # fmt: skip
