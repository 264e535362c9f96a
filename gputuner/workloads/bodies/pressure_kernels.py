# pyright: standard
"""What pressure probes do on a device, one short kernel a pass.

``sm`` and ``slices``: FP32 products, whose multiply-adds run on the plain pipes (TF32
is off, unless a job that shares the process has it on). ``tensor``: products in
half precision. Both fit into the last cache. ``dram``: a copy that walks through arrays of four last caches, so that
nothing is found there when it comes again. ``l2``: a sweep over half of the last cache, again and again. ``pcie``:
copies between pinned memory and the card, both directions at once.
"""

import threading
from collections.abc import Callable
from typing import Any

import torch

from gputuner.workloads.bodies.body import Fact
from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.failures import UnsupportedError
from gputuner.workloads.bodies.precision import switch_tf32

PRODUCT, TENSOR_PRODUCT = 1024, 2048
"""Side of the matrices: some ten µs on a large card."""
BEYOND_CACHE = 4
WITHIN_CACHE = 0.5
LEAST_CACHE_BYTES = 4 << 20
"""Where the size of the last cache is not known or tiny."""
LEAST_STREAM_BYTES = 256 << 20
MOST_OF_FREE = 0.5
"""Of a processor's free memory."""
CHUNK_BYTES, PROCESSOR_CHUNK_BYTES = 32 << 20, 4 << 20
"""Of one copy: 16 µs on an H200, 80 µs at 800 GB/s."""
LINK_BYTES = 8 << 20


class Product:
    """A product of square matrices."""

    def __init__(self, device: Device, side: int, kind: torch.dtype, seed: int) -> None:
        random = torch.Generator(device=device.name).manual_seed(seed)
        made = [torch.randn(side, side, device=device.name, generator=random).to(kind) for _ in range(2)]
        self._a, self._b = made
        self._out = torch.empty_like(self._a)
        self.work = {"flop": 2.0 * side**3}

    def run(self) -> None:
        """Queue one product."""
        torch.mm(self._a, self._b, out=self._out)

    def notes(self) -> "dict[str, Fact]":
        """Its format."""
        return {"format": str(self._a.dtype).removeprefix("torch.")}


class Stream:
    """A copy that goes on through two arrays, a piece a pass; together at least four last caches.

    Raises:
        UnsupportedError: a processor's memory has no room for so much; less would be a probe of the cache.
    """

    def __init__(self, device: Device, seed: int) -> None:
        cpu = device.name == "cpu"
        cache = max(device.cache_bytes, LEAST_CACHE_BYTES)
        whole = BEYOND_CACHE * cache if cpu else max(BEYOND_CACHE * cache, LEAST_STREAM_BYTES)
        free = device.free_bytes() if cpu else None
        if free is not None and whole > MOST_OF_FREE * free:
            raise UnsupportedError(f"{whole >> 20} MiB, four times the last-level cache, do not fit into memory")
        piece = PROCESSOR_CHUNK_BYTES if cpu else CHUNK_BYTES
        count = max(2, -(-whole // (2 * piece)))
        self._source = torch.ones(count, piece // 4, device=device.name)
        self._target = torch.zeros_like(self._source)
        self._at, self._count = 0, count
        self._over_cache = 2.0 * count * piece / cache
        self.work = {"bytes": 2.0 * piece}

    def run(self) -> None:
        """Queue the copy of one piece."""
        self._target[self._at].copy_(self._source[self._at])
        self._at = (self._at + 1) % self._count

    def notes(self) -> "dict[str, Fact]":
        """How far it reaches beyond the last cache."""
        return {"footprint_over_cache": round(self._over_cache, 2)}


class Sweep:
    """A sweep over what stays in the last cache."""

    def __init__(self, device: Device, seed: int) -> None:
        size = int(WITHIN_CACHE * max(device.cache_bytes, LEAST_CACHE_BYTES))
        self._kept = torch.ones(size // 4, device=device.name)
        self.work = {"bytes": 2.0 * 4 * self._kept.numel()}

    def run(self) -> None:
        """Queue one sweep: read and write all of it."""
        self._kept.mul_(1.0)

    def notes(self) -> "dict[str, Fact]":
        """How much it keeps there."""
        return {"footprint_over_cache": WITHIN_CACHE}


class Link:
    """Copies to the card and from it, both at once, in streams of their own."""

    def __init__(self, device: Device, seed: int) -> None:
        count = LINK_BYTES // 4
        self._hosts = [torch.ones(count, pin_memory=True) for _ in range(2)]
        self._cards = [torch.ones(count, device=device.name) for _ in range(2)]
        self._streams = [torch.cuda.Stream() for _ in range(2)]
        self.work = {"bytes": 2.0 * LINK_BYTES}

    def run(self) -> None:
        """Queue one copy each way; the present stream goes on after both."""
        here = torch.cuda.current_stream()
        pairs = ((self._cards[0], self._hosts[0]), (self._hosts[1], self._cards[1]))
        for stream, (target, source) in zip(self._streams, pairs, strict=True):
            stream.wait_stream(here)
            with torch.cuda.stream(stream):
                target.copy_(source, non_blocking=True)
        for stream in self._streams:
            here.wait_stream(stream)

    def notes(self) -> "dict[str, Fact]":
        """Bytes of one copy."""
        return {"copied_bytes": LINK_BYTES}


def _plain(device: Device, seed: int) -> Product:
    if threading.current_thread() is threading.main_thread():  # in a thread other jobs share the process: theirs holds
        switch_tf32(False)
    return Product(device, PRODUCT, torch.float32, seed)


def _tensor(device: Device, seed: int) -> Product:
    return Product(device, TENSOR_PRODUCT, torch.bfloat16 if device.bf16_native else torch.float16, seed)


KERNELS: "dict[str, Callable[[Device, int], Any]]" = {
    "slices": _plain,
    "sm": _plain,
    "tensor": _tensor,
    "dram": Stream,
    "l2": Sweep,
    "pcie": Link,
}
"""Probe → what makes its kernel on a device, with a seed."""
