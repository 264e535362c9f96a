# pyright: standard
"""EDSR (Lim et al., arXiv 1707.02921), super-resolution by 2, in plain torch.

``baseline``: 16 blocks of 64 channels, 1.37 M parameters; ``full``: 32 blocks of 256 channels whose branches are scaled
by 0.1, 40.7 M. Patches of 48 × 48 low-resolution pixels, L1 loss, Adam, as in the paper; the constant shift by the
data set's mean colour is left out.
"""

from typing import Any

import torch
from torch import nn

from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.failures import UnsupportedError
from gputuner.workloads.bodies.switches import Switches
from gputuner.workloads.bodies.training import TrainingStep
from gputuner.workloads.bodies.training_shapes import EDSR, EdsrShape

LEARNING_RATE = 1e-4
COLOURS = 3


def _convolution(inward: int, outward: int) -> nn.Conv2d:
    return nn.Conv2d(inward, outward, 3, padding=1)


class Block(nn.Module):
    """Two convolutions with a shortcut, without normalisation."""

    def __init__(self, channels: int, branch_scale: float) -> None:
        super().__init__()
        self.branch = nn.Sequential(
            _convolution(channels, channels), nn.ReLU(inplace=True), _convolution(channels, channels)
        )
        self._branch_scale = branch_scale

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Features after the block."""
        return torch.add(features, self.branch(features), alpha=self._branch_scale)


class Edsr(nn.Module):
    """Images [batch, 3, side, side] → [batch, 3, scale × side, scale × side]."""

    def __init__(self, shape: EdsrShape) -> None:
        super().__init__()
        channels = shape.channels
        self.head = _convolution(COLOURS, channels)
        blocks = (Block(channels, shape.branch_scale) for _ in range(shape.blocks))
        self.body = nn.Sequential(*blocks, _convolution(channels, channels))
        self.tail = nn.Sequential(
            _convolution(channels, channels * shape.scale**2),
            nn.PixelShuffle(shape.scale),
            _convolution(channels, COLOURS),
        )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """The enlarged images."""
        features = self.head(images)
        return self.tail(features + self.body(features))


def _loss(images: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    return nn.functional.l1_loss(images.float(), wanted)


class EdsrTraining(TrainingStep):
    """Training steps on one synthetic batch; a sample is one patch."""

    def __init__(
        self,
        device: Device,
        *,
        batch: int,
        precision: str,
        seed: int,
        variant: str = "baseline",
        patch: int = 48,
        channels_last: bool = True,
        shape: "EdsrShape | None" = None,
        **switches: Any,
    ) -> None:
        super().__init__(
            device, batch=batch, precision=precision, channels_last=channels_last, switches=Switches(**switches)
        )
        if shape is None and variant not in EDSR:
            raise UnsupportedError(f"no EDSR variant {variant!r}")
        shape = shape or EDSR[variant]
        torch.manual_seed(seed)
        with torch.device(device.name):
            model = Edsr(shape)
            images = torch.randn(batch, COLOURS, patch, patch)
            wanted = torch.randn(batch, COLOURS, shape.scale * patch, shape.scale * patch)
        self.build(
            model,
            (self._laid_out(images), self._laid_out(wanted)),
            _loss,
            rate=LEARNING_RATE,
            optimizer="adam_fused",
            flop_per_sample=shape.flop(patch),
        )
