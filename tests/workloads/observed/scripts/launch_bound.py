"""A training of many tiny operations: Python and launches take the time, the arithmetic next to none.

Usage: launch_bound.py [SECONDS]. On a card where there is one.
"""

import sys
import time

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
LAYERS = 100


def main(seconds: float) -> None:
    layers = [layer for _ in range(LAYERS) for layer in (torch.nn.Linear(16, 16), torch.nn.Tanh())]
    model = torch.nn.Sequential(*layers).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    inputs = torch.randn(8, 16, device=DEVICE)
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        loss = model(inputs).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


main(float(sys.argv[1]) if len(sys.argv) > 1 else 20.0)
