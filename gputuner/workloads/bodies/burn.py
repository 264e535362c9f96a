# pyright: standard
"""Compute burn: the same products again and again, checked once against float64 and then bit for bit.

A library's product of the same operands is the same in every bit from run to run (cuBLAS, "Results reproducibility":
one stream, one card), so that a single wrong bit is an error of the card and not of rounding.
"""

import time
from collections.abc import Iterator

import torch

from gputuner.workloads.bodies.body import Fact
from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.failures import UnsupportedError
from gputuner.workloads.bodies.matmul import checked_error, operations
from gputuner.workloads.bodies.product import Product, product_of
from gputuner.workloads.bodies.survey import Pace, Part

BATCH_S = 0.1
"""Products are queued for so long before the host looks."""


class Burn:
    """Square products of ``n`` in one or more formats (``precisions``, with blanks between), in turn."""

    def __init__(self, device: Device, *, precisions: str, n: int, seed: int) -> None:
        self._device, self._n, self._seed = device, n, seed
        self._names = precisions.split()
        if not self._names:
            raise UnsupportedError("no number format to burn with")
        self.work: dict[str, float] = {"flop": operations(n, n, n)}

    def parts(self, pace: Pace) -> Iterator[Part]:
        """One part for each format."""
        share_s = pace.measure_s / len(self._names)
        for name in self._names:
            yield self._part(name, share_s, pace)
            if pace.stopped():
                return

    def _part(self, name: str, seconds: float, pace: Pace) -> Part:
        product = product_of(self._device, name)
        golden = _Golden(self._device, product, self._n, self._seed)
        error = checked_error(product, golden.a, golden.b, golden.first, self._seed, name)
        done: list[float] = []
        t0_ns = time.monotonic_ns()
        end = time.monotonic() + seconds
        count = 1
        while not done or (time.monotonic() < end and not pace.stopped()):
            start = time.perf_counter()
            for _ in range(count):
                golden.again()
            self._device.synchronise()
            took = (time.perf_counter() - start) / count
            done.append(took)
            count = max(1, round(BATCH_S / max(took, 1e-7)))
        t1_ns = time.monotonic_ns()
        return Part(
            params={"precision": name, "n": self._n},
            iteration_s=tuple(done),
            t0_ns=t0_ns,
            t1_ns=t1_ns,
            work=dict(self.work),
            relative_error=error,
            notes={
                "errors": golden.wrong_products(),
                "wrong_numbers": golden.wrong_numbers(),
                "products": golden.count,
            },
        )

    def notes(self) -> "dict[str, Fact]":
        """Nothing that the parts do not say."""
        return {"kernel": "torch"}


class _Golden:
    """Operands, the first product, and how many later ones differ from it."""

    def __init__(self, device: Device, product: Product, n: int, seed: int) -> None:
        random = torch.Generator(device=device.name).manual_seed(seed)
        self.a = product.operand(n * n, random, device.name).view(n, n)
        self.b = product.operand(n * n, random, device.name).view(n, n)
        self._product = product
        self.first = torch.empty(n, n, dtype=product.result, device=device.name)
        self._again = torch.empty_like(self.first)
        product.multiply(self.a, self.b, self.first)
        self._wrong = torch.zeros(2, dtype=torch.int64, device=device.name)
        self.count = 0

    def again(self) -> None:
        """Queue one product and its comparison."""
        self._product.multiply(self.a, self.b, self._again)
        differing = torch.ne(self._again, self.first).sum()
        self._wrong[0] += differing > 0
        self._wrong[1] += differing
        self.count += 1

    def wrong_products(self) -> int:
        """Products that differ in any bit."""
        return int(self._wrong[0])

    def wrong_numbers(self) -> int:
        """Numbers of them that differ."""
        return int(self._wrong[1])
