# pyright: standard
"""A decoder of the shape of Llama (Touvron et al., arXiv 2302.13971 and 2307.09288) in plain torch, random weights.

RMS normalisation before each part, rotary positions, a gated feed-forward part, no biases; weights are made on the
device in the type they are used in, so that 7 B parameters need 13.5 GB and no host memory.
"""

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from gputuner.workloads.bodies.training_shapes import LlmShape

DEVIATION = 0.02
ROTARY_BASE = 10_000.0
EPSILON = 1e-5
MakeLinear = Callable[[int, int], nn.Module]


class Cache:
    """Keys and values of the tokens so far, for each layer [batch, heads, most tokens, head width]."""

    def __init__(self, shape: LlmShape, batch: int, tokens: int, kind: torch.dtype, device: str) -> None:
        size = (batch, shape.heads, tokens, shape.width // shape.heads)
        self._keys = [torch.zeros(size, dtype=kind, device=device) for _ in range(shape.layers)]
        self._values = [torch.zeros(size, dtype=kind, device=device) for _ in range(shape.layers)]

    def extended(
        self, layer: int, start: int, key: torch.Tensor, value: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write the new keys and values from place ``start`` on; all of them up to there."""
        end = start + key.shape[2]
        self._keys[layer][:, :, start:end] = key
        self._values[layer][:, :, start:end] = value
        return self._keys[layer][:, :, :end], self._values[layer][:, :, :end]


def rotations(width: int, start: int, count: int, kind: torch.dtype, device: torch.device) -> torch.Tensor:
    """Cosines and sines of the rotary positions ``start`` … (Su et al., arXiv 2104.09864) [2, count, head width]."""
    steps = ROTARY_BASE ** (-torch.arange(0, width, 2, device=device) / width)
    angles = torch.outer(torch.arange(start, start + count, device=device).float(), steps)
    both = torch.cat((angles, angles), dim=-1)
    return torch.stack((both.cos(), both.sin())).to(kind)


def _rotated(heads: torch.Tensor, rotation: torch.Tensor) -> torch.Tensor:
    first, second = heads.chunk(2, dim=-1)
    return heads * rotation[0] + torch.cat((-second, first), dim=-1) * rotation[1]


class LlmLayer(nn.Module):
    """Causal self-attention with rotary positions, and a gated feed-forward part."""

    def __init__(self, shape: LlmShape, kind: torch.dtype, attention: MakeLinear, gated: MakeLinear) -> None:
        super().__init__()
        width, wide = shape.width, shape.feed_forward
        self._heads = shape.heads
        self.before_attention = nn.RMSNorm(width, eps=EPSILON, dtype=kind)
        self.query, self.key, self.value = attention(width, width), attention(width, width), attention(width, width)
        self.output = attention(width, width)
        self.before_feed_forward = nn.RMSNorm(width, eps=EPSILON, dtype=kind)
        self.gate, self.up, self.down = gated(width, wide), gated(width, wide), gated(wide, width)

    def forward(
        self,
        features: torch.Tensor,
        rotation: torch.Tensor,
        cache: "Cache | None" = None,
        layer: int = 0,
        start: int = 0,
    ) -> torch.Tensor:
        """Features [batch, sequence, width] after the layer; with a cache the tokens from place ``start`` on."""
        batch, sequence, width = features.shape
        inner = self.before_attention(features)

        def split(made: torch.Tensor) -> torch.Tensor:
            return made.view(batch, sequence, self._heads, width // self._heads).transpose(1, 2)

        query, key = _rotated(split(self.query(inner)), rotation), _rotated(split(self.key(inner)), rotation)
        value = split(self.value(inner))
        if cache is not None:
            key, value = cache.extended(layer, start, key, value)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=sequence > 1)
        features = features + self.output(mixed.transpose(1, 2).reshape(batch, sequence, width))
        inner = self.before_feed_forward(features)
        return features + self.down(functional.silu(self.gate(inner)) * self.up(inner))


def make_linear(kind: torch.dtype) -> MakeLinear:
    """What makes linear layers without bias, normal weights of ``kind`` on torch's present default device."""

    def make(into: int, out: int) -> nn.Module:
        layer = nn.Linear(into, out, bias=False, device="meta")
        layer.weight = nn.Parameter(nn.init.normal_(torch.empty(out, into, dtype=kind), std=DEVIATION))
        return layer

    return make


class Llm(nn.Module):
    """Tokens [batch, sequence] → scores of the next token [batch, sequence or 1, vocabulary].

    Args:
        shape: dimensions.
        kind: type of all weights that ``attention`` and ``gated`` do not make otherwise.
        attention: makes the four projections of attention; None: plain linear layers of ``kind``.
        gated: makes the three of the feed-forward part.
        checkpointing: keep only each layer's input for the backward pass and compute the rest again.
    """

    def __init__(
        self,
        shape: LlmShape,
        kind: torch.dtype,
        *,
        attention: "MakeLinear | None" = None,
        gated: "MakeLinear | None" = None,
        checkpointing: bool = False,
    ) -> None:
        super().__init__()
        plain = make_linear(kind)
        self._head_width, self._kind, self._checkpointing = shape.width // shape.heads, kind, checkpointing
        self.words = nn.Embedding(shape.vocabulary, shape.width, _weight=self._normal(shape.vocabulary, shape.width))
        self.layers = nn.ModuleList(
            LlmLayer(shape, kind, attention or plain, gated or plain) for _ in range(shape.layers)
        )
        self.last = nn.RMSNorm(shape.width, eps=EPSILON, dtype=kind)
        self.head = plain(shape.width, shape.vocabulary)

    def _normal(self, *size: int) -> torch.Tensor:
        return nn.init.normal_(torch.empty(size, dtype=self._kind), std=DEVIATION)

    def forward(
        self, tokens: torch.Tensor, cache: "Cache | None" = None, start: int = 0, last_only: bool = False
    ) -> torch.Tensor:
        """Scores of the next token; ``last_only``: after the last token alone.

        Autocast is off inside: the weights have the type that is computed in, and the residual stream keeps it.
        """
        with torch.autocast(tokens.device.type, enabled=False):
            rotation = rotations(self._head_width, start, tokens.shape[1], self._kind, tokens.device)
            features = self.words(tokens)
            for place, layer in enumerate(self.layers):
                if self._checkpointing:
                    features = checkpoint(layer, features, rotation, use_reentrant=False, preserve_rng_state=False)
                else:
                    features = layer(features, rotation, cache, place, start)
            return self.head(self.last(features[:, -1:] if last_only else features))
