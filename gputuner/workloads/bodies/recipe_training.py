# pyright: standard
"""Training steps of the user's own recipe, as any other training's: same precisions, same scaler, same counting."""

from typing import Any

import torch
from torch.nn.modules.batchnorm import _BatchNorm  # pyright: ignore[reportPrivateUsage]

from gputuner.workloads.bodies.body import Fact
from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.precision import autocast, tf32_allowed
from gputuner.workloads.bodies.recipe import Recipe, RecipeError, load, mapped, optimizer_of, tensors
from gputuner.workloads.bodies.switches import Switches
from gputuner.workloads.bodies.training import TrainingStep
from gputuner.workloads.bodies.training_switches import attention_of

HALF = {torch.float16: "fp16", torch.bfloat16: "bf16"}
COMPARED_UP_TO = 8
"""Up to this size a second batch is made, to see whether samples differ in length; larger ones take long to make."""


class _Batches:
    """One batch that lies on the device, trained on over and over."""

    def __init__(self, batch: Any) -> None:
        self._batch = batch
        self._bytes = sum(tensor.nbytes for tensor in tensors(batch))

    def take(self) -> "tuple[Any, Any]":
        return self._batch, None

    def mark(self) -> None:
        """Nothing is counted."""

    def notes(self) -> "dict[str, Fact]":
        return {"batch_bytes": self._bytes}


class RecipeTraining(TrainingStep):
    """Training steps of a recipe at one batch size.

    Args:
        device: where it runs.
        recipe: ``FILE.py:function`` or ``module:function``.
        folder: what relative paths and modules are looked for in.
        batch: samples per step.
        precision: as of any training.
        seed: of torch, before the recipe makes anything.
        channels_last: layout of tensors with four dimensions and of the model's filters.
        switches: what else is switched on, by the names of ``Switches``.
    """

    def __init__(
        self,
        device: Device,
        *,
        recipe: str,
        folder: str,
        batch: int,
        precision: str,
        seed: int,
        channels_last: bool = False,
        **switches: Any,
    ) -> None:
        super().__init__(
            device, batch=batch, precision=precision, channels_last=channels_last, switches=Switches(**switches)
        )
        torch.manual_seed(seed)
        asked = _process(device)
        self._recipe: Recipe = load(recipe, folder)
        self._told: dict[str, Fact] = {}
        model = self._recipe.model.to(device.name)
        batches, optimizer = _Batches(self._made(batch)), optimizer_of(self._recipe)
        otherwise = [name for name, value in _process(device).items() if value != asked[name]]
        if otherwise:
            self._told["recipe_sets"] = " ".join(otherwise)
        self._set_process()  # a rate in FP32 stays one in FP32, whatever the recipe's own code switches
        self.build(model, batches, _no_loss, optimizer=optimizer)

    def _made(self, count: int) -> Any:
        """A batch of ``count`` samples on the device, laid out as asked for."""
        made = self._recipe.batch(count)
        found = tensors(made)
        self._told = {**_shape(found, count), **self._told}
        if count <= COMPARED_UP_TO:
            again = tensors(self._recipe.batch(count))
            varied = [tensor.shape for tensor in found] != [tensor.shape for tensor in again]
            self._told["shapes_vary"] = varied or self._told.get("shapes_vary") is True
        if not found:
            raise RecipeError("batch(n) of the recipe gives no tensor")
        sizes = {len(tensor) for tensor in found if tensor.dim()}
        if count not in sizes:
            raise RecipeError(f"batch({count}) of the recipe gives {sorted(sizes)} samples")
        return mapped(made, lambda tensor: self._placed(tensor))

    def _placed(self, tensor: torch.Tensor) -> torch.Tensor:
        moved = tensor.to(self._device.name)
        return self._laid_out(moved) if moved.dim() == 4 else moved

    def _forward(self, inputs: Any, targets: Any) -> torch.Tensor:
        with autocast(self._device, self._precision), attention_of(self._switches.sdpa):
            return self._recipe.loss(self._run, inputs)

    def _has_batch_norm(self) -> bool:
        return any(isinstance(module, _BatchNorm) for module in self._model.modules())

    def _fewest(self) -> int:
        return 2 if self._has_batch_norm() else 1

    def _facts(self) -> "dict[str, Fact]":
        facts: dict[str, Fact] = {**super()._facts(), **self._told, "batch_norm": self._has_batch_norm()}
        if torch.are_deterministic_algorithms_enabled() or torch.backends.cudnn.deterministic:
            facts["deterministic"] = True  # the recipe's own: no trial says anything of it, so it stays
        kinds = {parameter.dtype for parameter in self._recipe.model.parameters() if parameter.is_floating_point()}
        if len(kinds) == 1 and (half := HALF.get(next(iter(kinds)))):
            facts["half_weights"] = half
        if self._recipe.unknown:
            facts["recipe_unknown"] = ", ".join(self._recipe.unknown)
        if self._recipe.digest:
            facts["recipe_sha256"] = self._recipe.digest
        if self._recipe.samples is not None:
            facts["data_set_samples"] = self._recipe.samples
        return facts

    def _samples(self, count: int) -> "tuple[Any, Any]":
        return self._made(count), None


def _process(device: Device) -> "dict[str, bool]":
    """What a trial sets for the whole process, as it is now."""
    told = {f"tf32_{operation}": allowed for operation, allowed in tf32_allowed().items()}
    told["cudnn_benchmark"] = torch.backends.cudnn.benchmark
    if device.name != "cpu" and hasattr(torch.backends.cuda.matmul, "allow_fp16_accumulation"):
        matmul: Any = torch.backends.cuda.matmul
        told["fp16_accumulation"] = bool(matmul.allow_fp16_accumulation)
    return told


def _shape(found: "list[torch.Tensor]", count: int) -> "dict[str, Fact]":
    """The shape of one sample in the largest tensor of a batch, as ``3x224x224``."""
    whole = [tensor for tensor in found if tensor.dim() > 1 and len(tensor) == count]
    if not whole:
        return {}
    return {"sample_shape": "x".join(map(str, max(whole, key=torch.numel).shape[1:]))}


def _no_loss(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    raise AssertionError("a recipe has its own loss")
