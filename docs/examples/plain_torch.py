"""A recipe in plain torch: a small image classifier. Try: gputuner --cli batch --recipe plain_torch.py:make --images"""

import torch
from torch import nn


def make():
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(64, 10),
    )  # fmt: skip

    def batch(n):
        return torch.randn(n, 3, 32, 32), torch.randint(10, (n,))

    def loss(model, batch):
        images, labels = batch
        return nn.functional.cross_entropy(model(images), labels)

    def optimizer(parameters):
        return torch.optim.SGD(parameters, lr=0.01, momentum=0.9)

    return {"model": model, "batch": batch, "loss": loss, "optimizer": optimizer}
