# pyright: standard
"""Where a training's batches come from: one that lies on the device, or a DataLoader that feeds new ones.

Synthetic input leaves the host out of the figure. Loader-fed input is what a training really does: worker processes
collate samples, a thread pins them, each step copies its batch to the device. The samples are made up all the same
(a pool in host memory, no files, no decoding): the difference of the two rates is what feeding costs, not what
decoding costs (``timm`` publishes both, pytorch-image-models#1491).
"""

import multiprocessing
import shutil
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import torch
from torch.utils.data import Dataset

from gputuner.workloads.bodies.body import Fact
from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.loader_feed import Feed, Setting
from gputuner.workloads.bodies.loader_room import ROOT, usable_cores

Pair = tuple[torch.Tensor, torch.Tensor]

POOL = 512
"""Different samples that the loader hands out in turn."""
MOST_WORKERS = 8
SHARED_MEMORY = Path("/dev/shm")
"""Where Linux keeps what loader processes hand over."""
PREFETCH = 2
"""Batches that each worker has ready, torch's default."""


class Source(Protocol):
    """Gives inputs and targets on the device, one pair for each step."""

    def take(self) -> Pair:
        """The next pair."""
        ...

    def mark(self) -> None:
        """What is counted counts from here."""
        ...

    def notes(self) -> dict[str, Fact]:
        """Facts for the reader of the figures."""
        ...


class Resident:
    """The same batch over and over, on the device already."""

    def __init__(self, inputs: torch.Tensor, targets: torch.Tensor) -> None:
        self._pair = (inputs, targets)

    def take(self) -> Pair:
        """The batch."""
        return self._pair

    def mark(self) -> None:
        """Nothing is counted."""

    def notes(self) -> dict[str, Fact]:
        """Nothing to tell."""
        return {}


class Pool(Dataset[Pair]):
    """Samples in host memory, given in turn without end: inputs [count, …], targets [count, …]."""

    def __init__(self, inputs: torch.Tensor, targets: torch.Tensor) -> None:
        self._inputs, self._targets = inputs, targets

    def __getitem__(self, place: int) -> Pair:
        place %= len(self._inputs)
        return self._inputs[place], self._targets[place]

    def __len__(self) -> int:
        return len(self._inputs)


def usable_workers(root: Path = ROOT) -> int:
    """Loader processes for this machine: the cores that affinity and quota grant but one, at most ``MOST_WORKERS``.

    0 where processes cannot be forked (Windows, macOS): a spawned one would not find this package.
    """
    if "fork" not in multiprocessing.get_all_start_methods():
        return 0
    return max(0, min(MOST_WORKERS, usable_cores(root) - 1))


def room_for_workers(batch_bytes: int, shared: Path = SHARED_MEMORY) -> int:
    """Loader processes whose ready batches fit into half of the shared memory (64 MiB in many containers)."""
    if not shared.is_dir():
        return MOST_WORKERS
    return int(0.5 * shutil.disk_usage(shared).free // (PREFETCH * max(1, batch_bytes)))


class LoaderFeed:
    """Batches from a DataLoader, copied to the device within the step.

    Args:
        device: where they go.
        pool: the samples.
        batch: samples of each batch.
        prepare: what is done to the inputs on the device, e.g. bytes to normalised numbers.
        workers: loader processes; None: as many as cores and shared memory allow; none on a processor, whose cores they
            would take.
    """

    def __init__(
        self,
        device: Device,
        pool: Pool,
        *,
        batch: int,
        prepare: Callable[[torch.Tensor], torch.Tensor],
        workers: "int | None" = None,
    ) -> None:
        on_card = device.name != "cpu"
        inputs, targets = pool[0]
        batch_bytes = batch * (inputs.nbytes + targets.nbytes)
        most = min(usable_workers(), room_for_workers(batch_bytes)) if on_card else 0
        count = most if workers is None else workers
        self._feed = Feed(pool, batch, Setting(workers=count, prefetch=PREFETCH, pin=on_card))
        weakref.finalize(self, self._feed.close)
        self._device, self._prepare, self._workers = device, prepare, count
        self._waited_s = 0.0
        self._bytes = batch_bytes
        self._since = time.perf_counter()

    def take(self) -> Pair:
        """The next batch; waits for the loader, then queues the copies."""
        start = time.perf_counter()
        inputs, targets = self._feed.take()
        self._waited_s += time.perf_counter() - start
        name = self._device.name
        return self._prepare(inputs.to(name, non_blocking=True)), targets.to(name, non_blocking=True)

    def mark(self) -> None:
        """Waits are counted from here."""
        self._waited_s, self._since = 0.0, time.perf_counter()

    def notes(self) -> dict[str, Fact]:
        """How it was fed, bytes copied per step, and the share of the time for which the step waited for its batch."""
        passed_s = max(time.perf_counter() - self._since, 1e-9)
        return {
            "loader_workers": self._workers,
            "copied_bytes": self._bytes,
            "loader_wait_fraction": round(min(1.0, self._waited_s / passed_s), 4),
        }
