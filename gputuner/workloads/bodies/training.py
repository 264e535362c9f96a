# pyright: standard
"""A training step as people write it: zero, forward under autocast, loss, backward, optimizer step."""

import math
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from gputuner.workloads.bodies import precision as precisions
from gputuner.workloads.bodies import training_checkpoints as checkpoints
from gputuner.workloads.bodies import training_switches as switching
from gputuner.workloads.bodies.body import Fact, Probe
from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.failures import UnsupportedError
from gputuner.workloads.bodies.switches import AS_IS, Switches
from gputuner.workloads.bodies.training_feed import Resident, Source
from gputuner.workloads.bodies.training_graph import GraphedStep, make_capturable
from gputuner.workloads.bodies.training_optimizer import make_optimizer, steps_taken

LossFunction = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

REPEAT_FROM, REPEAT_UP_TO = 0.1, 0.25
"""The first probe step includes set-up. It is repeated if the verdict is not clear without, and a repeat is cheap: as
shares of the time left, one real iteration from the first on, one probe step up to the second."""
LAST_BATCH_THIRDS = 2
"""A last batch of an epoch that is two thirds full needs blocks of sizes that none of the cached ones has."""
FEW = 2
"""Samples that a switch is tried out on: batch norm needs two."""
MORE_SAMPLES = 8
"""Where one sample suggests that a step takes too long, so many are tried too: a step has a part that does not grow."""


