# pyright: standard
"""Wakes torch up before anything is limited or measured."""

import gc

import torch


def exercise(name: str) -> None:
    """One tiny training step, so that lazily loaded modules, threads and handles exist before anything is limited."""
    weight = torch.randn(8, 3, 3, 3, device=name, requires_grad=True)
    layer = torch.nn.Linear(8, 8).to(name)
    optimizer = torch.optim.SGD([weight, *layer.parameters()], lr=0.01, momentum=0.9)
    images = torch.randn(2, 3, 16, 16, device=name)
    features = torch.nn.functional.conv2d(images, weight).mean((2, 3))
    torch.nn.functional.cross_entropy(layer(features), torch.zeros(2, dtype=torch.long, device=name)).backward()
    optimizer.step()
    del weight, layer, optimizer, images, features
    gc.collect()
