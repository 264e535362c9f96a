# pyright: standard
"""Photographs decoded on the card: files from a loader's processes to torchvision (nvJPEG), or by DALI."""

from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

import torch

from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.failures import UnsupportedError
from gputuner.workloads.bodies.loader_card import dali_batches, decode_on_card
from gputuner.workloads.bodies.loader_samples import TORCHVISION
from gputuner.workloads.bodies.recipe_loading_run import Batches
from gputuner.workloads.bodies.recipe_loading_source import Photographs, Source, Wanted
from gputuner.workloads.bodies.resnet50 import CLASSES

TORCHVISION_CARD, DALI_CARD = "torchvision_card", "dali_card"


class OnCard:
    """Batches of files, and what makes images of them on the card."""

    def __init__(self, batches: Batches, image: int) -> None:
        self._batches, self._image = batches, image

    def finish(self, batch: Any) -> "tuple[torch.Tensor, torch.Tensor]":
        """Images and classes."""
        files, places = batch
        return decode_on_card(files, places, self._image), places % CLASSES

    def __enter__(self) -> Batches:
        return self._batches

    def __exit__(
        self, kind: "type[BaseException] | None", err: "BaseException | None", trace: "TracebackType | None"
    ) -> None:
        self._batches.close()


class _Endless:
    """What looks like a loader without processes and gives what a function gives, without end."""

    num_workers, prefetch_factor = 0, None

    def __init__(self, take: "Callable[[], Any]") -> None:
        self._take, self._iterator = take, None

    def __iter__(self) -> "Iterator[Any]":
        return iter(self._take, None)


class ByDali(OnCard):
    """Images that DALI's pipeline has made on the card."""

    def finish(self, batch: Any) -> "tuple[torch.Tensor, torch.Tensor]":
        """Images and classes, which are here already."""
        return batch


def decoding(name: str, source: Source, device: Device, batch: int, image: int, wanted: Wanted, seed: int) -> OnCard:
    """What decodes on the card.

    Raises:
        UnsupportedError: not of this source, or not on this device.
    """
    if not isinstance(source, Photographs) or source.decoder != TORCHVISION or device.name == "cpu":
        raise UnsupportedError("JPEG files are decoded on a card only, by torchvision or DALI")
    if name == TORCHVISION_CARD:
        return OnCard(Batches(source.files(batch, wanted), batch), image)
    run = dali_batches(source.kept, batch, image, max(1, wanted.workers), seed)

    def take() -> "tuple[torch.Tensor, torch.Tensor]":
        (made,) = run()
        images = torch.from_dlpack(made.as_tensor()).clone()  # the next run writes over its own
        return images, torch.zeros(len(images), dtype=torch.long, device=images.device)

    return ByDali(Batches(_Endless(take), batch), image)  # pyright: ignore[reportArgumentType]
