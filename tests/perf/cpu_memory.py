"""The card ``cpu``: is memory against batch a line, does it predict the limit, is every failure under a cap recognised?

Run from the checkout: ``python tests/perf/cpu_memory.py [--precision fp32]``. Prints Markdown.
"""

import argparse
import collections
import json
import os
import subprocess
import sys
from typing import Any

import numpy as np

from gputuner.workloads.launch import worker_command, worker_environment
from gputuner.workloads.specs import ResNet50Spec

MIB = 1 << 20
BATCHES = (2, 4, 8, 12, 16, 24, 32)


class Worker:
    """One worker process."""

    def __init__(self, cap_bytes: int | None = None) -> None:
        """Start it and take its ready message."""
        self.process = subprocess.Popen(
            worker_command(sys.executable, "cpu", cap_bytes),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=worker_environment("cpu", os.environ, memory_probe=True),
        )

    def trial(self, batch: int, precision: str) -> dict[str, Any] | None:
        """Result or failure of one trial; None: the process died."""
        assert self.process.stdin
        assert self.process.stdout
        spec = ResNet50Spec(batch=batch, precision=precision, image=64)  # pyright: ignore[reportArgumentType]
        message = {"kind": "trial", "id": str(batch), "workload": spec.workload, "params": spec.params()}
        message |= {"measure_s": 0.01, "budget_s": 120.0, "warmup_s": 0.0, "barrier": False, "seed": 1}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer["kind"] in ("result", "failed"):
                return answer
        return None

    def end(self) -> int:
        """Close it; the exit code."""
        assert self.process.stdin
        self.process.stdin.close()
        return self.process.wait()


def fresh(batch: int, precision: str, cap_bytes: int) -> str:
    """Outcome of one trial in a process of its own."""
    worker = Worker(cap_bytes)
    answer = worker.trial(batch, precision)
    if answer and answer["kind"] == "result":
        worker.end()
        return "runs"
    code = worker.process.wait(timeout=60)
    return f"{answer['error'] if answer else 'died'} (exit {code})"


def line(precision: str) -> tuple[float, float]:
    """Measure and print the line; its fixed part and slope, in bytes."""
    worker = Worker()
    peaks = [worker.trial(batch, precision) for batch in BATCHES]
    worker.end()
    bytes_ = np.array([peak["memory"]["allocated_peak_bytes"] for peak in peaks if peak], dtype=float)
    slope, fixed = np.polyfit(BATCHES, bytes_, 1)
    print("| batch | peak MiB | off the line |\n|---|---|---|")
    for batch, peak in zip(BATCHES, bytes_, strict=True):
        print(f"| {batch} | {peak / MIB:.1f} | {peak / (fixed + slope * batch) - 1:+.2%} |")
    print(f"\nLine: {fixed / MIB:.1f} MiB + {slope / MIB:.2f} MiB per sample.\n")
    return fixed, slope


def limit(precision: str, cap_bytes: int, predicted: int) -> int:
    """The largest batch that runs under the cap, by bisection in fresh processes."""
    low, high = predicted // 2, predicted * 2
    while high - low > 1:
        middle = (low + high) // 2 if high - low < predicted else predicted
        if fresh(middle, precision, cap_bytes) == "runs":
            low = middle
        else:
            high = middle
    return low


def main() -> None:
    """Run the three parts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--cap-mib", type=int, default=1024)
    parser.add_argument("--tries", type=int, default=12)
    parser.add_argument("--limit", type=int, default=None, help="the true limit, if known: skips the bisection")
    options = parser.parse_args()
    cap_bytes = options.cap_mib * MIB
    print(f"## {options.precision}\n")
    fixed, slope = line(options.precision)
    predicted = int((cap_bytes - fixed) / slope)
    true = options.limit or limit(options.precision, cap_bytes, predicted)
    print(f"Limit under {options.cap_mib} MiB: predicted {predicted}, true {true} ({predicted / true - 1:+.1%}).\n")
    for factor in (1.1, 2.0, 4.0):
        batch = int(true * factor)
        outcomes = collections.Counter(fresh(batch, options.precision, cap_bytes) for _ in range(options.tries))
        told = ", ".join(f"{count} × {outcome}" for outcome, count in outcomes.items())
        print(f"Batch {batch} ({factor} × the limit): {told}.\n")


if __name__ == "__main__":
    main()
