"""A training of a few large matrix products that keep the chip busy.

Usage: compute_bound.py [SECONDS]. On a card (in bf16, with larger matrices) where there is one.
"""

import sys
import time

import torch

CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
WIDTH, BATCH = (8192, 8192) if CUDA else (768, 1024)
LEAST_STEPS = 6
"""However slow the processor: a few are needed to judge."""


def main(seconds: float) -> None:
    layers = [layer for _ in range(4) for layer in (torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU())]
    model = torch.nn.Sequential(*layers).to(DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    inputs = torch.randn(BATCH, WIDTH, device=DEVICE)
    ends, steps = time.monotonic() + seconds, 0
    while time.monotonic() < ends or steps < LEAST_STEPS:
        steps += 1
        with torch.autocast(DEVICE, dtype=torch.bfloat16, enabled=CUDA):
            loss = model(inputs).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if CUDA:
            torch.cuda.synchronize()


main(float(sys.argv[1]) if len(sys.argv) > 1 else 20.0)
