# pyright: standard
"""A running ``DataLoader``, epoch after epoch: batches, what its beginning costs, and timed windows of whole rounds.

A *round* gives every process a turn. Windows hold whole rounds and no border of an epoch: what a border costs
(processes that start anew, batches that must be made before the first is there) is timed apart, as ``restart_s``. Only
where an epoch is shorter than a few rounds are the windows whole epochs, borders included.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from torch.utils.data import DataLoader

from gputuner.workloads.bodies.loader_feed import END_S
from gputuner.workloads.bodies.recipe import RecipeError, tensors
from gputuner.workloads.bodies.survey import Pace

WINDOW_S = 0.05
LEAST_WINDOWS = 3
ROUNDS_OF_EPOCH = 4
"""An epoch of fewer rounds than this is timed as a whole."""
CUT_AT_MOST = 2
"""So many epochs that ended before a window did are too short for windows within them."""
OVERTIME = 3.0
"""Windows that take longer than asked for are waited for up to so many times the time (or ``LEAST_S``)."""
LEAST_S = 0.5


@dataclass(frozen=True)
class Measured:
    """Seconds per full batch of each window, and when (monotonic ns)."""

    iteration_s: "tuple[float, ...]"
    span: "tuple[int, int]"
    whole_epochs: bool = False


def counted(batch: Any, full: int) -> int:
    """Samples of a batch that should hold ``full`` (the last of an epoch holds fewer).

    Raises:
        RecipeError: it holds more, or no tensor.
    """
    sizes = [len(tensor) for tensor in tensors(batch) if tensor.dim()]
    if not sizes:
        raise RecipeError("the loader's batches hold no tensor")
    count = full if full in sizes else max(set(sizes), key=sizes.count)
    if count > full:
        raise RecipeError(f"the loader was asked for batches of {full} samples and gave {count}")
    return count


def batch_bytes(batch: Any) -> int:
    """Bytes of all tensors of a batch: what a process hands over in shared memory."""
    return sum(tensor.nbytes for tensor in tensors(batch))


class Batches:
    """The batches of a loader; a context manager that ends its processes.

    Args:
        loader: of one setting.
        full: samples of a batch.
    """

    def __init__(self, loader: "DataLoader[Any]", full: int) -> None:
        self._loader, self.full = loader, full
        self._running: Iterator[Any] | None = None
        self._first: list[Any] = []
        self.epochs = 0
        """Begun so far."""
        self.waited_s = 0.0
        """Seconds for which somebody waited in ``take``."""

    @property
    def round(self) -> int:
        """Batches after which every process had a turn."""
        return max(1, self._loader.num_workers)

    @property
    def of_epoch(self) -> "int | None":
        """Batches of an epoch, where that is known."""
        try:
            return len(self._loader)
        except TypeError:
            return None

    def begin(self) -> float:
        """Begin an epoch; seconds until its first batch is there, which ``take`` will give.

        Raises:
            RecipeError: the epoch has no batch.
        """
        begun = time.perf_counter()
        self._running = iter(self._loader)
        try:
            self._first = [next(self._running)]
        except StopIteration:
            raise RecipeError("the loader gives no batch: is the data set smaller than a batch (drop_last)?") from None
        self.epochs += 1
        return time.perf_counter() - begun

    @property
    def first(self) -> Any:
        """The epoch's first batch, right after ``begin``."""
        return self._first[0]

    def take(self) -> Any:
        """The next batch of this epoch.

        Raises:
            StopIteration: the epoch is over.
        """
        begun = time.perf_counter()
        try:
            return self._first.pop() if self._first else next(self._begun())
        finally:
            self.waited_s += time.perf_counter() - begun

    def _begun(self) -> "Iterator[Any]":
        if self._running is None:
            raise StopIteration
        return self._running

    def some(self, most: int) -> "Iterator[Any]":
        """Up to so many batches of this epoch."""
        for _ in range(most):
            try:
                batch = self.take()
            except StopIteration:
                return
            yield batch

    def drain(self, pace: Pace, seconds: float) -> None:
        """Take the batches that were made while nobody waited, for ``seconds`` at most."""
        begun = time.perf_counter()
        ready = self._loader.num_workers * (self._loader.prefetch_factor or 0)
        for _ in range(ready):
            if pace.stopped() or time.perf_counter() - begun > seconds:
                return
            try:
                self.take()
            except StopIteration:
                self.begin()

    def again(self, pace: Pace) -> "float | None":
        """End this epoch before its time and begin another; seconds from its last batch to the first of the next.

        Batches that are being made are taken first, as at the true end of an epoch. None: it cannot be ended.
        """
        if not hasattr(self._running, "_sampler_iter"):
            return None
        cast(Any, self._running)._sampler_iter = iter(())
        last = time.perf_counter()
        try:
            while not pace.stopped():
                self.take()
                last = time.perf_counter()
        except StopIteration:
            self.begin()
            return time.perf_counter() - last
        return None

    def processes(self) -> "list[int]":
        """Ids of the loader's processes."""
        workers = getattr(self._running, "_workers", ())
        return [process.pid for process in workers if process.pid is not None]

    def windows(self, use: "Callable[[Any], None]", wait: "Callable[[], None]", pace: Pace, seconds: float) -> Measured:
        """Take batches for ``seconds`` and at least three windows.

        Args:
            use: what is done with each batch.
            wait: waits until all that was done is finished.
            pace: of the survey.
            seconds: to measure for.
        """
        epoch = self.of_epoch
        whole = epoch is not None and epoch < ROUNDS_OF_EPOCH * self.round
        done: list[float] = []
        t0_ns = time.monotonic_ns()
        wait()
        begun = time.perf_counter()
        if whole:
            self._to_the_end(use)
            wait()
        cut = 0
        while not pace.stopped():
            seconds_of, samples = self._epoch(use, wait) if whole else self._window(use, wait)
            cut = 0 if samples else cut + 1
            if samples:
                done.append(seconds_of / samples * self.full)
            elif cut == CUT_AT_MOST and not done:
                whole = True
                self._to_the_end(use)
            passed_s = time.perf_counter() - begun
            if (passed_s >= seconds and len(done) >= LEAST_WINDOWS) or (
                passed_s >= OVERTIME * max(seconds, LEAST_S) and done
            ):
                break
        return Measured(iteration_s=tuple(done), span=(t0_ns, time.monotonic_ns()), whole_epochs=whole)

    def _window(self, use: "Callable[[Any], None]", wait: "Callable[[], None]") -> "tuple[float, int]":
        """Seconds and samples of some rounds; none where the epoch ended within."""
        begun, samples = time.perf_counter(), 0
        try:
            while True:
                for _ in range(self.round):
                    batch = self.take()
                    samples += counted(batch, self.full)
                    use(batch)
                if time.perf_counter() - begun >= WINDOW_S:
                    break
        except StopIteration:
            self.begin()
            wait()
            return 0.0, 0
        wait()
        return time.perf_counter() - begun, samples

    def _epoch(self, use: "Callable[[Any], None]", wait: "Callable[[], None]") -> "tuple[float, int]":
        """Seconds and samples of some whole epochs, their beginnings included."""
        begun, samples = time.perf_counter(), 0
        while not samples or time.perf_counter() - begun < WINDOW_S:
            self.begin()
            samples += self._to_the_end(use)
        wait()
        return time.perf_counter() - begun, samples

    def _to_the_end(self, use: "Callable[[Any], None]") -> int:
        samples = 0
        try:
            while True:
                batch = self.take()
                samples += counted(batch, self.full)
                use(batch)
        except StopIteration:
            return samples

    def close(self) -> None:
        """End the processes now rather than when the garbage is collected; all at once, for torch waits for each."""
        running, self._running, self._first = self._running, None, []
        _ask_to_end(running)
        end = getattr(running, "_shutdown_workers", None)
        if end is not None:
            end()
        self._loader._iterator = None

    def __enter__(self) -> "Batches":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _ask_to_end(running: Any) -> None:
    """Tell every process of a running loader that it is over, and wait a moment for all of them."""
    over, queues = getattr(running, "_workers_done_event", None), getattr(running, "_index_queues", ())
    if over is None or getattr(running, "_shutdown", True):
        return
    over.set()
    for queue in queues:
        queue.put(None)
    until = time.monotonic() + END_S
    for process in running._workers:
        process.join(max(0.0, until - time.monotonic()))
