"""What our hooks cost a training: the same steps with the hooks noting and switched off, in turn, in one process.

``python -m tests.perf.watch_cost [--blocks 60] [--device cuda]``: starts itself again with the hooks in its
environment. A model with steps of about 5 ms on one thread of the processor, fed by a DataLoader. Blocks of steps
alternate A B B A …; switched off the hooks still are called and return at once. Times are processor times, so that
others on the machine disturb little; of a block the lower quartile counts, which no written line falls into: what a
line takes is told apart. Prints the paired ratio with its 95 % interval, the difference in µs per step, and what
starting Python and importing torch take with and without us.

On a card the time of a step is wall time, each step waited for, of a wider model that keeps the card busy for some
milliseconds; the hooks' events and their look at the card's queue are then part of what is measured.
"""

import argparse
import gc
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from gputuner.analysis.statistics import paired_ratio
from gputuner.workloads.observed.environment import FOLDER, injected

WIDTH, BATCH, LAYERS = 320, 80, 4
CARD_WIDTH, CARD_BATCH = 4096, 4096
"""On a card: some milliseconds a step in TF32."""
STEPS = 16
"""Steps of a block, of which the lower quartile counts: what disturbs a step makes it longer."""
STARTS = 15


def main() -> None:
    """Start with the hooks, measure, print."""
    options = argparse.ArgumentParser()
    options.add_argument("--blocks", type=int, default=60)
    options.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    asked = options.parse_args()
    blocks = asked.blocks
    if FOLDER not in os.environ:
        with tempfile.TemporaryDirectory() as folder:
            environment = injected(os.environ, folder) | {"OMP_NUM_THREADS": "1"}
            command = [sys.executable, "-m", "tests.perf.watch_cost", "--blocks", str(blocks), "--device", asked.device]
            raise SystemExit(subprocess.run(command, env=environment, check=False).returncode)
    _steps(blocks, asked.device)
    for name, code in (("start of Python", "pass"), ("with torch", "import torch")):
        _starts(name, code, STARTS if code == "pass" else 5)


def _steps(blocks: int, device: str) -> None:
    import torch

    watch = next(each for each in gc.get_objects() if type(each).__name__ == "Watch")
    steps = _training(torch, device)
    for _ in range(10 * STEPS):
        next(steps)
    noting: list[float] = []
    off: list[float] = []
    for block in range(blocks):
        for on in (True, False) if block % 2 else (False, True):
            watch.on = on
            (noting if on else off).append(sorted(next(steps) for _ in range(STEPS))[STEPS // 4])
    ratio = paired_ratio(noting, off)
    step_ms = 1e3 * statistics.median(off)
    apart = [1e6 * (a - b) for a, b in zip(noting, off, strict=True)]
    low = "" if ratio.low is None or ratio.high is None else f" (95 %: {ratio.low - 1:+.2%} … {ratio.high - 1:+.2%})"
    print(f"| step, hooks off | {step_ms:.2f} ms |")
    print(f"| step, hooks noting | {ratio.value - 1:+.2%}{low} |")
    written = sorted(_written(watch) for _ in range(20))[10]
    print(f"| a line, each 0.5 s | {1e6 * written:.0f} µs |")
    print(f"| difference per step | median {statistics.median(apart):.0f} µs |")


def _written(watch) -> float:
    """Processor seconds of writing one line."""
    time.sleep(0.05)
    began = time.thread_time()
    watch.flush(time.perf_counter(), ending=True)
    return time.thread_time() - began


def _training(torch, device: str) -> Iterator[float]:
    """Seconds of each step, without end: of the processor, or on a card of the clock on the wall."""
    card = device == "cuda"
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high" if card else "highest")
    width, batch = (CARD_WIDTH, CARD_BATCH) if card else (WIDTH, BATCH)
    layers = [layer for _ in range(LAYERS) for layer in (torch.nn.Linear(width, width), torch.nn.ReLU())]
    model = torch.nn.Sequential(*layers).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    data = torch.utils.data.TensorDataset(torch.randn(BATCH * 200, WIDTH))
    loader = torch.utils.data.DataLoader(data, batch_sampler=[list(range(BATCH))] * 200, collate_fn=_collate)
    standing = torch.randn(batch, width, device=device)  # on a card the loader only delivers, so that the host is quick
    now = time.perf_counter if card else time.thread_time
    while True:
        batches = iter(loader)
        for _ in range(200):
            began = now()
            fed = next(batches)
            loss = model(standing if card else fed).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if card:
                torch.cuda.synchronize()
            yield now() - began


def _collate(samples):
    import torch

    return torch.stack([values for (values,) in samples])


def _starts(name: str, code: str, count: int) -> None:
    plain = {key: value for key, value in os.environ.items() if key not in (FOLDER, "PYTHONPATH")}
    took: dict[bool, list[float]] = {True: [], False: []}
    for index in range(2 * count):
        ours = index % 4 in (1, 2)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], env=dict(os.environ) if ours else plain, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took[ours].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    with_us, without = (1e3 * statistics.median(took[ours]) for ours in (True, False))
    print(f"| {name}, median of {count} | {without:.1f} ms, with us {with_us:.1f} ms |")


if __name__ == "__main__":
    main()
