# pyright: standard
"""What launching costs: on the host, on the card, and within a CUDA graph; and how fast the host dispatches at all.

The kernel adds 1 to a single number: as good as empty, and the sum tells how many ran. Settings:

- ``dispatch``: the same operation on the processor, one thread: the pace at which Python and torch's dispatcher can
  issue work at all.
- ``enqueue``: host time of a launch, the card not waited for.
- ``back_to_back``: launches in a row as they come, by the card's events; the slower of host and card shows.
- ``device``: the same kernels queued up behind a spin, so that the host is out of the figure: what a kernel costs the
  card.
- ``round_trip``: launch and wait until it has run.
- ``graph``: the row of launches captured once and replayed as a CUDA graph.

A kernel that takes the card less time than ``enqueue`` leaves it waiting for the host, unless it is in a graph.
"""

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

from gputuner.workloads.bodies.body import Fact
from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.failures import UnsupportedError, WrongResultError
from gputuner.workloads.bodies.gaps import attempted
from gputuner.workloads.bodies.setting_timing import timed
from gputuner.workloads.bodies.survey import Pace, Part

KERNELS = 100
"""Per iteration. The queue of a stream takes about a thousand before the host must wait."""
DISPATCHES = 1000
LEAST_WINDOWS = 3
HOST_WINDOW_S = 0.02
MOST_CYCLES_PER_S = 3e9
"""A spin of so many cycles lasts a second at least."""

Timed = tuple[list[float], tuple[int, int]]


class Counter:
    """A number in memory that a kernel adds 1 to, and how often it should have done so."""

    def __init__(self, place: str) -> None:
        self._number = torch.zeros(1, dtype=torch.int64, device=place)
        self._expected = 0

    def add(self, count: int) -> None:
        """Launch ``count`` additions one by one."""
        number = self._number
        for _ in range(count):
            number.add_(1)
        self._expected += count

    def replayed(self, count: int) -> None:
        """A graph of ``count`` additions ran."""
        self._expected += count

    def check(self) -> None:
        """Compare the sum with the launches.

        Raises:
            WrongResultError: they differ.
        """
        found = int(self._number)
        if found != self._expected:
            raise WrongResultError(f"{self._expected} kernels were launched, {found} ran")


def host_timed(run: Callable[[], Any], settle: Callable[[], Any], seconds: float) -> Timed:
    """Host seconds of ``run``, the median of each window; ``settle`` waits for what it left running, untimed.

    Single runs of some microseconds scatter with whatever else the host does; a window holds ``HOST_WINDOW_S`` of them.
    """
    run()
    settle()
    done: list[float] = []
    t0_ns = time.monotonic_ns()
    while len(done) < LEAST_WINDOWS or (time.monotonic_ns() - t0_ns) / 1e9 < seconds:
        done.append(_window_of(run, settle))
    return done, (t0_ns, time.monotonic_ns())


def _window_of(run: Callable[[], Any], settle: Callable[[], Any]) -> float:
    taken: list[float] = []
    began = time.perf_counter()
    while not taken or time.perf_counter() - began < HOST_WINDOW_S:
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
        settle()
    return statistics.median(taken)


class Launch:
    """All settings that the device has, as one survey."""

    def __init__(self, device: Device, *, seed: int, kernels: int = KERNELS) -> None:
        self._device, self._kernels = device, kernels
        self.work: dict[str, float] = {}

    def parts(self, pace: Pace) -> Iterator[Part]:
        """The host's pace first; on a card all others."""
        measures: dict[str, Callable[[float], tuple[Timed, int]]] = {"dispatch": self._dispatch}
        if self._device.name == "cuda":
            measures |= {
                "enqueue": self._enqueue,
                "back_to_back": self._back_to_back,
                "device": self._on_device,
                "round_trip": self._round_trip,
                "graph": self._graph,
            }
        for place, (mode, measure) in enumerate(measures.items()):
            if pace.stopped():
                return
            seconds = max(0.0, pace.left_s()) / (len(measures) - place)
            params: dict[str, Fact] = {"mode": mode}
            yield attempted(self._device, params, lambda m=measure, p=params, s=seconds: _part(p, *m(s)))

    def _dispatch(self, seconds: float) -> "tuple[Timed, int]":
        counter = Counter("cpu")
        measured = host_timed(lambda: counter.add(DISPATCHES), lambda: None, seconds)
        counter.check()
        return measured, DISPATCHES

    def _enqueue(self, seconds: float) -> "tuple[Timed, int]":
        counter = Counter("cuda")
        measured = host_timed(lambda: counter.add(self._kernels), torch.cuda.synchronize, seconds)
        counter.check()
        return measured, self._kernels

    def _round_trip(self, seconds: float) -> "tuple[Timed, int]":
        counter = Counter("cuda")

        def there_and_back() -> None:
            counter.add(1)
            torch.cuda.synchronize()

        measured = host_timed(there_and_back, lambda: None, seconds)
        counter.check()
        return measured, 1

    def _back_to_back(self, seconds: float) -> "tuple[Timed, int]":
        counter = Counter("cuda")
        measured = timed(self._device, lambda: counter.add(self._kernels), seconds)
        counter.check()
        return measured, self._kernels

    def _on_device(self, seconds: float) -> "tuple[Timed, int]":
        """Windows in which the card began only after all had been queued.

        Raises:
            UnsupportedError: this torch has no spin to queue behind.
        """
        spin = getattr(torch.cuda, "_sleep", None)
        if spin is None:
            raise UnsupportedError("this torch has no spin kernel")
        counter = Counter("cuda")
        counter.add(self._kernels)
        torch.cuda.synchronize()
        start = time.perf_counter()
        counter.add(self._kernels)
        cycles = int(2 * (time.perf_counter() - start) * MOST_CYCLES_PER_S)
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        done: list[float] = []
        t0_ns = time.monotonic_ns()
        while len(done) < LEAST_WINDOWS or (time.monotonic_ns() - t0_ns) / 1e9 < seconds:
            torch.cuda.synchronize()
            spin(cycles)
            marks[0].record()
            counter.add(self._kernels)
            marks[1].record()
            held = not marks[0].query()
            torch.cuda.synchronize()
            if held:
                done.append(marks[0].elapsed_time(marks[1]) / 1e3)
            else:
                cycles *= 2
        counter.check()
        return (done, (t0_ns, time.monotonic_ns())), self._kernels

    def _graph(self, seconds: float) -> "tuple[Timed, int]":
        counter = Counter("cuda")
        beside = torch.cuda.Stream()
        beside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(beside):
            counter.add(self._kernels)
        torch.cuda.current_stream().wait_stream(beside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            counter.add(self._kernels)
        counter.replayed(-self._kernels)  # captured, not run

        def replay() -> None:
            graph.replay()
            counter.replayed(self._kernels)

        measured = timed(self._device, replay, seconds)
        counter.check()
        return measured, self._kernels

    def notes(self) -> dict[str, Fact]:
        """Launches per iteration."""
        return {"kernels": self._kernels}


def _part(params: "dict[str, Fact]", measured: Timed, calls: int) -> Part:
    done, span = measured
    return Part(
        params=params, iteration_s=tuple(done), t0_ns=span[0], t1_ns=span[1], work={"calls": float(calls)},
        relative_error=0.0,
    )  # fmt: skip
