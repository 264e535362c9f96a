"""A training that moves far more than it computes, in tensors that fill much of the memory.

Usage: memory_heavy.py [SECONDS]. On a card where there is one, within a cap of 24 GiB, with batches of varying size
that make the allocator give back and take anew.
"""

import sys
import time

import torch

CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
CAP_BYTES = 24 << 30
LEAST_STEPS = 6
"""However slow the processor: a few are needed to judge."""
SAMPLE = 1 << 20
"""Numbers of a sample."""


def batches():
    """Numbers of samples: on a card each other, so that no cached block fits the next."""
    while True:
        yield from (680, 530, 610, 480, 650, 570) if CUDA else (12,)


def main(seconds: float) -> None:
    if CUDA:
        torch.cuda.set_per_process_memory_fraction(CAP_BYTES / torch.cuda.get_device_properties(0).total_memory)
    scale = torch.nn.Parameter(torch.ones(SAMPLE, device=DEVICE))
    optimizer = torch.optim.SGD([scale], lr=1e-6)
    ends = time.monotonic() + seconds
    for steps, size in enumerate(batches(), 1):
        values = torch.rand(size, SAMPLE, device=DEVICE)
        loss = ((values * scale).sin() * values + values).exp().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if CUDA:
            torch.cuda.synchronize()
        if time.monotonic() > ends and steps >= LEAST_STEPS:
            return


main(float(sys.argv[1]) if len(sys.argv) > 1 else 20.0)
