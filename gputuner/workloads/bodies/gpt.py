# pyright: standard
"""A decoder of the size of GPT-2 small (Radford et al., 2019) in plain torch.

12 layers, 768 wide, 12 heads, sequence 1024, the head tied to the token embedding. The vocabulary of 50257 is padded to
50304, a multiple of 64, as nanoGPT does: 124 475 904 parameters, of which 36 096 are padding.
"""

from typing import Any

import torch
from torch import nn
from torch.nn import functional

from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.switches import Switches
from gputuner.workloads.bodies.training import TrainingStep
from gputuner.workloads.bodies.training_shapes import GptShape

LEARNING_RATE = 6e-4
DEVIATION = 0.02


class DecoderLayer(nn.Module):
    """Causal self-attention and a feed-forward part, each with a normalisation before and a shortcut around it."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self._heads = heads
        self.before_attention = nn.LayerNorm(width)
        self.projections = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)
        self.before_feed_forward = nn.LayerNorm(width)
        self.wide = nn.Linear(width, 4 * width)
        self.narrow = nn.Linear(4 * width, width)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Features [batch, sequence, width] after the layer."""
        batch, sequence, width = features.shape
        heads = self.projections(self.before_attention(features))
        query, key, value = heads.view(batch, sequence, 3, self._heads, -1).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        features = features + self.output(mixed.transpose(1, 2).reshape(batch, sequence, width))
        inner = self.wide(self.before_feed_forward(features))
        return features + self.narrow(functional.gelu(inner, approximate="tanh"))


class Gpt(nn.Module):
    """Tokens [batch, sequence] → scores of the next token [batch, sequence, vocabulary]."""

    def __init__(self, shape: GptShape) -> None:
        super().__init__()
        self.words = nn.Embedding(shape.vocabulary, shape.width)
        self.places = nn.Embedding(shape.positions, shape.width)
        self.layers = nn.ModuleList(DecoderLayer(shape.width, shape.heads) for _ in range(shape.layers))
        self.last = nn.LayerNorm(shape.width)
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=DEVIATION)
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Scores of the next token."""
        places = torch.arange(tokens.shape[1], device=tokens.device)
        features = self.words(tokens) + self.places(places)
        for layer in self.layers:
            features = layer(features)
        return functional.linear(self.last(features), self.words.weight)


def next_token_loss(scores: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """Mean cross entropy over all tokens; scores [batch, sequence, vocabulary], wanted [batch, sequence]."""
    return functional.cross_entropy(scores.flatten(0, 1), wanted.flatten())


class GptTraining(TrainingStep):
    """Training steps on one synthetic batch; AdamW."""

    def __init__(
        self,
        device: Device,
        *,
        batch: int,
        precision: str,
        seed: int,
        sequence: int = 1024,
        shape: "GptShape | None" = None,
        **switches: Any,
    ) -> None:
        super().__init__(device, batch=batch, precision=precision, switches=Switches(**switches), tokens=sequence)
        shape = shape or GptShape()
        torch.manual_seed(seed)
        with torch.device(device.name):
            model = Gpt(shape)
            tokens = torch.randint(shape.vocabulary, (batch, sequence + 1))
        self.build(
            model,
            (tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()),
            next_token_loss,
            rate=LEARNING_RATE,
            optimizer="adamw_fused",
            flop_per_sample=shape.flop(sequence),
        )