class TrainingStep:
    """FP32 weights, the forward pass in the precision asked for, a gradient scaler for FP16.

    Args:
        device: where it runs.
        batch: samples per step.
        precision: ``fp32``, ``tf32``, ``fp16`` (with a gradient scaler) or ``bf16``.
        channels_last: layout of images; only for models that take images.
        switches: what else is switched on.
        tokens: per sample, for models of language; 0: none.
    """

    def __init__(
        self,
        device: Device,
        *,
        batch: int,
        precision: str,
        channels_last: bool = False,
        switches: Switches = AS_IS,
        tokens: int = 0,
    ) -> None:
        precisions.check(device, precision)
        self._device = device
        self._batch = batch
        self._precision = precision
        self._channels_last = channels_last
        self._switches = switches
        self._set_process()
        self.work = {"samples": float(batch), **({"tokens": float(batch * tokens)} if tokens else {})}
        self._accumulate = 1
        self._queued = 0
        self._stepped = 0
        self._queued_before = 0
        self._stepped_before = 0
        self._losses: list[torch.Tensor] = []

    def _set_process(self) -> None:
        """Set for the whole process what this trial says, whatever was set before."""
        precisions.switch_tf32(self._precision != "fp32" and self._device.tf32_native)
        switching.apply(self._device, self._precision, self._switches)

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
        if self._switches.optimizer_kind:
            self._optimizer = switching.with_kind(self._optimizer, self._switches.optimizer_kind)
        if self._switches.cuda_graph:
            make_capturable(self._optimizer)
        self._optimizer.register_step_post_hook(self._count_step)
        self._scaler = torch.amp.GradScaler(self._device.name) if self._precision == "fp16" else None
        self._run: Callable[[torch.Tensor], torch.Tensor] = self._model
        self._graph: GraphedStep | None = None
        if self._switches.checkpointing and not self._checkpoints_itself:
            self._checkpoint()

    _checkpoints_itself = False
    """Whether the model has its own gradient checkpointing, which is on already."""

    def _checkpoint(self) -> None:
        few = self._samples(min(self._batch, FEW))
        compiled = self._switches.compile

        def turn_on() -> str:
            return checkpoints.enable(self._model, compiled=compiled)

        checkpoints.check(self._model, lambda: self._forward(*few), turn_on)

    def accumulate_over(self, count: int) -> None:
        """Take ``count`` batches for each optimizer step, each with a forward and a backward pass.

        Raises:
            UnsupportedError: the step is to be one CUDA graph.
        """
        if self._switches.cuda_graph:
            raise UnsupportedError("steps over several batches are not captured in a CUDA graph")
        self.work = {name: amount * count / self._accumulate for name, amount in self.work.items()}
        self._accumulate = count

    def _count_step(self, *_: Any) -> None:
        self._stepped += 1

    def _taken(self) -> int:
        """Optimizer steps that changed the weights."""
        counted = steps_taken(self._optimizer)
        return self._stepped if counted is None else counted

    def _laid_out(self, inputs: torch.Tensor) -> torch.Tensor:
        return inputs.contiguous(memory_format=torch.channels_last) if self._channels_last else inputs

    def _forward(self, inputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        with precisions.autocast(self._device, self._precision), switching.attention_of(self._switches.sdpa):
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
            work={name: amount / share / self._accumulate for name, amount in self.work.items()},
            expected_s=expected_s * self._accumulate,
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
        """Queue one training step; the first one also compiles and captures where that is switched on.

        Raises:
            UnsupportedError: what is switched on cannot be done here.
        """
        if self._queued:
            self._step()
            return
        with switching.blamed_on(f"attention has no {self._switches.sdpa} backend here", switching.NO_KERNEL):
            if self._switches.sdpa:
                few = self._samples(min(self._batch, FEW))
                switching.check_attention(lambda: self._forward(*few))
            self._begin()

    def _begin(self) -> None:
        if self._switches.compile:
            with switching.blamed_on("torch.compile failed"):
                switching.compile_while(self._model, self._step)
        else:
            self._step()
        if self._switches.cuda_graph:
            if not isinstance(self._source, Resident) and self._source.notes().get("loader_workers") is not None:
                raise UnsupportedError("a CUDA graph needs its batch in one place; a loader feeds this one")
            self._optimizer.zero_grad(set_to_none=True)
            self._graph = GraphedStep(self._step, self._captured, self._after_replay)

    def _captured(self) -> torch.Tensor:
        self._optimizer.zero_grad(set_to_none=True)
        loss = self._forward(*self._source.take())
        self._backward(loss)
        if self._scaler is None:
            self._optimizer.step()
        return loss.detach()

    def _after_replay(self) -> None:
        if self._scaler is None:
            self._stepped += 1
        else:
            self._scaler.step(self._optimizer)
            self._scaler.update()

    @property
    def model(self) -> nn.Module:
        """What is trained."""
        return self._model

    def forward_once(self) -> None:
        """One forward pass and the loss of a batch."""
        self._forward(*self._source.take())

    def soak(self) -> str:
        """An evaluation pass, and a training step with a last, smaller batch: each needs memory of its own."""
        self._model.eval()
        with torch.no_grad():
            self._forward(*self._source.take())
        self._model.train()
        self._train(*self._samples(max(1, self._batch * LAST_BATCH_THIRDS // 3)))
        return "evaluation partial_batch"

    def _step(self) -> None:
        if self._graph is None:
            self._train(*self._source.take())
            return
        self._queued += 1
        self._losses[1:] = [self._graph.replay()]

    def _train(self, inputs: torch.Tensor, targets: torch.Tensor) -> None:
        self._optimizer.zero_grad(set_to_none=True)
        for _ in range(self._accumulate - 1):
            self._backward(self._forward(*self._source.take()) / self._accumulate)
        loss = self._forward(inputs, targets)
        self._backward(loss / self._accumulate if self._accumulate > 1 else loss)
        if self._scaler is None:
            self._optimizer.step()
        else:
            self._scaler.step(self._optimizer)
            self._scaler.update()
        self._queued += 1
        self._losses[1:] = [loss.detach()]

    def _backward(self, loss: torch.Tensor) -> None:
        with switching.attention_of(self._switches.sdpa):  # blocks may be computed again here
            (loss if self._scaler is None else self._scaler.scale(loss)).backward()

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
            "optimizer_as": switching.kind_of(self._optimizer, self._device),
            "autotune": torch.backends.cudnn.benchmark,
            "parameters": self._parameters,
            "convolutional": switching.convolutional(self._model),
        }
        facts.update(self._switches.params())
        if self._accumulate > 1:
            facts["accumulate"] = self._accumulate
        if self._flop_per_sample is not None:
            facts["model_flop_per_sample"] = self._flop_per_sample
        return facts

    def notes(self) -> dict[str, Fact]:
        """How it was trained, losses of the first and the last step, and steps the scaler skipped while measured."""
        losses = [float(loss) for loss in self._losses]
        facts: dict[str, Fact] = {**self._facts(), **self._source.notes()}
        if self._graph is not None:
            facts["captured_peak_bytes"] = self._graph.peak_bytes
        facts["loss_finite"] = all(map(math.isfinite, losses))
        if facts["loss_finite"] and losses:
            facts["first_loss"], facts["last_loss"] = losses[0], losses[-1]
        if self._scaler is not None:
            queued = self._queued - self._queued_before
            facts["skipped_steps"] = queued - (self._taken() - self._stepped_before)
            facts["loss_scale"] = self._scaler.get_scale()
        return facts
