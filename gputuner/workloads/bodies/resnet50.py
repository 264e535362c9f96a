# pyright: standard
"""ResNet-50 in plain torch (He et al., arXiv 1512.03385; "v1.5": the stride sits in the 3 × 3 convolution)."""

from typing import Any

import torch
from torch import nn

from gputuner.workloads.bodies.device import Device
from gputuner.workloads.bodies.switches import Switches
from gputuner.workloads.bodies.training import TrainingStep
from gputuner.workloads.bodies.training_feed import POOL, LoaderFeed, Pool
from gputuner.workloads.bodies.training_shapes import resnet50_flop

STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))
"""Width, blocks and first stride of the four stages."""
EXPANSION = 4
CLASSES = 1000
LEARNING_RATE = 0.01
"""The same at every batch: one batch is trained on over and over, and a rate scaled to it would diverge at large ones
(then a gradient scaler skips steps)."""

MEAN, DEVIATION = 127.5, 73.9
"""Of bytes that are all equally likely."""


def _convolution(inward: int, outward: int, size: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inward, outward, size, stride, padding=size // 2, bias=False)


class Bottleneck(nn.Module):
    """1 × 1, 3 × 3, 1 × 1 with a shortcut."""

    def __init__(self, inward: int, width: int, stride: int) -> None:
        super().__init__()
        outward = width * EXPANSION
        self.body = nn.Sequential(
            _convolution(inward, width, 1),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            _convolution(width, width, 3, stride),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            _convolution(width, outward, 1),
            nn.BatchNorm2d(outward),
        )
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inward != outward:
            self.shortcut = nn.Sequential(_convolution(inward, outward, 1, stride), nn.BatchNorm2d(outward))

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Features after the block."""
        return torch.relu_(self.body(features).add_(self.shortcut(features)))


class ResNet50(nn.Module):
    """The network: images [batch, 3, side, side] → class scores [batch, 1000]; 25 557 032 parameters."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = [
            _convolution(3, 64, 7, 2),
            nn.BatchNorm2d(64),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2, padding=1),
        ]
        inward = 64
        for width, blocks, stride in STAGES:
            for block in range(blocks):
                layers.append(Bottleneck(inward, width, stride if block == 0 else 1))
                inward = width * EXPANSION
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Linear(inward, CLASSES)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Class scores."""
        return self.classifier(self.features(images).mean((2, 3)))


def _normalised(images: torch.Tensor) -> torch.Tensor:
    """Bytes to numbers with mean 0 and deviation 1."""
    return images.float().sub_(MEAN).div_(DEVIATION)


class ResNet50Training(TrainingStep):
    """Training steps on one synthetic batch that is already on the device, or on batches of bytes that are fed."""

    def __init__(
        self,
        device: Device,
        *,
        batch: int,
        precision: str,
        seed: int,
        channels_last: bool = True,
        image: int = 224,
        loader: str = "synthetic",
        **switches: Any,
    ) -> None:
        super().__init__(
            device,
            batch=batch,
            precision=precision,
            channels_last=channels_last,
            switches=Switches(**switches),
        )
        torch.manual_seed(seed)
        with torch.device(device.name):
            model = ResNet50()
        if loader == "fed":
            pool = Pool(torch.randint(256, (POOL, 3, image, image), dtype=torch.uint8), torch.randint(CLASSES, (POOL,)))
            source = LoaderFeed(device, pool, batch=batch, prepare=_normalised)
        else:
            with torch.device(device.name):
                images = torch.randn(batch, 3, image, image)
                source = (self._laid_out(images), torch.randint(CLASSES, (batch,)))
        self.build(
            model,
            source,
            nn.functional.cross_entropy,
            rate=LEARNING_RATE,
            flop_per_sample=resnet50_flop(image),
        )
