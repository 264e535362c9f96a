# pyright: standard
"""The VRAM test through torch: all free memory in large blocks, written by one addition and read back by one sum.

Traffic: a pass writes a block by one broadcast addition (its operands, 16 KiB of template and 1/2048 of keys, stay
in the cache) and reads it by one row sum, so that every pass moves each tested byte as often as ``TRAFFIC`` says and
hardly anything else. Keys of all rows of two patterns, the sums' scratch and the margin take about 1.5 % of the card.
"""

import itertools
import time
from collections.abc import Callable, Iterator

import torch

from gputuner.workloads.bodies.body import Fact
from gputuner.workloads.bodies.device import Device, Windows
from gputuner.workloads.bodies.survey import Pace, Part
from gputuner.workloads.bodies.vram_passes import Passes
from gputuner.workloads.bodies.vram_patterns import ROW_BYTES, ROW_WORDS, WORD, Pattern, signed

LEAST_BLOCK_BYTES = 16 << 20
"""What is too small for a whole block is taken in halves, down to this."""
HEAT_N = 4096
LOOK_S = 0.2
"""While words are kept, cancel is noticed this often."""
ROW_VECTORS = 6
"""Vectors of 8 bytes for each row that exist beside the blocks at once: keys of two patterns, and new ones."""


class Vram:
    """All that is free but ``keep_bytes``, tested cold (kept words wait idle) or hot (under a matrix product)."""

    def __init__(
        self, device: Device, *, block_bytes: int, keep_bytes: int, heat: str, hold_s: float, most_bytes: int = 0,
        seed: int,
    ) -> None:  # fmt: skip
        self._device = device
        free = device.free_bytes() or 0
        self._load = _load(device, seed) if heat == "hot" else None
        self._memory = TorchMemory(device, block_bytes=block_bytes, keep_bytes=keep_bytes, most_bytes=most_bytes)
        self._free = free
        self._passes = Passes(self._memory, heat=heat, hold_s=hold_s, hold=self._hold, seed=seed)
        self.work: dict[str, float] = {}

    def parts(self, pace: Pace) -> Iterator[Part]:
        """Each pass, and at the end the read rate of each block over all of them."""
        t0_ns = time.monotonic_ns()
        yield from self._passes.parts(pace)
        t1_ns = time.monotonic_ns()
        for block, seconds in enumerate(self._memory.seconds):
            rows = self._memory.blocks[block]
            size = len(rows) * ROW_BYTES
            if seconds:
                yield Part(
                    params={"pass": "rate", "offset_bytes": rows.start * ROW_BYTES, "bytes": size},
                    iteration_s=tuple(seconds),
                    t0_ns=t0_ns,
                    t1_ns=t1_ns,
                    work={"bytes": float(size)},
                )

    def _hold(self, seconds: float, stopped: Callable[[], bool]) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and not stopped():
            if self._load is None:
                time.sleep(min(LOOK_S, max(0.0, end - time.monotonic())))
            else:
                self._load()

    def notes(self) -> "dict[str, Fact]":
        """How much of the memory was tested."""
        covered = sum(len(block) for block in self._memory.blocks) * ROW_BYTES
        return {
            "kernel": "torch",
            "blocks": len(self._memory.blocks),
            "covered_bytes": covered,
            "free_before_bytes": self._free,
        }


def _load(device: Device, seed: int) -> Callable[[], None]:
    """Matrix products for about ``LOOK_S`` seconds a call."""
    n = HEAT_N if device.name == "cuda" else 256
    dtype = torch.bfloat16 if device.name == "cuda" and device.bf16_native else torch.float32
    generator = torch.Generator(device=device.name).manual_seed(seed)
    a, b = (torch.randn(n, n, device=device.name, generator=generator).to(dtype) for _ in range(2))
    c = torch.empty_like(a)

    def run() -> None:
        end = time.monotonic() + LOOK_S
        while time.monotonic() < end:
            for _ in range(8):
                torch.mm(a, b, out=c)
            device.synchronise()

    return run


