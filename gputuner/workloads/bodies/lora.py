# pyright: standard
"""Low-rank adapters on frozen weights (LoRA, Hu et al., arXiv 2106.09685); with these in 4 bits (QLoRA, 2305.14314).

QLoRA needs the package bitsandbytes in the Python that is measured.
"""

import importlib
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from gputuner.workloads.bodies.llm import MakeLinear, make_linear

ALPHA = 16.0
"""Scale of the adapter's output is this over its rank."""


class LoraLinear(nn.Module):
    """A frozen linear layer and beside it a trained one of rank ``rank``, whose weights are FP32.

    The second factor starts at zero: at first the layer is the frozen one.
    """

    def __init__(self, frozen: nn.Module, into: int, out: int, rank: int, kind: torch.dtype) -> None:
        super().__init__()
        self.frozen = frozen.requires_grad_(False)
        self.narrow = nn.Parameter(torch.randn(rank, into) * into**-0.5)
        self.wide = nn.Parameter(torch.zeros(out, rank))
        self._kind, self._scale = kind, ALPHA / rank

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Outputs [..., out]."""
        low = functional.linear(features, self.narrow.to(self._kind))
        return torch.add(self.frozen(features), functional.linear(low, self.wide.to(self._kind)), alpha=self._scale)


def adapted(make: MakeLinear, rank: int, kind: torch.dtype) -> MakeLinear:
    """What makes adapted layers on the frozen layers of ``make``."""
    return lambda into, out: LoraLinear(make(into, out), into, out, rank, kind)


def four_bit_linear(kind: torch.dtype, device: str) -> MakeLinear:
    """What makes frozen linear layers whose weights are stored in 4 bits (NF4) and multiplied in ``kind``.

    Raises:
        ModuleNotFoundError: bitsandbytes is not installed in this Python.
    """
    bitsandbytes = importlib.import_module("bitsandbytes")
    plain = make_linear(kind)

    def make(into: int, out: int) -> nn.Module:
        weight: Any = plain(into, out).weight
        layer = bitsandbytes.nn.Linear4bit(into, out, bias=False, compute_dtype=kind, quant_type="nf4", device="meta")
        layer.weight = bitsandbytes.nn.Params4bit(weight.detach(), requires_grad=False, quant_type="nf4", module=layer)
        return layer.to(device)  # this is where it is quantised

    return make


def freeze_all_but_adapters(model: nn.Module) -> None:
    """Train the adapters and nothing else."""
    model.requires_grad_(False)
    for module in model.modules():
        if isinstance(module, LoraLinear):
            module.narrow.requires_grad_(True)
            module.wide.requires_grad_(True)


def stored_bits(model: nn.Module) -> float:
    """Bits that the model's frozen layers take per weight, by their tensors (4-bit weights lie packed in bytes)."""
    layers: list[Any] = [module.frozen for module in model.modules() if isinstance(module, LoraLinear)]
    stored = sum(layer.weight.nbytes for layer in layers)
    weights = sum(layer.in_features * layer.out_features for layer in layers)
    return 8.0 * stored / weights
