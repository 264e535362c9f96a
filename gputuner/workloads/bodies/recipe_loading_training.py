# pyright: standard
"""A training that takes its batches from outside, one for each step: the user's recipe, or the built-in ResNet-50."""

from typing import Any

import torch

from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.recipe import mapped
from gputuner.workloads.bodies.recipe_loading_source import Photographs, Source, own
from gputuner.workloads.bodies.recipe_training import RecipeTraining
from gputuner.workloads.bodies.resnet50 import CLASSES, ResNet50Training


class _Handed:
    """The batch that was handed over last."""

    def __init__(self) -> None:
        self.pair: tuple[Any, Any] = (None, None)

    def take(self) -> "tuple[Any, Any]":
        return self.pair

    def mark(self) -> None:
        """Nothing is counted."""

    def notes(self) -> "dict[str, Any]":
        return {}


class _FedRecipe(RecipeTraining):
    """The recipe's training steps on batches from outside."""

    def take_from(self, source: _Handed) -> None:
        self._source = source

    def source(self, reference: str) -> Source:
        return own(self._recipe, reference)

    def laid_out(self, tensor: torch.Tensor) -> torch.Tensor:
        return self._laid_out(tensor) if tensor.dim() == 4 else tensor


class _FedResNet50(ResNet50Training):
    """ResNet-50's training steps on batches from outside."""

    def take_from(self, source: _Handed) -> None:
        self._source = source

    def laid_out(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor  # the step does it


class Fed:
    """One training, a step for each batch that is handed over."""

    def __init__(self, training: "_FedRecipe | _FedResNet50", device: Device, *, pairs: bool) -> None:
        """``pairs``: a batch is inputs and targets, else a whole for the recipe's loss."""
        self._training, self._device, self._pairs = training, device, pairs
        self._handed = _Handed()
        training.take_from(self._handed)

    def placed(self, batch: Any, pinned: bool) -> Any:
        """The batch on the device; from pinned memory the copy is queued."""
        name = self._device.name
        return mapped(batch, lambda tensor: self._training.laid_out(tensor.to(name, non_blocking=pinned)))

    def step(self, batch: Any) -> None:
        """Queue a training step on a batch that is on the device."""
        self._handed.pair = (batch[0], batch[1]) if self._pairs else (batch, None)
        self._training.iterate()

    def notes(self) -> "dict[str, Any]":
        """How it was trained."""
        return self._training.notes()


def fed(
    device: Device,
    *,
    seed: int,
    batch: int,
    precision: str,
    channels_last: bool,
    recipe: str,
    folder: str,
    image: int,
) -> "tuple[Fed, Source]":
    """A training and where its batches come from."""
    options: dict[str, Any] = {
        "batch": batch, "precision": precision, "seed": seed, "channels_last": channels_last,
    }  # fmt: skip
    if recipe:
        training = _FedRecipe(device, recipe=recipe, folder=folder, **options)
        return Fed(training, device, pairs=False), training.source(recipe.replace("\\", "/").rpartition("/")[2])
    built_in = _FedResNet50(device, image=image, **options)
    return Fed(built_in, device, pairs=True), Photographs(image, seed, CLASSES)
