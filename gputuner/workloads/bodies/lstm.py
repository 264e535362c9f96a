# pyright: standard
"""A language model of two LSTM layers, 1024 wide, over 10 000 words (a size as in Zaremba et al., arXiv 1409.2329).

On a card cuDNN runs both layers as one operation. A recurrent network cannot be made parallel in time: its rate tells
how fast a chain of small products runs. No dropout; the head is tied to the embedding; 27 043 600 parameters.

BF16 is refused on a card: torch's autocast hands cuDNN's recurrent layers FP16 whatever it is told
(``ATen/cudnn/AutocastRNN.cpp``), and the figure would bear a wrong name.
"""

from typing import Any

import torch
from torch import nn
from torch.nn import functional

from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.failures import UnsupportedError
from gputuner.workloads.bodies.gpt import next_token_loss
from gputuner.workloads.bodies.switches import Switches
from gputuner.workloads.bodies.training import TrainingStep
from gputuner.workloads.bodies.training_shapes import LstmShape

LEARNING_RATE = 1e-3
SPAN = 0.05
"""Weights of embedding and LSTM start evenly within ± this."""


class LstmModel(nn.Module):
    """Tokens [batch, sequence] → scores of the next token [batch, sequence, vocabulary]."""

    def __init__(self, shape: LstmShape) -> None:
        super().__init__()
        self.words = nn.Embedding(shape.vocabulary, shape.width)
        self.recurrent = nn.LSTM(shape.width, shape.width, shape.layers, batch_first=True)
        self.bias = nn.Parameter(torch.zeros(shape.vocabulary))
        for parameter in (*self.words.parameters(), *self.recurrent.parameters()):
            nn.init.uniform_(parameter, -SPAN, SPAN)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Scores of the next token."""
        features, _ = self.recurrent(self.words(tokens))
        return functional.linear(features, self.words.weight, self.bias)


class LstmTraining(TrainingStep):
    """Training steps on one synthetic batch, each from a state of zero; AdamW."""

    def __init__(
        self,
        device: Device,
        *,
        batch: int,
        precision: str,
        seed: int,
        sequence: int = 64,
        shape: "LstmShape | None" = None,
        **switches: Any,
    ) -> None:
        if precision == "bf16" and device.name == "cuda":
            raise UnsupportedError("autocast runs cuDNN's recurrent layers in FP16 even where BF16 is asked for")
        super().__init__(device, batch=batch, precision=precision, switches=Switches(**switches), tokens=sequence)
        shape = shape or LstmShape()
        torch.manual_seed(seed)
        with torch.device(device.name):
            model = LstmModel(shape)
            tokens = torch.randint(shape.vocabulary, (batch, sequence + 1))
        self.build(
            model,
            (tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()),
            next_token_loss,
            rate=LEARNING_RATE,
            optimizer="adamw_fused",
            flop_per_sample=shape.flop(sequence),
        )
