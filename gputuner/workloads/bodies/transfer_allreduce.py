# pyright: standard
"""All-reduce: every rank ends with the sum over all ranks. NCCL over the visible cards in one process; on a processor
gloo with two ranks.

Counted as nccl-tests do: bus bandwidth = size × 2(n - 1)/n / time, the bytes that each rank must send and receive at
the very least, whatever the algorithm; it can be compared over numbers of ranks and with the link's rate.

Checked against the sum in float64 on every rank. Inputs N(0,1), FP32.
"""

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, Protocol

import torch

from gputuner.workloads.bodies.body import Fact
from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.failures import UnsupportedError, WrongResultError
from gputuner.workloads.bodies.gaps import attempted
from gputuner.workloads.bodies.setting_timing import timed
from gputuner.workloads.bodies.survey import Pace, Part
from gputuner.workloads.bodies.transfer_peers import two_cards

TOLERANCE = 1e-6
"""Largest relative Frobenius error: two FP32 sums (unit roundoff 6e-8) for each doubling of ranks."""
GLOO_RANKS = 2
TIMEOUT = timedelta(seconds=60)


def bus_bytes(size: int, ranks: int) -> float:
    """Bytes that count for an all-reduce of ``size`` bytes."""
    return size * 2 * (ranks - 1) / ranks


class Ranks(Protocol):
    """All ranks of one all-reduce."""

    library: str
    inputs: "list[torch.Tensor]"

    def begin(self, count: int, seed: int) -> None:
        """``count`` numbers for each rank."""
        ...

    def reduce(self) -> None:
        """One all-reduce."""
        ...

    def fresh(self) -> "list[torch.Tensor]":
        """What each rank has after an all-reduce of ``inputs``."""
        ...


def _normal(count: int, seed: int, place: str) -> torch.Tensor:
    random = torch.Generator(device=place).manual_seed(seed)
    return torch.randn(count, generator=random, device=place)


def _nccl() -> Callable[..., None]:
    """Torch's all-reduce within one process.

    Raises:
        UnsupportedError: this torch has none.
    """
    from torch.cuda import nccl

    if not hasattr(nccl, "all_reduce"):
        raise UnsupportedError("this torch cannot all-reduce within one process")
    return nccl.all_reduce


class NcclRanks:
    """All visible cards, driven by this one process."""

    library = "nccl"

    def __init__(self, cards: int) -> None:
        self._all_reduce = _nccl()
        self._places = [f"cuda:{card}" for card in range(cards)]
        self.inputs: list[torch.Tensor] = []
        self._outputs: list[torch.Tensor] = []

    def begin(self, count: int, seed: int) -> None:
        """Inputs, and outputs beside them: in place the numbers would grow with every iteration."""
        self.inputs = [_normal(count, seed + rank, place) for rank, place in enumerate(self._places)]
        self._outputs = [torch.zeros_like(numbers) for numbers in self.inputs]

    def reduce(self) -> None:
        """Queue one all-reduce in the present stream of every card."""
        self._all_reduce(self.inputs, self._outputs)

    def fresh(self) -> "list[torch.Tensor]":
        """Outputs after one more all-reduce into empty ones."""
        for output in self._outputs:
            output.zero_()
        self.reduce()
        for card in range(len(self._places)):
            torch.cuda.synchronize(card)
        return self._outputs


class GlooRanks:
    """Two ranks in two threads of this process."""

    library = "gloo"

    def __init__(self) -> None:
        from torch import distributed

        if not (distributed.is_available() and hasattr(distributed, "ProcessGroupGloo")):
            raise UnsupportedError("this torch has no gloo")
        store = distributed.HashStore()  # pyright: ignore[reportPrivateImportUsage]
        self._groups: list[Any] = [None] * GLOO_RANKS
        self.inputs: list[torch.Tensor] = []
        self._numbers: list[torch.Tensor] = []

        failed: list[RuntimeError] = []

        def join(rank: int) -> None:
            try:
                self._groups[rank] = distributed.ProcessGroupGloo(store, rank, GLOO_RANKS, TIMEOUT)
            except RuntimeError as err:
                failed.append(err)

        threads = [threading.Thread(target=join, args=(rank,), name=f"rank-{rank}") for rank in range(GLOO_RANKS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failed:
            raise UnsupportedError(f"gloo found no way for its ranks to meet: {failed[0]}")

    def begin(self, count: int, seed: int) -> None:
        """Inputs, and what is reduced in place (gloo has no other way; the sums grow, which costs no time)."""
        self.inputs = [_normal(count, seed + rank, "cpu") for rank in range(GLOO_RANKS)]
        self._numbers = [numbers.clone() for numbers in self.inputs]

    def reduce(self) -> None:
        """One all-reduce, waited for."""
        running = [group.allreduce([numbers]) for group, numbers in zip(self._groups, self._numbers, strict=True)]
        for work in running:
            work.wait()

    def fresh(self) -> "list[torch.Tensor]":
        """What an all-reduce makes of the inputs."""
        for numbers, source in zip(self._numbers, self.inputs, strict=True):
            numbers.copy_(source)
        self.reduce()
        return self._numbers


class AllReduce:
    """Each of ``sizes`` (bytes per rank) as one survey."""

    def __init__(self, device: Device, *, seed: int, sizes: str) -> None:
        if device.name != "cpu":
            two_cards(device)
        self._device, self._seed = device, seed
        self._sizes = [max(4, int(size) // 4 * 4) for size in sizes.split()]
        self.work: dict[str, float] = {}

    def parts(self, pace: Pace) -> Iterator[Part]:
        """Small sizes first; nothing meets before this."""
        ranks: Ranks = GlooRanks() if self._device.name == "cpu" else NcclRanks(torch.cuda.device_count())
        for place, size in enumerate(self._sizes):
            if pace.stopped():
                return
            seconds = max(0.0, pace.left_s()) / (len(self._sizes) - place)
            params: dict[str, Fact] = {"bytes": size, "library": ranks.library}
            yield attempted(
                self._device, params, lambda p=params, s=seconds: self._measure(ranks, p, s)
            )  # fmt: skip

    def _measure(self, ranks: Ranks, params: "dict[str, Fact]", seconds: float) -> Part:
        size = int(params["bytes"])
        ranks.begin(size // 4, self._seed)
        done, span = timed(self._device, ranks.reduce, seconds)
        error = reduce_error(ranks.inputs, ranks.fresh())
        count = len(ranks.inputs)
        return Part(
            params={**params, "ranks": count},
            iteration_s=tuple(done),
            t0_ns=span[0],
            t1_ns=span[1],
            work={"bytes": bus_bytes(size, count)},
            relative_error=error,
        )

    def notes(self) -> dict[str, Fact]:
        """What was summed."""
        return {"inputs": "normal"}


def reduce_error(inputs: "list[torch.Tensor]", outputs: "list[torch.Tensor]") -> float:
    """The largest relative error of any rank's sum.

    Raises:
        WrongResultError: larger than rounding explains.
    """
    exact = torch.stack([numbers.cpu().double() for numbers in inputs]).sum(0)
    errors = [float((found.cpu().double() - exact).norm() / exact.norm()) for found in outputs]
    if not max(errors) <= TOLERANCE:
        raise WrongResultError(f"the sum differs from float64 by {max(errors):.2e} (rounding explains {TOLERANCE:.0e})")
    return max(errors)