class TorchMemory:
    """Blocks of the device's memory as rows of int64."""

    def __init__(self, device: Device, *, block_bytes: int, keep_bytes: int, most_bytes: int = 0) -> None:
        """Take all that is free but ``keep_bytes``; at most ``most_bytes`` (0: no bound).

        Raises:
            MemoryError: not even one block.
        """
        self._device = device
        self._tensors: list[torch.Tensor] = []
        size, taken = block_bytes // ROW_BYTES * ROW_BYTES, 0
        while size >= min(LEAST_BLOCK_BYTES, block_bytes):
            row_vectors = ROW_VECTORS * 8 * (taken + size) // ROW_BYTES
            if (device.free_bytes() or 0) - row_vectors < size + keep_bytes or 0 < most_bytes < taken + size:
                size = size // 2 // ROW_BYTES * ROW_BYTES
                continue
            try:
                self._tensors.append(torch.empty(size // ROW_BYTES, ROW_WORDS, dtype=torch.int64, device=device.name))
            except RuntimeError as err:
                if "memory" not in str(err).lower():
                    raise
                size = size // 2 // ROW_BYTES * ROW_BYTES
                continue
            if device.name == "cpu":
                self._tensors[-1].zero_()  # pages that nobody has touched are not yet taken
            taken += size
        if not self._tensors:
            raise MemoryError(f"out of memory: no room for a block of {block_bytes} bytes")
        starts = [0]
        for tensor in self._tensors:
            starts.append(starts[-1] + tensor.shape[0])
        self.blocks = tuple(range(a, b) for a, b in itertools.pairwise(starts))
        self.seconds: list[list[float]] = [[] for _ in self.blocks]
        self._prepared: dict[Pattern, tuple[torch.Tensor, torch.Tensor | None, int]] = {}
        self._now: tuple[torch.Tensor, torch.Tensor | None, int] | None = None
        self._checks: list[tuple[int, torch.Tensor, Windows, list[float]]] = []

    def prepare(self, pattern: Pattern) -> None:
        """Template and keys; those of the last two patterns are kept."""
        if pattern not in self._prepared:
            while len(self._prepared) > 1:
                del self._prepared[next(iter(self._prepared))]
            words = pattern.template()
            template = torch.tensor([signed(word) for word in words], dtype=torch.int64, device=self._device.name)
            keys = None
            if pattern.constant is None:
                rows = torch.arange(self.blocks[-1].stop, dtype=torch.int64, device=self._device.name)
                keys = pattern.keys_in_place(rows)
            self._prepared[pattern] = template, keys, signed(sum(words) & WORD)
        self._now = self._prepared[pattern]

    def fill(self, block: int) -> None:
        """One addition: reads the cache, writes the block."""
        assert self._now is not None
        template, keys, _ = self._now
        if keys is None:
            self._tensors[block].copy_(template.expand_as(self._tensors[block]))
        else:
            torch.add(template, keys[_of(self.blocks[block])].unsqueeze(1), out=self._tensors[block])

    def check(self, block: int) -> None:
        """One sum of each row, timed, and its comparison, which moves 1/2048 of the bytes."""
        assert self._now is not None
        _, keys, template_sum = self._now
        sums: list[torch.Tensor] = []
        windows = self._device.windows(0.001)
        done = windows.run(lambda: sums.append(self._tensors[block].sum(dim=1)), 1)
        found = sums[0]
        if keys is not None:
            found.sub_(keys[_of(self.blocks[block])], alpha=ROW_WORDS)
        self._checks.append((block, found != template_sum, windows, done))

    def settle(self) -> None:
        """Wait for the device's queue."""
        self._device.synchronise()

    def found(self) -> "list[int]":
        """Rows whose sum was wrong since the last call."""
        rows: list[int] = []
        for block, wrong, windows, done in self._checks:
            self.seconds[block] += [*done, *windows.drain()]
            start = self.blocks[block].start
            rows += [start + int(row) for row in wrong.nonzero().flatten().tolist()] if bool(wrong.any()) else []
        self._checks.clear()
        return rows

    def row(self, row: int) -> "list[int]":
        """The words of a row, unsigned."""
        for block, tensor in zip(self.blocks, self._tensors, strict=True):
            if row in block:
                return [int(word) & WORD for word in tensor[row - block.start].tolist()]
        raise IndexError(row)


def _of(rows: range) -> slice:
    return slice(rows.start, rows.stop)
