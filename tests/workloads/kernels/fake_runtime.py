"""A card without kernels: memory is NumPy's, a launch does what the kernel's name says, time follows from bytes."""

import re
from dataclasses import dataclass, field

import numpy as np

from gputuner.workloads.bodies.driver import DriverFacts
from gputuner.workloads.kernels.chase_source import SEGMENTS, UNROLL
from gputuner.workloads.kernels.device import KernelsDevice
from gputuner.workloads.kernels.runtime import Grid
from gputuner.workloads.kernels.source import numbers
from gputuner.workloads.kernels.stream_source import ARRAYS

CLOCK_HZ = 1.5e9
CACHE_BYTES = 1 << 20
DRAM, L2 = 1e11, 4e11
BEST = ("cached", 4)
"""Hint and unrolling that this card likes; all others take a tenth longer."""
FACTS = DriverFacts(
    cuda=(13, 0), name="Fake", capability=(9, 0), sm_count=4, total_bytes=64 << 20, l2_bytes=CACHE_BYTES
)


@dataclass
class FakeRuntime:
    total: int = 64 << 20
    now: float = 0.0
    held: dict[int, np.ndarray] = field(default_factory=dict)
    launched: list[tuple[str, Grid, tuple[int, ...]]] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    next_address: int = 1 << 32
    slow: dict[int, float] = field(default_factory=dict)
    """Base of an allocation → factor of the time that reading it takes."""
    skip: set[str] = field(default_factory=set)
    """Operations that are not performed (a card that computes nonsense)."""
    alias: dict[int, int] = field(default_factory=dict)
    """Number of an allocation → number of the one whose cells it shares."""
    late: tuple[str, int] | None = None
    """A kernel that leaves a third of its work in the cache for whatever comes next, unless it may rest before."""
    owed: float = 0.0

    def start(self):
        pass

    def compile(self, source, names):
        assert all(re.search(rf"__global__ void (\S+ )?{name}\(", source) for name in names)
        self.sources.append(source)
        return {name: name for name in names}

    def allocate(self, size):
        if size > self.memory()[0]:
            raise MemoryError("CUDA out of memory")
        address, self.next_address = self.next_address, self.next_address + -(-size // 256) * 256 + 4096
        number = len(self.held)
        self.held[address] = np.zeros(size, np.uint8)
        if number in self.alias:
            self.held[address] = list(self.held.values())[self.alias[number]]
        return address

    def free(self, address):
        del self.held[address]

    def memory(self):
        return self.total - sum(len(room) for room in self.held.values()), self.total

    def base(self, address):
        return max(a for a in self.held if a <= address)

    def view(self, address, count, kind=np.uint32):
        base = self.base(address)
        return self.held[base][address - base :].view(kind)[:count]

    def write(self, address, data):
        self.view(address, len(data), np.uint8)[:] = np.frombuffer(data, np.uint8)

    def read(self, address, size):
        return self.view(address, size, np.uint8).tobytes()

    def clear(self, address, size):
        self.view(address, size, np.uint8)[:] = 0
        self.now += size / DRAM

    def mark(self):
        return self.now

    def wait(self, mark):
        self.owed = 0.0

    def seconds(self, start, end):
        return end - start

    def synchronise(self):
        pass

    def launch(self, kernel, grid, *arguments):
        assert all(isinstance(a, int) for a in arguments)
        self.launched.append((kernel, grid, arguments))
        operation, *variant = kernel.split("_")
        if operation in ARRAYS:
            self._pass(operation, (("_".join(variant[:-1])), int(variant[-1])), *arguments)
        else:
            getattr(self, f"_{kernel}")(*arguments)

    def _spin(self, cycles):
        self.now += cycles / CLOCK_HZ

    def _fill(self, address, count, start, seed):
        self.view(address, count, np.float32)[:] = numbers(start, count, seed)

    def _check(self, out, count, operation, word, seed, wrong):
        expected = {
            1: lambda: np.arange(count, dtype=np.uint32) ^ np.uint32(word),
            2: lambda: numbers(0, count, seed).view(np.uint32),
            3: lambda: (np.float32(0.75) * numbers(0, count, seed)).view(np.uint32),
            4: lambda: fused(numbers(0, count, seed), numbers(0, count, seed + 1)).view(np.uint32),
        }[operation]()
        self.view(wrong, 1, np.uint64)[0] += np.uint64(np.count_nonzero(self.view(out, count) != expected))

    def _checksum(self, count, start, seed, sums):
        self.view(sums, 1)[0] ^= np.bitwise_xor.reduce(numbers(start, count, seed).view(np.uint32))

    def _pass(self, operation, variant, a, b, out, sums, vectors, passes, word):
        count = 4 * vectors
        moved = 4 * count * ARRAYS[operation]
        rate = L2 if moved <= CACHE_BYTES // 2 and passes > 1 else DRAM
        whole = passes * moved / rate * (1.0 if variant == BEST else 1.1) * self.slow.get(self.base(a), 1.0)
        left = whole / 3 if variant == self.late else 0.0
        self.now += self.owed + whole - left
        self.owed = left
        if operation in self.skip:
            return
        if operation == "read":
            for _ in range(passes % 2):
                self.view(sums, 1)[0] ^= np.bitwise_xor.reduce(self.view(a, count))
        elif operation == "write":
            self.view(out, count)[:] = np.arange(count, dtype=np.uint32) ^ np.uint32(word)
        else:
            first, second = self.view(a, count, np.float32), self.view(b, count, np.float32)
            results = {"copy": lambda: first, "scale": lambda: np.float32(0.75) * first,
                       "triad": lambda: fused(first, second)}  # fmt: skip
            self.view(out, count, np.float32)[:] = results[operation]()

    def _link(self, base, order, count, stride):
        lines = self.view(order, count).astype(np.uint64)
        room = self.view(base, len(self.held[base]) // 8, np.uint64)
        room[(lines * stride // 8).astype(np.int64)] = base + np.roll(lines, -1) * stride

    def _look(self, base, count):
        assert 32 * count <= len(self.held[base])
        self.now += 32 * count / DRAM

    def _chase(self, start, base, touched, lap, stride, steps, result):
        assert steps % (UNROLL * SEGMENTS) == 0
        room = self.view(base, len(self.held[base]) // 8, np.uint64)
        at = start
        for _ in range(steps):
            at = int(room[(at - base) // 8])
        assert lap in (0, touched)
        each = self.latency(touched * stride) if touched else 400e-9
        cycles = [round(steps * each * CLOCK_HZ / SEGMENTS)] * SEGMENTS
        self.view(result, 2 + SEGMENTS, np.uint64)[:] = (at, round(steps * each * 1e9), *cycles)
        self.now += steps * each

    @staticmethod
    def latency(footprint):
        return 20e-9 if footprint <= 64 << 10 else 150e-9 if footprint <= CACHE_BYTES else 400e-9


def fused(a, b):
    """a + 0.75 b, rounded once."""
    return (a.astype(np.float64) + 0.75 * b.astype(np.float64)).astype(np.float32)


def fake_device(runtime=None, cap=None):
    device = KernelsDevice(FACTS, runtime or FakeRuntime(), cap)
    device.open()
    return device
