# pyright: standard
"""BERT (Devlin et al., arXiv 1810.04805) in plain torch, fine-tuned on question answering as in SQuAD.

BERT-large has 24 layers, 1024 wide, 16 heads; with the pooler and the two-row head of question answering it has
335 143 938 parameters (as published with NVIDIA's DeepLearningExamples, whose rates at sequence 384 are the ones that
everyone quotes). Attention is torch's fused one, without dropout; tokens are random, none is padding.
"""

from typing import Any

import torch
from torch import nn
from torch.nn import functional

from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.switches import Switches
from gputuner.workloads.bodies.training import TrainingStep
from gputuner.workloads.bodies.training_shapes import BertShape
from gputuner.workloads.bodies.training_sparse import sparse_linear

LEARNING_RATE = 3e-5
DEVIATION = 0.02
"""Of the weights at first, as published."""


class EncoderLayer(nn.Module):
    """Self-attention and a feed-forward part, each with a shortcut and a normalisation behind it."""

    def __init__(self, shape: BertShape) -> None:
        super().__init__()
        width = shape.width
        self._heads = shape.heads
        self.projections = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)
        self.after_attention = nn.LayerNorm(width, eps=1e-12)
        self.wide = nn.Linear(width, shape.feed_forward)
        self.narrow = nn.Linear(shape.feed_forward, width)
        self.after_feed_forward = nn.LayerNorm(width, eps=1e-12)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Features [batch, sequence, width] after the layer."""
        batch, sequence, width = features.shape
        heads = self.projections(features).view(batch, sequence, 3, self._heads, width // self._heads)
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value)
        mixed = mixed.transpose(1, 2).reshape(batch, sequence, width)
        features = self.after_attention(features + self.output(mixed))
        return self.after_feed_forward(features + self.narrow(functional.gelu(self.wide(features))))


class Bert(nn.Module):
    """Tokens [batch, sequence] → scores of start and end [batch, sequence, 2]."""

    def __init__(self, shape: BertShape) -> None:
        super().__init__()
        width = shape.width
        self.words = nn.Embedding(shape.vocabulary, width)
        self.places = nn.Embedding(shape.positions, width)
        self.segments = nn.Embedding(2, width)
        self.before = nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList(EncoderLayer(shape) for _ in range(shape.layers))
        self.pooler = nn.Linear(width, width)
        """Part of the published network; question answering does not use it."""
        self.head = nn.Linear(width, 2)
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=DEVIATION)
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Scores of start and end."""
        places = torch.arange(tokens.shape[1], device=tokens.device)
        features = self.before(self.words(tokens) + self.places(places) + self.segments.weight[0])
        for layer in self.layers:
            features = layer(features)
        return self.head(features)


def span_loss(scores: torch.Tensor, spans: torch.Tensor) -> torch.Tensor:
    """Mean cross entropy of the answer's first and last token; spans [batch, 2]."""
    return functional.cross_entropy(scores.float(), spans)


class BertTraining(TrainingStep):
    """Training steps of question answering on one synthetic batch; AdamW.

    ``sparse``: the weights of the encoder's linear layers are pruned to 2:4 anew in each step and multiplied on the
    sparse pipes (``training_sparse``).
    """

    def __init__(
        self,
        device: Device,
        *,
        batch: int,
        precision: str,
        seed: int,
        sequence: int = 384,
        sparse: bool = False,
        shape: "BertShape | None" = None,
        **switches: Any,
    ) -> None:
        super().__init__(device, batch=batch, precision=precision, switches=Switches(**switches), tokens=sequence)
        shape = shape or BertShape()
        torch.manual_seed(seed)
        with torch.device(device.name):
            model = Bert(shape)
            tokens = torch.randint(shape.vocabulary, (batch, sequence))
            spans = torch.randint(sequence, (batch, 2))
        self._sparse_backend = sparse_linear(model.layers, device, precision) if sparse else None
        self._sparse_share = shape.sparse_share(sequence)
        self.build(
            model,
            (tokens, spans),
            span_loss,
            rate=LEARNING_RATE,
            optimizer="adamw_fused",
            flop_per_sample=shape.flop(sequence),
        )

    def _facts(self) -> "dict[str, float | int | str | bool]":
        backend = self._sparse_backend
        told = {"sparse_backend": backend, "sparse_flop_share": self._sparse_share} if backend else {}
        return {**super()._facts(), **told}
