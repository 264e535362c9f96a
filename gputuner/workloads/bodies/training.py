# pyright: standard
"""A training step as people write it: zero, forward under autocast, loss, backward, optimizer step."""

import math
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from gputuner.workloads.bodies import failures
from gputuner.workloads.bodies import precision as precisions
from gputuner.workloads.bodies.body import Fact, Probe
from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.training_feed import Resident, Source
from gputuner.workloads.bodies.training_optimizer import make_optimizer, steps_taken

LossFunction = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

REPEAT_FROM, REPEAT_UP_TO = 0.1, 0.25
"""The first probe step includes set-up. It is repeated if the verdict is not clear without, and a repeat is cheap: as
shares of the time left, one real iteration from the first on, one probe step up to the second."""
LAST_BATCH_THIRDS = 2
"""A last batch of an epoch that is two thirds full needs blocks of sizes that none of the cached ones has."""
MORE_SAMPLES = 8
"""Where one sample suggests that a step takes too long, so many are tried too: a step has a part that does not grow."""
NOT_OF_THE_COMPILER = {failures.OUT_OF_MEMORY, failures.STICKY}
"""Kinds of errors in a first compiled step that say nothing about the compiler."""


class TrainingStep:
    """FP32 weights, the forward pass in the precision asked for, a gradient scaler for FP16.

    Args:
        device: where it runs.
        batch: samples per step.
        precision: ``fp32``, ``tf32``, ``fp16`` (with a gradient scaler) or ``bf16``.
        channels_last: layout of images; only for models that take images.
        autotune: cuDNN's autotuner.
        compile: ``torch.compile`` the model. It compiles in the first step, which is not timed.
        tokens: per sample, for models of language; 0: none.
    """

    def __init__(
        self,
        device: Device,
        *,
        batch: int,
        precision: str,
        channels_last: bool = False,
        autotune: bool = False,
        compile: bool = False,
        tokens: int = 0,
    ) -> None:
        precisions.check(device, precision)
        precisions.switch_tf32(precision != "fp32" and device.tf32_native)
        torch.backends.cudnn.benchmark = autotune
        self._device = device
        self._batch = batch
        self._precision = precision
        self._channels_last = channels_last
        self._compile = compile
        self.work = {"samples": float(batch), **({"tokens": float(batch * tokens)} if tokens else {})}
        self._queued = 0
        self._stepped = 0
        self._queued_before = 0
        self._stepped_before = 0
        self._losses: list[torch.Tensor] = []

    def build(
        self,
        model: nn.Module,
        source: Source | tuple[torch.Tensor, torch.Tensor],
        loss: LossFunction,
        *,
        rate: float = 0.0,
        optimizer: "str | torch.optim.Optimizer" = "sgd_momentum",
        flop_per_sample: float | None = None,
    ) -> None:
        """Take the model (on the device) and where its batches come from.

        Args:
            model: trained in place; parameters that need no gradient stay as they are.
            source: a pair of inputs and targets on the device, trained on over and over, or what feeds new ones.
            loss: of outputs and targets.
            rate: learning rate of an optimizer that is named.
            optimizer: a key of ``training_optimizer.OPTIMIZERS``, or one over the model's parameters.
            flop_per_sample: operations that the model needs for one training sample (forward and backward).
        """
        self._model = model.train()
        if self._channels_last:
            self._model = self._model.to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]
        self._source = source if not isinstance(source, tuple) else Resident(*source)
        self._loss = loss
        trained = [parameter for parameter in self._model.parameters() if parameter.requires_grad]
        self._parameters = sum(parameter.numel() for parameter in self._model.parameters())
        self._flop_per_sample = flop_per_sample
        named = isinstance(optimizer, str)
        self._optimizer_name = optimizer if named else type(optimizer).__name__
        self._optimizer = make_optimizer(optimizer, trained, rate) if named else optimizer
        self._optimizer.register_step_post_hook(self._count_step)
        self._scaler = torch.amp.GradScaler(self._device.name) if self._precision == "fp16" else None
        self._run: Callable[[torch.Tensor], torch.Tensor] = self._model

    def _count_step(self, *_: Any) -> None:
        self._stepped += 1

    def _taken(self) -> int:
        """Optimizer steps that changed the weights."""
        counted = steps_taken(self._optimizer)
        return self._stepped if counted is None else counted

    def _laid_out(self, inputs: torch.Tensor) -> torch.Tensor:
        return inputs.contiguous(memory_format=torch.channels_last) if self._channels_last else inputs

    def _forward(self, inputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        with precisions.autocast(self._device, self._precision):
            return self._loss(self._run(self._laid_out(inputs)), targets)

    def probe(self, left_s: float) -> Probe | None:
        """A sample forward and back, on processors in half precision (FP16 may take 1000 × as long as FP32 there).

        No optimizer step: the weights that are trained later stay as they are.
        """
        fewest = self._fewest()
        if self._device.name != "cpu" or self._precision not in ("fp16", "bf16") or self._batch <= fewest:
            return None
        few, share = self._samples(fewest), self._batch / fewest
        seconds = self._probe_s(*few)
        if seconds * share > REPEAT_FROM * left_s and seconds < REPEAT_UP_TO * left_s:
            seconds = self._probe_s(*few)
        expected_s = seconds * share
        more = self._batch > MORE_SAMPLES and seconds * MORE_SAMPLES / fewest < REPEAT_UP_TO * left_s
        if expected_s > left_s and more:
            more_s = self._probe_s(*self._samples(MORE_SAMPLES))
            expected_s = seconds + max(0.0, more_s - seconds) / (MORE_SAMPLES - fewest) * (self._batch - fewest)
        return Probe(
            seconds=seconds,
            work={name: amount / share for name, amount in self.work.items()},
            expected_s=expected_s,
            notes={"measured_batch": fewest, **self._facts()},
        )

    def _fewest(self) -> int:
        """Samples that can be trained on at once at least."""
        return 1

    def _samples(self, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        inputs, targets = self._source.take()
        return inputs[:count], targets[:count]

    def _probe_s(self, inputs: torch.Tensor, targets: torch.Tensor) -> float:
        start = time.perf_counter()
        self._forward(inputs, targets).backward()
        seconds = time.perf_counter() - start
        self._optimizer.zero_grad(set_to_none=True)
        return seconds

    def iterate(self) -> None:
        """Queue one training step.

        Raises:
            UnsupportedError: ``torch.compile`` fails here.
        """
        if not self._compile or self._queued:
            self._step()
            return
        try:
            self._run = torch.compile(self._model)
            self._step()
        except Exception as err:
            if failures.classify(err, self._device.free_bytes()) in NOT_OF_THE_COMPILER:
                raise
            raise failures.UnsupportedError(f"torch.compile failed: {failures.described(err)[0]}") from err

    def soak(self) -> str:
        """An evaluation pass, and a training step with a last, smaller batch: each needs memory of its own."""
        self._model.eval()
        with torch.no_grad():
            self._forward(*self._source.take())
        self._model.train()
        self._train(*self._samples(max(1, self._batch * LAST_BATCH_THIRDS // 3)))
        return "evaluation partial_batch"

    def _step(self) -> None:
        self._train(*self._source.take())

    def _train(self, inputs: torch.Tensor, targets: torch.Tensor) -> None:
        self._optimizer.zero_grad(set_to_none=True)
        loss = self._forward(inputs, targets)
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
        """Skipped steps, and waits for data, are counted from here."""
        self._queued_before, self._stepped_before = self._queued, self._taken()
        self._source.mark()

    def relative_error(self) -> float | None:
        """Not defined for a training step; whether the loss is a number stands in the notes."""
        return None

    def _facts(self) -> dict[str, Fact]:
        facts: dict[str, Fact] = {
            "channels_last": self._channels_last,
            "emulated": precisions.emulated(self._device, self._precision),
            "optimizer": self._optimizer_name,
            "autotune": torch.backends.cudnn.benchmark,
            "parameters": self._parameters,
        }
        if self._compile:
            facts["compile"] = True
        if self._flop_per_sample is not None:
            facts["model_flop_per_sample"] = self._flop_per_sample
        return facts

    def notes(self) -> dict[str, Fact]:
        """How it was trained, losses of the first and the last step, and steps the scaler skipped while measured."""
        losses = [float(loss) for loss in self._losses]
        facts: dict[str, Fact] = {**self._facts(), **self._source.notes()}
        facts["loss_finite"] = all(map(math.isfinite, losses))
        if facts["loss_finite"] and losses:
            facts["first_loss"], facts["last_loss"] = losses[0], losses[-1]
        if self._scaler is not None:
            queued = self._queued - self._queued_before
            facts["skipped_steps"] = queued - (self._taken() - self._stepped_before)
            facts["loss_scale"] = self._scaler.get_scale()
        return facts
