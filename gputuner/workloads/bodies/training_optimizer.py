# pyright: standard
"""Optimizers by name, as the models' papers or their usual code have them."""

from collections.abc import Callable, Sequence

import torch

Parameters = Sequence[torch.nn.Parameter]

MOMENTUM = 0.9
SGD_DECAY = 1e-4
"""He et al., arXiv 1512.03385."""
ADAMW_DECAY = 0.01

OPTIMIZERS: "dict[str, Callable[[Parameters, float], torch.optim.Optimizer]]" = {
    "sgd_momentum": lambda weights, rate: torch.optim.SGD(weights, lr=rate, momentum=MOMENTUM, weight_decay=SGD_DECAY),
    "adam_fused": lambda weights, rate: torch.optim.Adam(weights, lr=rate, fused=True),
    "adamw_fused": lambda weights, rate: torch.optim.AdamW(weights, lr=rate, weight_decay=ADAMW_DECAY, fused=True),
}
"""Fused: one kernel for all weights; the default of torch is several per group of them."""


def make_optimizer(name: str, weights: Parameters, rate: float) -> torch.optim.Optimizer:
    """The optimizer ``name`` for ``weights`` with learning rate ``rate``."""
    return OPTIMIZERS[name](weights, rate)


def steps_taken(optimizer: torch.optim.Optimizer) -> "int | None":
    """Steps that changed the weights, by the optimizer's own count; None: it keeps none.

    A fused optimizer is called even for a step that the gradient scaler skips, and takes its own count back. The
    count lies on the device: asking waits for it.
    """
    counts = (state["step"] for state in optimizer.state.values() if "step" in state)
    count = next(counts, None)
    return None if count is None else int(count)
