"""Dimensions of the models that are trained, their parameters, and the operations that one sample needs.

Free of torch, so that the parent can size a trial before a worker runs. Operations are those of products and
convolutions, multiply and add counted apart; normalisations, activations, losses and optimizers are left out, as is
usual for a model's share of peak (Kaplan et al., arXiv 2001.08361; Chowdhery et al., arXiv 2204.02311, appendix B). A
training step needs the forward pass once, and twice that backward. Causal attention counts as half of its square: what
lies behind the mask is not needed (Dao, arXiv 2307.08691, counts the same way). What gradient checkpointing computes
again does not count.
"""

from dataclasses import dataclass

RESNET50_FORWARD_FLOP = 8_178_368_512.0
"""Of one image of 224²: 2 × 4.09 G multiply-adds of convolutions and classifier."""


def resnet50_flop(image: int) -> float:
    """Operations of one training sample of ResNet-50 with sides of ``image`` pixels.

    In proportion to the area, as long as the sides divide by 32; of the backward pass the first convolution needs only
    the half (nobody asks for the gradient of the image).
    """
    area = (image / 224) ** 2
    head = 2.0 * 2048 * 1000
    stem = 2.0 * 3 * 64 * 49 * 112**2 * area
    forward = (RESNET50_FORWARD_FLOP - head) * area + head
    return 3.0 * forward - stem


@dataclass(frozen=True)
class BertShape:
    """BERT; the default is BERT-large, 335 143 938 parameters with its pooler and the head of question answering."""

    layers: int = 24
    width: int = 1024
    heads: int = 16
    feed_forward: int = 4096
    vocabulary: int = 30522
    positions: int = 512

    @property
    def parameters(self) -> int:
        """All of them: embeddings, layers, pooler, head."""
        width, wide = self.width, self.feed_forward
        embeddings = width * (self.vocabulary + self.positions + 2 + 2)
        layer = 4 * width * (width + 1) + width * wide + wide + wide * width + width + 4 * width
        return embeddings + self.layers * layer + width * (width + 1) + 2 * width + 2

    def flop(self, sequence: int) -> float:
        """Operations of one training sample: 2 × (4 w² + 2 w f) + 4 w s per token and layer forward, and the head."""
        width = self.width
        layer = 2.0 * (4 * width**2 + 2 * width * self.feed_forward) + 4.0 * width * sequence
        return 3.0 * sequence * (self.layers * layer + 2.0 * 2 * width)

    def sparse_share(self, sequence: int) -> float:
        """Share of a sample's operations on the sparse pipes where the encoder's linear layers are 2:4 sparse.

        Of the three products of a linear layer forward and input gradient; that of the weight's gradient stays dense.
        """
        linear = 2.0 * (4 * self.width**2 + 2 * self.width * self.feed_forward)
        return 2.0 * sequence * self.layers * linear / self.flop(sequence)


@dataclass(frozen=True)
class GptShape:
    """GPT-2; the default is GPT-2 small with its vocabulary padded to a multiple of 64: 124 475 904 parameters."""

    layers: int = 12
    width: int = 768
    heads: int = 12
    vocabulary: int = 50304
    positions: int = 1024

    @property
    def parameters(self) -> int:
        """All of them; the head is the embedding."""
        width = self.width
        layer = 12 * width**2 + 13 * width
        return width * (self.vocabulary + self.positions) + self.layers * layer + 2 * width

    def flop(self, sequence: int) -> float:
        """Operations of one training sample: 24 w² and causal attention of 2 w s per token and layer, 2 w v at last."""
        layer = 24.0 * self.width**2 + 2.0 * self.width * sequence
        return 3.0 * sequence * (self.layers * layer + 2.0 * self.width * self.vocabulary)


@dataclass(frozen=True)
class LstmShape:
    """A language model of LSTM layers; by default 27 043 600 parameters."""

    layers: int = 2
    width: int = 1024
    vocabulary: int = 10_000

    @property
    def parameters(self) -> int:
        """All of them; the head is the embedding, with a bias."""
        layer = 4 * self.width * 2 * self.width + 2 * 4 * self.width
        return self.vocabulary * (self.width + 1) + self.layers * layer

    def flop(self, sequence: int) -> float:
        """Operations of one training sample: 16 w² per token and layer (four gates, input and state), 2 w v at last."""
        return 3.0 * sequence * (16.0 * self.layers * self.width**2 + 2.0 * self.width * self.vocabulary)


