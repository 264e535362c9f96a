# pyright: standard
"""Fine-tuning of a 7B-shape decoder with low-rank adapters: what people buy 48 GB cards for.

LoRA of rank 16 on the four attention projections, frozen weights in the type that is computed in, gradient
checkpointing, AdamW; ``quantised``: frozen layers in 4 bits (QLoRA).
"""

from typing import Any

import torch

from gputuner.workloads.bodies.body import Fact
from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.failures import UnsupportedError
from gputuner.workloads.bodies.gpt import next_token_loss
from gputuner.workloads.bodies.llm import Llm, make_linear
from gputuner.workloads.bodies.lora import adapted, four_bit_linear, freeze_all_but_adapters, stored_bits
from gputuner.workloads.bodies.precision import STORAGE, check
from gputuner.workloads.bodies.switches import Switches
from gputuner.workloads.bodies.training import TrainingStep
from gputuner.workloads.bodies.training_shapes import LLM, LORA_RANK, LlmShape

LEARNING_RATE = 2e-4


class LlmTraining(TrainingStep):
    """Training steps of the adapters on one synthetic batch."""

    _checkpoints_itself = True

    def __init__(
        self,
        device: Device,
        *,
        batch: int,
        precision: str,
        seed: int,
        sequence: int = 2048,
        quantised: bool = False,
        model: str = "7b",
        shape: "LlmShape | None" = None,
        **switches: Any,
    ) -> None:
        check(device, precision)
        if shape is None and model not in LLM:
            raise UnsupportedError(f"no decoder shape {model!r}")
        switched = Switches(**switches)
        super().__init__(device, batch=batch, precision=precision, switches=switched, tokens=sequence)
        checkpointing = switched.checkpointing is not False
        shape, kind = shape or LLM[model], STORAGE[precision]
        self._checkpointing = checkpointing
        torch.manual_seed(seed)
        frozen = four_bit_linear(kind, device.name) if quantised else make_linear(kind)
        with torch.device(device.name):
            decoder = Llm(
                shape, kind, attention=adapted(frozen, LORA_RANK, kind), gated=frozen, checkpointing=checkpointing
            )
            tokens = torch.randint(shape.vocabulary, (batch, sequence + 1))
        freeze_all_but_adapters(decoder)
        self._shape, self._bits = shape, stored_bits(decoder)
        self.build(
            decoder,
            (tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()),
            next_token_loss,
            rate=LEARNING_RATE,
            optimizer="adamw_fused",
            flop_per_sample=shape.adapter_flop(sequence, LORA_RANK),
        )

    def _facts(self) -> dict[str, Fact]:
        return {
            **super()._facts(),
            "parameters": self._shape.parameters,
            "checkpointing": self._checkpointing,
            "lora_rank": LORA_RANK,
            "stored_bits_per_weight": round(self._bits, 2),
        }
