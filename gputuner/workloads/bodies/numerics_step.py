# pyright: standard
"""A training's optimizer steps one by one, each with what it tells of its numbers. A friend of ``TrainingStep``."""

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from gputuner.workloads.bodies.body import Fact, Probe
from gputuner.workloads.bodies.training import TrainingStep


class ObservedStep:
    """Steps of ``training`` on batches of ``batch`` samples that are handed in."""

    def __init__(self, training: TrainingStep, batch: int) -> None:
        self._training = training
        training._batch = batch

    @property
    def model(self) -> nn.Module:
        """What is trained."""
        return self._training._model

    @property
    def autocast(self) -> bool:
        """Whether its forward pass is meant to run under autocast."""
        return self._training._precision in ("fp16", "bf16")

    def samples(self, count: int) -> "tuple[Any, Any]":
        """Inputs and targets of ``count`` samples on the device."""
        return self._training._samples(count)

    def facts(self) -> "dict[str, Fact]":
        """How it is trained."""
        return self._training._facts()

    def probe(self, left_s: float) -> "Probe | None":
        """A sample forward and back, where half precision may be very slow (see ``TrainingStep.probe``)."""
        return self._training.probe(left_s)

    def forward(self, batch: "tuple[Any, Any]") -> torch.Tensor:
        """The loss of a batch, in the training's number format."""
        return self._training._forward(*batch)

    def weights_finite(self) -> bool:
        """Whether all weights are numbers."""
        return _all_finite(self.model.parameters())

    def step(self, batch: "tuple[Any, Any]") -> "dict[str, Fact]":
        """One optimizer step; ``loss`` and ``grad_norm`` where they are numbers, and what the gradient scaler did.

        The norm is of the unscaled gradients of all weights.
        """
        optimizer, scaler = self._training._optimizer, self._training._scaler
        optimizer.zero_grad(set_to_none=True)
        loss = self.forward(batch)
        facts: dict[str, Fact] = {}
        if scaler is None:
            loss.backward()
            norm = _norm(self.model.parameters())
            optimizer.step()
        else:
            scaler.scale(loss).backward()
            before = scaler.get_scale()
            scaler.unscale_(optimizer)
            norm = _norm(self.model.parameters())
            scaler.step(optimizer)
            scaler.update()
            facts["scale"] = scaler.get_scale()
            facts["skipped"] = scaler.get_scale() < before
        value = float(loss.detach())
        facts["loss_finite"] = math.isfinite(value)
        if math.isfinite(value):
            facts["loss"] = value
        if math.isfinite(norm):
            facts["grad_norm"] = norm
        return facts


def _norm(weights: Iterable[torch.Tensor]) -> float:
    """Euclidean norm of all gradients together."""
    gradients = [weight.grad for weight in weights if weight.grad is not None]
    flat = [gradient.coalesce().values() if gradient.is_sparse else gradient for gradient in gradients]
    norms = [torch.linalg.vector_norm(gradient, dtype=torch.float32) for gradient in flat]
    return float(torch.linalg.vector_norm(torch.stack(norms))) if norms else 0.0


def _all_finite(weights: Iterable[torch.Tensor]) -> bool:
    numbers = [weight.detach() for weight in weights if weight.dtype.is_floating_point]
    return all(bool(torch.isfinite(weight).all()) for weight in numbers)