@dataclass(frozen=True)
class EdsrShape:
    """EDSR: blocks of two convolutions, enlarged by ``scale``."""

    blocks: int
    channels: int
    branch_scale: float
    scale: int = 2

    @property
    def parameters(self) -> int:
        """All of them."""
        channels, up = self.channels, self.scale**2
        inner = channels * (9 * channels + 1) * (2 * self.blocks + 1 + up)
        return channels * (27 + 1) + inner + 3 * (9 * channels + 1)

    def flop(self, patch: int) -> float:
        """Operations of one training sample, a patch of ``patch``² pixels before it is enlarged.

        Without the gradient of the image, which the first convolution need not give.
        """
        channels, up = self.channels, self.scale**2
        first = 2.0 * 9 * 3 * channels
        inner = 2.0 * 9 * channels**2 * (2 * self.blocks + 1 + up)
        last = 2.0 * 9 * channels * 3 * up
        return patch**2 * (3.0 * (first + inner + last) - first)


EDSR = {
    "baseline": EdsrShape(blocks=16, channels=64, branch_scale=1.0),
    "full": EdsrShape(blocks=32, channels=256, branch_scale=0.1),
}
"""1.37 M and 40.7 M parameters (Lim et al., arXiv 1707.02921)."""


@dataclass(frozen=True)
class LlmShape:
    """Llama; the default is the 7 B shape: 6 738 415 616 parameters."""

    layers: int = 32
    width: int = 4096
    heads: int = 32
    feed_forward: int = 11008
    vocabulary: int = 32_000

    @property
    def layer_weights(self) -> int:
        """Weights of the products of one layer."""
        return 4 * self.width**2 + 3 * self.width * self.feed_forward

    @property
    def product_weights(self) -> int:
        """Weights that every token is multiplied with: all but embedding and normalisations."""
        return self.layers * self.layer_weights + self.width * self.vocabulary

    @property
    def parameters(self) -> int:
        """All of them."""
        return self.product_weights + self.width * (self.vocabulary + 2 * self.layers + 1)

    def adapters(self, rank: int) -> int:
        """Weights of low-rank adapters on the four projections of attention."""
        return self.layers * 4 * 2 * rank * self.width

    def adapter_flop(self, sequence: int, rank: int) -> float:
        """Operations of one training sample of the adapters alone, all other weights frozen.

        For each token: 4 per frozen weight (forward, and the gradient of its input, but not of the weight), less the
        projections of query, key and value in the first layer, whose input asks for no gradient; 6 per weight of the
        adapters; 3 × 2 w s per layer for attention.
        """
        frozen = 4.0 * self.product_weights - 6.0 * self.width**2
        adapters = 6.0 * self.adapters(rank) - 6.0 * rank * self.width
        attention = 6.0 * self.layers * self.width * sequence
        return sequence * (frozen + adapters + attention)

    def prefill_flop(self, context: int) -> float:
        """Operations to read one prompt of ``context`` tokens; scores of the last token alone."""
        body = 2.0 * self.layers * self.layer_weights * context
        return body + 2.0 * self.width * self.vocabulary + 2.0 * self.layers * self.width * context**2

    def decode_flop(self, context: int) -> float:
        """Operations for one further token behind ``context`` others."""
        return 2.0 * self.product_weights + 4.0 * self.layers * self.width * (context + 1)

    def prefill_bytes(self, context: int, batch: int, element: int) -> float:
        """The least bytes to read ``batch`` prompts: all weights of products once, keys and values written."""
        return element * (self.product_weights + batch * 2.0 * self.layers * self.width * context)

    def decode_bytes(self, context: int, batch: int, element: int) -> float:
        """Bytes that a decode step must read: all weights of products once, and each sequence's keys and values."""
        cache = 2.0 * self.layers * self.width * (context + 1)
        return element * (self.product_weights + batch * cache)


LLM = {
    "7b": LlmShape(),
    "1b": LlmShape(layers=22, width=2048, heads=32, feed_forward=5632),
    "125m": LlmShape(layers=12, width=768, heads=12, feed_forward=2048),
}
"""By name: 6.74 B; 1.26 B (as TinyLlama, but with as many key heads as query heads); 134 M parameters."""
LORA_RANK = 16
