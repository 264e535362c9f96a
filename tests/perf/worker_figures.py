"""What a worker measures on a device by itself: burst and sustained products, copy, training steps.

Run from the checkout: ``python tests/perf/worker_figures.py --device cuda [--python PATH]``. Prints Markdown.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from typing import Any

from gputuner.workloads.launch import worker_command, worker_environment
from gputuner.workloads.specs import CopySpec, MatmulSpec, ResNet50Spec, Spec

Message = dict[str, Any]


class Worker:
    """One worker process."""

    def __init__(self, options: argparse.Namespace) -> None:
        """Start it and print what it says of itself."""
        base = dict(os.environ)
        environment = worker_environment("cpu" if options.device == "cpu" else options.card, base)
        self.process = subprocess.Popen(
            worker_command(options.python, options.device, options.cap_bytes),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )
        self.idle_s = options.idle
        print("ready:", self.until("ready", "unusable"))
        self.send({"kind": "open"})
        self.device = self.until("device", "unusable")
        print("device:", self.device, "\n")

    def send(self, message: Message) -> None:
        """One message to the worker."""
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def until(self, *kinds: str) -> Message:
        """The next message of one of these kinds."""
        assert self.process.stdout
        for line in self.process.stdout:
            message = json.loads(line)
            if message["kind"] in kinds:
                return message
        raise SystemExit(f"the worker ended with exit code {self.process.wait()}")

    def trial(self, spec: Spec, measure_s: float, cold: bool = False) -> Message:
        """One trial; cold: after idling at the barrier, without warm-up."""
        head = {"kind": "trial", "id": f"{time.monotonic_ns()}", "workload": spec.workload, "params": spec.params()}
        how = {"measure_s": measure_s, "budget_s": 60.0, "warmup_s": 0.0 if cold else None, "barrier": cold, "seed": 1}
        self.send({**head, **how})
        answer = self.until("armed", "result", "failed")
        if answer["kind"] != "armed":
            return answer
        time.sleep(self.idle_s)
        self.send({"kind": "go", "id": head["id"]})
        return self.until("result", "failed")


def row(what: str, answer: Message) -> None:
    """One line of the table."""
    if answer["kind"] == "failed":
        print(f"| {what} | {answer['error']}: {answer['message'][:80]} | | | |")
        return
    name, amount = next(iter(answer["work"].items()))
    rates = sorted(amount / seconds for seconds in answer["iteration_s"])
    quarters = statistics.quantiles(rates, n=4) if len(rates) > 1 else [rates[0]] * 3
    spread = (quarters[2] - quarters[0]) / quarters[1]
    steady = "too slow" if answer["too_slow"] else "steady" if answer["steady"] else "not steady"
    print(f"| {what} | {quarters[1]:.4g} {name}/s | {spread:.2%} of {len(rates)} | {steady} | ", end="")
    print(f"{answer['relative_error']} {answer['memory']} {answer['notes']} |", flush=True)


def main() -> None:
    """Run all trials in one worker."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--card", default="0", help="UUID of the card")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--idle", type=float, default=10.0)
    parser.add_argument("--cap-bytes", type=int, default=None)
    options = parser.parse_args()
    worker = Worker(options)
    cuda = options.device == "cuda"
    print("| what | median | IQR, windows | | check, memory, notes |\n|---|---|---|---|---|")
    for precision in ("bf16", "fp16", "tf32", "fp32"):
        spec = MatmulSpec(precision=precision, n=8192 if cuda else 1024)
        row(f"{precision} burst", worker.trial(spec, 0.2, cold=True))
        row(f"{precision} warm", worker.trial(spec, 3.0))
    row("copy", worker.trial(CopySpec.sized(worker.device["cache_bytes"], worker.device["free_bytes"]), 2.0))
    batches = (32, 64, 128) if cuda else (4, 8)
    for precision in ("bf16", "fp16", "tf32", "fp32"):
        for batch in batches:
            spec = ResNet50Spec(batch=batch, precision=precision, image=224 if cuda else 64)
            row(f"ResNet-50 {precision} {batch}", worker.trial(spec, 2.0))
    spec = ResNet50Spec(batch=batches[-1], channels_last=False, image=224 if cuda else 64)
    row(f"ResNet-50 bf16 {batches[-1]} contiguous", worker.trial(spec, 2.0))
    row("product that cannot fit", worker.trial(MatmulSpec(precision="fp32", n=131072), 1.0))
    print("\nexit code:", worker.process.wait(timeout=60))


if __name__ == "__main__":
    main()
