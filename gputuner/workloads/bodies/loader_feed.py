# pyright: standard
"""A running DataLoader: its processes start with it, and end with it or with this process, whatever happens."""

import ctypes
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset, _utils

from gputuner.workloads.bodies.failures import UnsupportedError
from gputuner.workloads.bodies.loader_samples import Turns

SET_PARENT_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG (prctl(2))."""


def end_with(parent: int, _worker: int) -> None:
    """Have the kernel end this process as soon as its parent ends (Linux; elsewhere torch's own watch of the parent
    takes up to 5 s). The parent may be gone already."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


END_S = 0.5
"""A process of a loader that does not end by itself is ended after so long (torch: 5 s, one after the other)."""


def end_soon() -> None:
    """On an H200 eight loader processes took 43 s to end: none ended by itself once the card was in use."""
    name = "MP_STATUS_CHECK_INTERVAL"
    if hasattr(_utils, name):
        setattr(_utils, name, END_S)


@dataclass(frozen=True)
class Setting:
    """How a DataLoader is run. ``epoch``: batches after which it begins anew; None: it never does."""

    workers: int
    prefetch: int = 2
    pin: bool = False
    persistent: bool = True
    epoch: "int | None" = None


class Feed:
    """Batches of ``dataset`` in order of their places; a context manager that ends the processes.

    Raises:
        UnsupportedError: processes are asked for where none can be forked (a spawned one would not find this package).
    """

    def __init__(
        self, dataset: Dataset[Any], batch: int, setting: Setting, collate: "Callable[[Any], Any] | None" = None
    ) -> None:
        options: dict[str, Any] = {}
        if setting.workers:
            if "fork" not in multiprocessing.get_all_start_methods():
                raise UnsupportedError("loader processes need fork, which this system does not have")
            options = {
                "multiprocessing_context": "fork",
                "persistent_workers": setting.persistent,
                "prefetch_factor": setting.prefetch,
                "worker_init_fn": partial(end_with, os.getpid()),
            }
            end_soon()
        length = None if setting.epoch is None else setting.epoch * batch
        self._loader = DataLoader(
            dataset,
            batch_size=batch,
            sampler=Turns(length),
            num_workers=setting.workers,
            pin_memory=setting.pin,
            collate_fn=collate,
            **options,
        )
        self._batches: Iterator[Any] | None = None

    def start(self) -> float:
        """Begin (again); seconds until the first batch is there. The batch is dropped."""
        self.close()
        begun = time.perf_counter()
        self._batches = iter(self._loader)
        next(self._batches)
        return time.perf_counter() - begun

    def take(self) -> Any:
        """The next batch; begins by itself, and anew after the last one of an epoch."""
        if self._batches is None:
            self._batches = iter(self._loader)
        try:
            return next(self._batches)
        except StopIteration:
            self._batches = iter(self._loader)
            return next(self._batches)

    def close(self) -> None:
        """End the processes now rather than when the garbage is collected."""
        batches, self._batches = self._batches, None
        end = getattr(batches, "_shutdown_workers", None)
        if end is not None:
            end()
        self._loader._iterator = None

    def __enter__(self) -> "Feed":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def same_samples(found: torch.Tensor, expected: torch.Tensor) -> float:
    """Relative difference of two batches (Frobenius norm)."""
    return float((found.cpu().double() - expected.double()).norm() / expected.double().norm())
