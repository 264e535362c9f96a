# pyright: standard
"""Gradient checkpointing of any model: only the inputs of its blocks are kept, the rest is computed again.

A model of transformers does it by itself. Else its blocks are found: the modules of an outermost ``ModuleList``, the
composite ones of an outermost ``Sequential``, or stretches of a ``Sequential`` of plain layers (Chen et al.,
arXiv 1604.06174: √n stretches of n). Random numbers come out the same the second time, and batch norm's running
statistics are not moved twice. Whether the gradients are the same is tried out before anything is measured.
"""

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm  # pyright: ignore[reportPrivateUsage]
from torch.utils.checkpoint import checkpoint

from gputuner.workloads.bodies.failures import UnsupportedError
from gputuner.workloads.bodies.training_switches import blamed_on

LEAST_BLOCKS = 2
LEAST_LAYERS = 4
"""A Sequential of fewer plain layers is not worth it."""
ALIKE = 2e-2
"""Largest difference of all gradients (relative Euclidean norm) that rounding in half precision explains."""


def enable(model: nn.Module, *, compiled: bool = False) -> str:
    """Turn it on; how: ``own`` (the model does it by itself) or ``blocks``.

    Where the model will be ``compiled``, batch norm's statistics are moved twice: the compiler takes no context for
    what is computed again.

    Raises:
        UnsupportedError: no blocks are found, or the model refuses.
    """
    own = [each for each in model.modules() if callable(getattr(each, "gradient_checkpointing_enable", None))]
    if own:
        with blamed_on("the model's gradient_checkpointing_enable failed"):
            _enable_own(own[0])
        return "own"
    found = blocks(model)
    for block in found:
        _wrap(block, compiled)
    chains = [] if found else _chains(model)
    for chain in chains:
        _wrap_chain(chain, compiled)
    if not found and not chains:
        raise UnsupportedError("no blocks for gradient checkpointing: the model has no list or sequence of modules")
    return "blocks"


def _enable_own(model: Any) -> None:
    try:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    except TypeError:
        model.gradient_checkpointing_enable()
    config = getattr(model, "config", None)
    if getattr(config, "use_cache", False):
        config.use_cache = False  # pyright: ignore[reportOptionalMemberAccess]


def blocks(model: nn.Module) -> "list[nn.Module]":
    """The blocks of the outermost lists and sequences that hold at least two."""
    found: list[nn.Module] = []
    for container in _outermost(model):
        inner = [each for each in container.children() if _trained(each)]
        if not isinstance(container, nn.ModuleList):
            inner = [each for each in inner if any(each.children())]
        if len(inner) >= LEAST_BLOCKS:
            found += inner
    return found


def _outermost(module: nn.Module) -> "Iterator[nn.Module]":
    """Lists and plain sequences that lie in no other one."""
    if _is_container(module) and sum(map(_trained, module.children())) >= LEAST_BLOCKS:
        yield module
        return
    for child in module.children():
        yield from _outermost(child)


def _is_container(module: nn.Module) -> bool:
    return isinstance(module, nn.ModuleList) or (
        isinstance(module, nn.Sequential) and type(module).forward is nn.Sequential.forward
    )


def _trained(module: nn.Module) -> bool:
    return any(True for _ in module.parameters())


def _chains(model: nn.Module) -> "list[nn.Sequential]":
    found = [each for each in _outermost(model) if isinstance(each, nn.Sequential)]
    return [each for each in found if len(each) >= LEAST_LAYERS]


def _wrap(block: nn.Module, compiled: bool) -> None:
    block.forward = _again(block.forward, () if compiled else (block,))


def _wrap_chain(chain: nn.Sequential, compiled: bool) -> None:
    layers = list(chain)
    length = math.ceil(len(layers) / round(math.sqrt(len(layers))))
    stretches = [layers[start : start + length] for start in range(0, len(layers), length)]
    steps = [_again(_in_turn(stretch), () if compiled else stretch) for stretch in stretches]

    def forward(features: Any) -> Any:
        for step in steps:
            features = step(features)
        return features

    chain.forward = forward  # pyright: ignore[reportAttributeAccessIssue]


def _in_turn(layers: "Sequence[nn.Module]") -> "Callable[[Any], Any]":
    def run(features: Any) -> Any:
        for layer in layers:
            features = layer(features)
        return features

    return run


def _again(run: "Callable[..., Any]", modules: "Sequence[nn.Module]") -> "Callable[..., Any]":
    """``run``, checkpointed; batch norm in ``modules`` keeps its statistics the second time."""
    norms = [each for module in modules for each in module.modules() if isinstance(each, _BatchNorm)]
    extra: dict[str, Any] = {"context_fn": lambda: (contextlib.nullcontext(), _frozen(norms))} if norms else {}

    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        if not torch.is_grad_enabled():
            return run(*args, **kwargs)
        return checkpoint(run, *args, use_reentrant=False, **extra, **kwargs)

    return checkpointed


@contextlib.contextmanager
def _frozen(norms: "Sequence[_BatchNorm]") -> Any:
    """Running statistics stay as they are."""
    before = [norm.momentum for norm in norms]
    for norm in norms:
        norm.momentum = 0.0
    try:
        yield
    finally:
        for norm, momentum in zip(norms, before, strict=True):
            norm.momentum = momentum


def check(model: nn.Module, loss: "Callable[[], torch.Tensor]", turn_on: "Callable[[], object]") -> None:
    """Turn checkpointing on, and compare the gradients of one small step with those before.

    Args:
        model: that is trained.
        loss: of the same few samples in each call.
        turn_on: what turns it on.

    Raises:
        UnsupportedError: they differ by more than rounding explains.
    """
    plain = _gradients(model, loss)
    turn_on()
    again = _gradients(model, loss)
    size = math.sqrt(sum(float(each.double().square().sum()) for each in plain if each is not None))
    if [each is None for each in plain] != [each is None for each in again]:
        raise UnsupportedError("gradient checkpointing reaches other weights than the model without it")
    pairs = [(a, b) for a, b in zip(plain, again, strict=True) if a is not None and b is not None]
    apart = math.sqrt(sum(float((a.double() - b.double()).square().sum()) for a, b in pairs))
    if not apart <= ALIKE * size:
        raise UnsupportedError("gradient checkpointing changes the gradients of this model")


def _gradients(model: nn.Module, loss: "Callable[[], torch.Tensor]") -> "list[torch.Tensor | None]":
    torch.manual_seed(0)
    loss().backward()
    found = [None if each.grad is None else each.grad.detach().clone() for each in model.parameters()]
    model.zero_grad(set_to_none=True)
    return found
