# pyright: standard
"""Where batches come from: the loader or data set of the user's recipe, or made-up photographs; one ``DataLoader`` for
each setting.

A recipe's ``loader(batch_size, num_workers, …)`` is called with what it takes of ``PARAMETERS``; what its signature
gives as default is the user's setting today. What it makes is looked at: a loader that does not do as asked gives no
figure.
"""

import inspect
import multiprocessing
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import torch
from torch.utils.data import DataLoader, Dataset

from gputuner.workloads.bodies.failures import UnsupportedError
from gputuner.workloads.bodies.loader_feed import end_soon, end_with
from gputuner.workloads.bodies.loader_samples import (
    POOL,
    Files,
    Images,
    Turns,
    as_lists,
    best_decoder,
    encoded,
    pictures,
)
from gputuner.workloads.bodies.recipe import Recipe, RecipeError

PARAMETERS = ("batch_size", "num_workers", "prefetch_factor", "pin_memory", "persistent_workers")
PREFETCH = 2
"""Batches that each process has ready, torch's default."""
HANGS_S = 60.0
"""A batch that takes longer never comes."""
BUILT_IN_EPOCH = 1_281_167
"""Samples of an epoch of the made-up photographs: as many as ImageNet has."""
OWN, DATA_SET, PHOTOGRAPHS = "loader", "data_set", "photographs"


@dataclass(frozen=True)
class Wanted:
    """One setting of a loader. ``prefetch`` counts batches per process."""

    workers: int = 0
    prefetch: int = PREFETCH
    pin: bool = False
    persistent: bool = False


class Source(Protocol):
    """Makes loaders."""

    kind: str
    usual: Wanted
    """The setting that the user has today, else torch's defaults."""
    fixed: "tuple[str, ...]"
    """Names of ``PARAMETERS`` that it does not take."""

    def loader(self, batch: int, wanted: Wanted) -> "DataLoader[Any]":
        """A loader of that setting."""
        ...


def own(recipe: Recipe, reference: str) -> Source:
    """The source of a recipe.

    Raises:
        RecipeError: it has none.
    """
    if recipe.loader is not None:
        return OwnLoader(recipe.loader, reference)
    if recipe.data_set is not None:
        return OwnDataSet(recipe.data_set, recipe.collate)
    raise RecipeError(
        f"{reference} gives neither loader(batch_size, num_workers, …) nor data_set: add one to have loading measured"
    )


class OwnLoader:
    """The recipe's function that makes loaders."""

    kind = OWN

    def __init__(self, make: "Callable[..., Any]", reference: str) -> None:
        self._make, self._reference = make, reference
        named = _parameters(make)
        self.fixed = tuple(name for name in PARAMETERS if named is not None and name not in named)
        if "num_workers" in self.fixed or "batch_size" in self.fixed:
            raise RecipeError(f"loader of {reference} takes no batch_size or no num_workers")
        self.usual = _usual(named or {})

    def loader(self, batch: int, wanted: Wanted) -> "DataLoader[Any]":
        """A loader of that setting.

        Raises:
            RecipeError: it is none, or of another setting.
        """
        asked = _arguments(batch, wanted)
        made = self._make(**{name: value for name, value in asked.items() if name not in self.fixed})
        if not isinstance(made, DataLoader):
            raise RecipeError(f"loader of {self._reference} gives a {type(made).__name__}, no DataLoader")
        for name in ("num_workers", "pin_memory", "persistent_workers", "prefetch_factor"):
            found = getattr(made, name)
            if name not in self.fixed and found != asked[name]:
                raise RecipeError(f"loader of {self._reference} was asked for {name}={asked[name]} and gave {found}")
        return supervised(made)


class OwnDataSet:
    """The recipe's data set, in a loader as people write it."""

    kind = DATA_SET
    usual = Wanted()
    fixed: "tuple[str, ...]" = ()

    def __init__(self, data_set: Any, collate: "Callable[[Any], Any] | None") -> None:
        self._data_set, self._collate = data_set, collate
        self._shuffled = not isinstance(data_set, torch.utils.data.IterableDataset)

    def loader(self, batch: int, wanted: Wanted) -> "DataLoader[Any]":
        """A loader of that setting; it shuffles a data set that has a length."""
        made: DataLoader[Any] = DataLoader(
            self._data_set, shuffle=self._shuffled or None, collate_fn=self._collate, **_arguments(batch, wanted)
        )
        return supervised(made)


