"""A training that waits for its data: each sample takes a while to come, and one process fetches them.

Usage: data_starved.py [SECONDS]. On a card where there is one.
"""

import sys
import time

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SAMPLE_S = 0.002


class Slow(torch.utils.data.Dataset):
    """Samples that come from far away."""

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int):
        time.sleep(SAMPLE_S)
        return torch.randn(64), index % 4


def main(seconds: float) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4)).to(DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    ends = time.monotonic() + seconds
    for inputs, targets in torch.utils.data.DataLoader(Slow(), batch_size=16, shuffle=True):
        loss = torch.nn.functional.cross_entropy(model(inputs.to(DEVICE)), targets.to(DEVICE))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if time.monotonic() > ends:
            return


main(float(sys.argv[1]) if len(sys.argv) > 1 else 20.0)
