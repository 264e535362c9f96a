# pyright: standard
"""A product of two matrices timed in short bursts with pauses, so that a power cap takes hold late or not at all.

On an H200 heavy products lower the clock within 20 ms all the same; the clock in band says so, and flags them.

A survey of one setting: ``matmul``, or ``matmul_sparse`` where ``sparse`` is set, with the same parameters and the same
check. A product too long for a burst is timed without pauses, and the part then has no ``phase``.
"""

from collections.abc import Iterator
from typing import Any

from gputuner.workloads.bodies.body import Fact
from gputuner.workloads.bodies.burst_timing import BurstTimer
from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.matmul import Matmul
from gputuner.workloads.bodies.matmul_sparse import SparseMatmul
from gputuner.workloads.bodies.survey import Pace, Part


class MatmulBursts:
    """One product; ``params`` as of :class:`Matmul` or :class:`SparseMatmul`."""

    def __init__(self, device: Device, *, seed: int, sparse: bool = False, **params: Any) -> None:
        self._device = device
        self._body = SparseMatmul(device, seed=seed, **params) if sparse else Matmul(device, seed=seed, **params)
        self.work: dict[str, float] = {}

    def parts(self, pace: Pace) -> Iterator[Part]:
        """The one setting.

        Raises:
            WrongResultError: the product differs from float64.
        """
        timing = BurstTimer(self._device).timed(self._body.iterate, pace.measure_s)
        yield Part(
            params=timing.params,
            iteration_s=timing.iteration_s,
            t0_ns=timing.t0_ns,
            t1_ns=timing.t1_ns,
            work=self._body.work,
            relative_error=self._body.relative_error(),
            notes={**self._body.notes(), **timing.notes},
        )

    def notes(self) -> "dict[str, Fact]":
        """What was multiplied."""
        return self._body.notes()
