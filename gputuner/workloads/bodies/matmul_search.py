# pyright: standard
"""Survey over shapes of a matrix product: which one the chip computes fastest (``shape_search``).

Under load, for a figure under load; or, with ``bursts``, in short bursts with pauses (``burst_rows.py``) for a figure
before the power cap takes hold: fewer timings fit into the time, but they hardly scatter.
"""

import statistics
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import cast

import torch

from gputuner.workloads.bodies.body import Fact
from gputuner.workloads.bodies.burst_rows import BurstRows, Piece
from gputuner.workloads.bodies.burst_timing import PHASE
from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.matmul import checked_error, operations
from gputuner.workloads.bodies.product import product_of
from gputuner.workloads.bodies.shape_search import BURST_LONGEST_S, IN_BURSTS, ShapeSearch
from gputuner.workloads.bodies.shape_space import Shape
from gputuner.workloads.bodies.survey import Pace, Part

PILOT_FROM, PILOT, PILOTS = 256, 4096, 5
"""Sides of the first and the largest square product that tell how much work fits into a timing; how often each runs."""
PILOT_SHARE = 0.02
"""The next larger pilot is not tried if it would take more than this part of the time for the search."""
SHARE_OF_TIME = 1000.0
"""One timing of the largest product takes about this part of the time for the search."""
BEST_TOLD = 40
"""Parts that are told: the best ones; the number of all stands in the notes."""
WINDOW_S = 0.002


class MatmulSearch:
    """Times products of many shapes, all cut from the same operands: a shape costs nothing but its products.

    ``top`` is the largest side, ``step`` the grid. Each timing follows one untimed product of the same shape; in bursts
    each first one of a shape, and the first of each burst. On a processor there are no bursts.
    """

    def __init__(
        self,
        device: Device,
        *,
        precision: str,
        seed: int,
        top: int = 16384,
        step: int = 256,
        fast_accumulate: bool = False,
        bursts: bool = False,
    ) -> None:
        self._product = product_of(device, precision, fast_accumulate=fast_accumulate)
        self._device = device
        self._precision = precision
        self._seed = seed
        self._top, self._step = top, step
        self.work: dict[str, float] = {}
        self._shapes = 0
        random = torch.Generator(device=device.name).manual_seed(seed)
        self._left = self._product.operand(top * top, random, device.name)
        self._right = self._product.operand(top * top, random, device.name)
        self._result = torch.empty(top * top, dtype=self._product.result, device=device.name)
        self._spans: dict[Shape, tuple[int, int]] = {}
        self._rows = BurstRows(device) if bursts and device.name != "cpu" else None
        self._flop_per_s = 0.0

    def _views(self, shape: Shape) -> "tuple[torch.Tensor, torch.Tensor, torch.Tensor]":
        m, n, k, transposed = shape
        flat = self._right[: k * n]
        b = flat.view(n, k).t() if transposed else flat.view(k, n)
        return self._left[: m * k].view(m, k), b, self._result[: m * n].view(m, n)

    def _queue(self, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> None:
        self._product.multiply(a, b, c)

    def _rates_of(self, shapes: "Sequence[Shape]") -> "list[float]":
        """FLOP/s of each."""
        t0_ns = time.monotonic_ns()
        seconds = self._seconds_under_load(shapes) if self._rows is None else self._seconds_in_bursts(shapes)
        t1_ns = time.monotonic_ns()
        for shape in shapes:
            first, _ = self._spans.get(shape, (t0_ns, t0_ns))
            self._spans[shape] = (first, t1_ns)
        rates = [operations(*shape[:3]) / s for shape, s in zip(shapes, seconds, strict=True)]
        self._flop_per_s = statistics.median(rates)
        return rates

    def _seconds_under_load(self, shapes: "Sequence[Shape]") -> "list[float]":
        """Queued without a gap, so that a power-capped card is as hot and as slow as under any load."""
        windows = self._device.windows(WINDOW_S)
        seconds: list[float] = []
        for shape in shapes:
            for _ in range(2):
                seconds += windows.run(partial(self._queue, *self._views(shape)), 1)
        return (seconds + windows.drain())[1::2]

    def _seconds_in_bursts(self, shapes: "Sequence[Shape]") -> "list[float]":
        assert self._rows is not None
        pieces: list[Piece] = []
        new = dict.fromkeys(shape for shape in shapes if shape not in self._spans)
        for shape in shapes:
            expected_s = operations(*shape[:3]) / self._flop_per_s if self._flop_per_s else 0.0
            pieces.append(Piece(partial(self._queue, *self._views(shape)), expected_s, shape in new))
            new.pop(shape, None)
        return self._rows.timed(pieces)

    def _pilot_rate(self, measure_s: float) -> float:
        """FLOP/s of square products, from small ones on (a processor may take minutes for a large one)."""
        side = min(PILOT_FROM, self._top)
        while True:
            rate = statistics.median(self._rates_of([(side, side, side, self._product.layouts[0])] * PILOTS))
            side *= 2
            if (
                side > min(PILOT, self._top)
                or 2 * PILOTS * operations(side, side, side) / rate > PILOT_SHARE * measure_s
            ):
                return rate

    def _longest_s(self, measure_s: float) -> float:
        """Seconds that the largest product may take."""
        share_s = measure_s / SHARE_OF_TIME
        return share_s if self._rows is None else min(share_s, BURST_LONGEST_S)

    def parts(self, pace: Pace) -> Iterator[Part]:
        """The best shapes, best first, each with the seconds of its timings."""
        rate = self._pilot_rate(pace.measure_s)
        self._spans.clear()

        def left() -> float:
            pace.tried(len(self._spans))
            return 0.0 if pace.stopped() else max(0.0, pace.left_s() / pace.measure_s)

        search = ShapeSearch(
            self._rates_of,
            left,
            largest_flop=min(operations(self._top, self._top, self._top), rate * self._longest_s(pace.measure_s)),
            top=self._top,
            step=self._step,
            layouts=self._product.layouts,
            sm_count=cast("int | None", self._device.ready().get("sm_count")),
            seed=self._seed,
            **({} if self._rows is None else IN_BURSTS),
        )
        ranking = search.run()
        self._shapes = len(ranking)
        phase: dict[str, Fact] = {} if self._rows is None else {"phase": PHASE}
        notes = {} if self._rows is None else self._rows.notes()
        for place, candidate in enumerate(ranking[:BEST_TOLD]):
            m, n, k, transposed = candidate.shape
            flop = operations(m, n, k)
            t0_ns, t1_ns = self._spans[candidate.shape]
            yield Part(
                params={"m": m, "n": n, "k": k, "transposed": transposed, **phase},
                iteration_s=tuple(flop / rate for rate in candidate.flop_per_s),
                t0_ns=t0_ns,
                t1_ns=t1_ns,
                work={"flop": flop},
                relative_error=self._error(candidate.shape) if place == 0 else None,
                notes={"score": candidate.score(), **notes},
            )

    def _error(self, shape: Shape) -> float:
        a, b, c = self._views(shape)
        self._product.multiply(a, b, c)
        return checked_error(self._product, a, b, c, self._seed, self._precision)

    def notes(self) -> "dict[str, Fact]":
        """How many shapes were tried."""
        return {**self._product.notes, "inputs": "normal", "shapes_tried": self._shapes}
