"""A recipe with its own loader. Try: gputuner --cli batch --recipe own_loader.py:make --loader

The defaults of ``loader`` are the setting that is used today; what gputuner finds is compared with it.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Signals(Dataset):
    """Noisy tones: made on the fly, as decoding or augmenting would be."""

    def __len__(self):
        return 4096

    def __getitem__(self, place):
        random = torch.Generator().manual_seed(place)
        label = place % 10
        times = torch.linspace(0, 1, 2048)
        signal = torch.sin(2 * torch.pi * (20 + 10 * label) * times) + torch.randn(2048, generator=random)
        return torch.stft(signal, 256, window=torch.hann_window(256), return_complex=True).abs(), label


def make():
    model = nn.Sequential(nn.Flatten(), nn.Linear(129 * 33, 256), nn.ReLU(), nn.Linear(256, 10))
    data = Signals()

    def batch(n):
        return torch.rand(n, 129, 33), torch.randint(10, (n,))

    def loss(model, batch):
        spectra, labels = batch
        return nn.functional.cross_entropy(model(spectra), labels)

    def loader(batch_size, num_workers=1, prefetch_factor=2, pin_memory=False, persistent_workers=False):
        return DataLoader(
            data,
            batch_size=batch_size,
            shuffle=True,
            num_workers=num_workers,
            prefetch_factor=prefetch_factor,
            pin_memory=pin_memory,
            persistent_workers=persistent_workers,
        )

    return {"model": model, "batch": batch, "loss": loss, "loader": loader, "samples": len(data)}