class Photographs:
    """Made-up photographs of ImageNet's size, decoded, cut and scaled as for an image classifier.

    Args:
        image: side of a finished sample, in pixels.
        seed: of the images.
        classes: of the labels.
    """

    kind = PHOTOGRAPHS
    usual = Wanted()
    fixed: "tuple[str, ...]" = ()

    def __init__(self, image: int, seed: int, classes: int) -> None:
        self.decoder = best_decoder()
        self.kept = [encoded(picture, self.decoder) for picture in pictures(seed)]
        self._images = Images(self.kept, self.decoder, image)
        self._labelled = _Labelled(self._images, classes)
        self._expected: dict[int, torch.Tensor] = {}

    def loader(self, batch: int, wanted: Wanted) -> "DataLoader[Any]":
        """A loader of that setting."""
        return self._made(self._labelled, batch, wanted, None)

    def expected(self, batch: int) -> torch.Tensor:
        """The first batch's images, made here: FP32 [batch, 3, image, image]."""
        if batch not in self._expected:
            self._expected = {batch: torch.stack([self._images[place][0] for place in range(batch)])}
        return self._expected[batch]

    def files(self, batch: int, wanted: Wanted) -> "DataLoader[Any]":
        """A loader that hands out files to be decoded elsewhere, with their places."""
        return self._made(Files(self.kept), batch, wanted, as_lists)

    def _made(
        self, data_set: "Dataset[Any]", batch: int, wanted: Wanted, collate: "Callable[[Any], Any] | None"
    ) -> "DataLoader[Any]":
        if wanted.workers and "fork" not in multiprocessing.get_all_start_methods():
            raise UnsupportedError("loader processes need fork, which this system does not have")
        made: DataLoader[Any] = DataLoader(
            data_set,
            sampler=Turns(BUILT_IN_EPOCH),
            collate_fn=collate,
            multiprocessing_context="fork" if wanted.workers else None,
            **_arguments(batch, wanted),
        )
        return supervised(made)


class _Labelled(Dataset[Any]):
    """Samples whose target is a class instead of their place."""

    def __init__(self, images: Images, classes: int) -> None:
        self._images, self._classes = images, classes

    def __getitem__(self, place: int) -> "tuple[torch.Tensor, int]":
        return self._images[place][0], place % self._classes

    def __len__(self) -> int:
        return POOL


def _arguments(batch: int, wanted: Wanted) -> "dict[str, Any]":
    """As torch takes them: without processes there is nothing to prefetch or to keep."""
    there = wanted.workers > 0
    return {
        "batch_size": batch,
        "num_workers": wanted.workers,
        "prefetch_factor": wanted.prefetch if there else None,
        "pin_memory": wanted.pin,
        "persistent_workers": wanted.persistent and there,
    }


def _parameters(make: "Callable[..., Any]") -> "Mapping[str, Any] | None":
    """What it takes by name, with its default (None: it has none); None if it takes everything."""
    parameters = inspect.signature(make).parameters.values()
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        return None
    return {
        each.name: None if each.default is each.empty else each.default
        for each in parameters
        if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
    }


def _usual(named: "Mapping[str, Any]") -> Wanted:
    """The setting that the defaults of a function say."""
    usual = Wanted()
    workers, prefetch = named.get("num_workers"), named.get("prefetch_factor")
    if isinstance(workers, int) and workers >= 0:
        usual = replace(usual, workers=int(workers))
    if isinstance(prefetch, int) and prefetch > 0:
        usual = replace(usual, prefetch=prefetch)
    return replace(usual, pin=named.get("pin_memory") is True, persistent=named.get("persistent_workers") is True)


def supervised(loader: "DataLoader[Any]") -> "DataLoader[Any]":
    """The same loader, whose forked processes end with this one whatever happens, and that does not wait for ever.

    A process that was forked while another thread held a lock may never give a batch.
    """
    end_soon()
    if loader.num_workers and not loader.timeout:
        loader.timeout = HANGS_S
    context = loader.multiprocessing_context or multiprocessing
    if loader.num_workers and context.get_start_method() == "fork":
        loader.worker_init_fn = partial(_begin, os.getpid(), loader.worker_init_fn)
    return loader


def _begin(parent: int, further: "Callable[[int], None] | None", worker: int) -> None:
    end_with(parent, worker)
    if further is not None:
        further(worker)
