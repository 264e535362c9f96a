"""Programs that watch eight cards side by side on one core, and what each takes of the processor per tick.

Run by hand; names what is to run beside each other::

    .venv/bin/python -m tests.perf.collector_beside floor collector nvitop=/tmp/nvitop/bin/python
    .venv/bin/python -m tests.perf.collector_beside collector collector=/tmp/other/checkout
    .venv/bin/python -m tests.perf.collector_beside reader reader=/tmp/other/checkout

``collector``: the collector; ``reader``: a program that starts one and keeps the series of its cards (the collector is
not counted); ``nvitop``: only the calls that the readings need; ``floor``: nothing but waking, the library's calls of
the fast tier, and one write. Their rounds are spread over half a second, so that none finds the caches filled by
another. Each number is the kernel's clock of a whole process between two moments at which all of them rest.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from tests.fake_nvml.build import environment
from tests.fake_nvml.scenario import Scenario
from tests.perf.collector_vs_nvitop import NVITOP, RECORDING, processor_ns, same_core

SETTLE_S = 6.0
PERIOD_S = 0.5
ROOT = str(Path(__file__).parents[2])
COLLECTOR = """
import sys, time
from gputuner.devices.nvml.source import NvmlSource
from gputuner.telemetry.collector import serve
def opened():
    source = NvmlSource()
    time.sleep((float(sys.argv[1]) - time.monotonic()) % 0.5 + 0.5)
    return source
sys.exit(serve(opened, sys.argv[2:]))
"""
READER = f"""
import sys, time
from gputuner.telemetry.client import CollectorFeed
feed = CollectorFeed([sys.executable, "-c", {COLLECTOR!r}, sys.argv[1]])
feed.subscribe(lambda message: None)
time.sleep(3600)
"""
FLOOR = """
import os, sys, threading, time
from operator import call
from gputuner.devices.nvml.source import NvmlSource
from gputuner.model.quantities import Tier
source = NvmlSource()
uuids = [info.uuid for info in source.cards()]
for uuid in uuids:
    source.sample(uuid, Tier.FAST, 0)
calls = source.sweep(uuids, 1).calls
bell = threading.Lock()
bell.acquire()
began, tick = time.monotonic() // 0.5 * 0.5 + float(sys.argv[1]) + 0.5, 0
while True:
    bell.acquire(timeout=max(0.0, began + tick / 2 - time.monotonic()))
    any(map(call, calls))
    os.write(1, b"a" * 2832 + b"\\n")
    tick += 1
"""


def start(what: str, phase_s: float, env: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start one of the programs; its rounds begin ``phase_s`` after each half second."""
    name, _, where = what.partition("=")
    if name == "nvitop":
        command = [where, "-c", NVITOP, "calls", str(int((phase_s + PERIOD_S / 2) * 1e9))]
    else:
        command = [sys.executable, "-c", {"collector": COLLECTOR, "reader": READER, "floor": FLOOR}[name], str(phase_s)]
        env = {**env, "PYTHONPATH": where or ROOT}
    child = subprocess.Popen(command, env=env, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    threading.Thread(target=drain, args=(child,), daemon=True).start()
    return child


def drain(child: subprocess.Popen[bytes]) -> None:
    """Read what it writes and drop it."""
    assert child.stdout is not None
    while os.read(child.stdout.fileno(), 1 << 16):
        pass


def measure(children: list[subprocess.Popen[bytes]], ticks: int) -> list[list[float]]:
    """Processor time of each in each tick, in µs."""
    begun = time.monotonic() // PERIOD_S * PERIOD_S + 2 * PERIOD_S - 0.02
    time.sleep(begun - time.monotonic())
    last = [processor_ns(child.pid) for child in children]
    spans: list[list[float]] = [[] for _ in children]
    for tick in range(1, ticks + 1):
        time.sleep(max(0.0, begun + tick * PERIOD_S - time.monotonic()))
        now = [processor_ns(child.pid) for child in children]
        for place, (later, earlier) in enumerate(zip(now, last, strict=True)):
            spans[place].append((later - earlier) / 1e3)
        last = now
    return spans


def main() -> None:
    """Print each program's figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ticks", type=int, default=120)
    parser.add_argument("what", nargs="+", help="floor, collector[=FOLDER], reader[=FOLDER] or nvitop=PYTHON")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scenario.txt"
        Scenario.from_recording(json.loads(RECORDING.read_text()), 8, costs=False).write(path)
        env = {**os.environ, "MALLOC_ARENA_MAX": "2", **environment(path)}
        step_s = 0.8 * PERIOD_S / len(given.what)
        children = [start(what, 0.02 + place * step_s, env) for place, what in enumerate(given.what)]
        time.sleep(SETTLE_S)
        same_core(*(child.pid for child in children))
        spans = measure(children, given.ticks)
        for child in children:
            child.kill()
            child.wait()
    print(f"load average {os.getloadavg()[0]:.1f}; µs of processor per tick of {PERIOD_S} s, {given.ticks} ticks")
    for what, span in zip(given.what, spans, strict=True):
        fifth = sorted(span)[len(span) // 5]
        print(f"{what}: median {statistics.median(span):.0f}, mean {statistics.mean(span):.0f}, 20th {fifth:.0f}")


if __name__ == "__main__":
    main()
