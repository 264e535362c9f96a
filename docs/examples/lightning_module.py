"""A recipe of a LightningModule: its training step gives the loss, configure_optimizers the optimizer."""

import torch
from pytorch_lightning import LightningModule
from torch import nn


class Autoencoder(LightningModule):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 16))
        self.decoder = nn.Sequential(nn.Linear(16, 128), nn.ReLU(), nn.Linear(128, 784))

    def training_step(self, batch, batch_idx):
        return nn.functional.mse_loss(self.decoder(self.encoder(batch)), batch)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


def make():
    return {"model": Autoencoder(), "batch": lambda n: torch.rand(n, 784)}
