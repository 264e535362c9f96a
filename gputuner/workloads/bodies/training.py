# pyright: standard
"""A training step as people write it: zero, forward under autocast, loss, backward, optimizer step."""

import math
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from gputuner.workloads.bodies import precision as precisions
from gputuner.workloads.bodies.body import Fact, Probe
from gputuner.workloads.bodies.device import Device

LossFunction = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

MOMENTUM = 0.9
WEIGHT_DECAY = 1e-4
REPEAT_FROM, REPEAT_UP_TO = 0.1, 0.25
"""The first probe step includes set-up. It is repeated if the verdict is not clear without, and a repeat is cheap: as
shares of the time left, one real iteration from the first on, one probe step up to the second."""


class TrainingStep:
    """SGD with momentum, FP32 weights, the forward pass in the precision asked for, a gradient scaler for FP16."""

    def __init__(self, device: Device, *, batch: int, precision: str, channels_last: bool, autotune: bool) -> None:
        precisions.check(device, precision)
        precisions.switch_tf32(precision != "fp32" and device.tf32_native)
        torch.backends.cudnn.benchmark = autotune
        self._device = device
        self._batch = batch
        self._precision = precision
        self._channels_last = channels_last
        self.work = {"samples": float(batch)}
        self._queued = 0
        self._stepped = 0
        self._queued_before = 0
        self._stepped_before = 0
        self._losses: list[torch.Tensor] = []

    def build(
        self, model: nn.Module, inputs: torch.Tensor, targets: torch.Tensor, loss: LossFunction, rate: float
    ) -> None:
        """Take the model and its one batch (both on the device)."""
        layout = torch.channels_last if self._channels_last else torch.contiguous_format
        self._model = model.train()
        if self._channels_last:
            self._model = self._model.to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]
        self._inputs = inputs.contiguous(memory_format=layout)
        self._targets = targets
        self._loss = loss
        self._optimizer = torch.optim.SGD(
            self._model.parameters(), lr=rate, momentum=MOMENTUM, weight_decay=WEIGHT_DECAY
        )
        self._optimizer.register_step_post_hook(self._count_step)
        self._scaler = torch.amp.GradScaler(self._device.name) if self._precision == "fp16" else None

    def _count_step(self, *_: Any) -> None:
        self._stepped += 1

    def _forward(self, inputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        with precisions.autocast(self._device, self._precision):
            return self._loss(self._model(inputs), targets)

    def probe(self, left_s: float) -> Probe | None:
        """One sample forward and back, on processors in half precision (FP16 may take 1000 × as long as FP32 there).

        No optimizer step: the weights that are trained later stay as they are.
        """
        if self._device.name != "cpu" or self._precision not in ("fp16", "bf16") or self._batch == 1:
            return None
        one = (self._inputs[:1], self._targets[:1])
        seconds = self._probe_s(*one)
        if seconds * self._batch > REPEAT_FROM * left_s and seconds < REPEAT_UP_TO * left_s:
            seconds = self._probe_s(*one)
        return Probe(
            seconds=seconds,
            work={"samples": 1.0},
            expected_s=seconds * self._batch,
            notes={"measured_batch": 1, **self._facts()},
        )

    def _probe_s(self, inputs: torch.Tensor, targets: torch.Tensor) -> float:
        start = time.perf_counter()
        self._forward(inputs, targets).backward()
        seconds = time.perf_counter() - start
        self._optimizer.zero_grad(set_to_none=True)
        return seconds

    def iterate(self) -> None:
        """Queue one training step."""
        self._optimizer.zero_grad(set_to_none=True)
        loss = self._forward(self._inputs, self._targets)
        if self._scaler is None:
            loss.backward()
            self._optimizer.step()
        else:
            self._scaler.scale(loss).backward()
            self._scaler.step(self._optimizer)
            self._scaler.update()
        self._queued += 1
        self._losses[1:] = [loss.detach()]

    def mark(self) -> None:
        """Skipped steps are counted from here."""
        self._queued_before, self._stepped_before = self._queued, self._stepped

    def relative_error(self) -> float | None:
        """Not defined for a training step; whether the loss is a number stands in the notes."""
        return None

    def _facts(self) -> dict[str, Fact]:
        return {
            "channels_last": self._channels_last,
            "emulated": precisions.emulated(self._device, self._precision),
            "optimizer": "sgd_momentum",
            "autotune": torch.backends.cudnn.benchmark,
        }

    def notes(self) -> dict[str, Fact]:
        """How it was trained, losses of the first and the last step, and steps the scaler skipped while measured."""
        losses = [float(loss) for loss in self._losses]
        facts: dict[str, Fact] = {**self._facts(), "loss_finite": all(map(math.isfinite, losses))}
        if facts["loss_finite"] and losses:
            facts["first_loss"], facts["last_loss"] = losses[0], losses[-1]
        if self._scaler is not None:
            queued = self._queued - self._queued_before
            facts["skipped_steps"] = queued - (self._stepped - self._stepped_before)
            facts["loss_scale"] = self._scaler.get_scale()
        return facts
