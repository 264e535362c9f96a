"""Recipes for ``batch_finders.py``: the built-in models, and a transformer over texts of different length."""

import torch
from torch import nn
from torch.nn import functional

LONGEST, WIDTH, LAYERS = 512, 512, 6
"""Of the ragged transformer."""


def resnet50():
    from gputuner.workloads.bodies.resnet50 import ResNet50

    def loss(model, batch):
        return functional.cross_entropy(model(batch[0]), batch[1])

    return {
        "model": ResNet50(),
        "batch": lambda n: (torch.randn(n, 3, 224, 224), torch.randint(1000, (n,))),
        "loss": loss,
    }


def edsr():
    from gputuner.workloads.bodies.edsr import Edsr
    from gputuner.workloads.bodies.training_shapes import EDSR

    def loss(model, batch):
        return functional.l1_loss(model(batch[0]), batch[1])

    return {
        "model": Edsr(EDSR["baseline"]),
        "batch": lambda n: (torch.rand(n, 3, 48, 48), torch.rand(n, 3, 96, 96)),
        "loss": loss,
    }


def bert():
    from gputuner.workloads.bodies.bert import Bert, span_loss
    from gputuner.workloads.bodies.training_shapes import BertShape

    shape = BertShape()

    def loss(model, batch):
        return span_loss(model(batch[0]), batch[1])

    return {
        "model": Bert(shape),
        "batch": lambda n: (torch.randint(shape.vocabulary, (n, 384)), torch.randint(384, (n, 2))),
        "loss": loss,
    }


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(8000, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 8, 4 * WIDTH, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, 8000)

    def forward(self, tokens):
        return self.head(self.layers(self.words(tokens), src_key_padding_mask=tokens == 0))


def ragged(longest=True):
    """Texts of 16 to 512 tokens, padded to the longest of the batch; what a recipe states is the longest."""

    def batch(n):
        lengths = torch.full((n,), LONGEST) if longest else torch.randint(16, LONGEST + 1, (n,))
        places = torch.arange(int(lengths.max()))
        tokens = torch.randint(1, 8000, (n, len(places)))
        return tokens * (places < lengths[:, None])

    def loss(model, tokens):
        scores = model(tokens)
        return functional.cross_entropy(scores.flatten(0, 1).float(), tokens.flatten(), ignore_index=0)

    return {"model": Encoder(), "batch": batch, "loss": loss}


def drawn():
    """The ragged transformer as its data set has it: lengths as they come."""
    return ragged(longest=False)
