"""What the collector costs, beside ``nvitop``'s API reading the same fields of the same cards at the same rate.

Run by hand; prints figures and ratios::

    python -m venv /tmp/nvitop && /tmp/nvitop/bin/pip install nvitop==1.7.2
    .venv/bin/python -m tests.perf.collector_vs_nvitop --nvitop /tmp/nvitop/bin/python

Both read eight cards of the fake NVML at the same time. With calls that answer at once the processor time is the
reader's own. With the costs recorded on an H200 it is seen whether the fast tier keeps its rate; once more with the
calls of all cards one after the other, as under a lock of the driver, every thousandth taking 220 ms.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

from gputuner.telemetry.wire import Health, Ticked, decode_line
from tests.fake_nvml.build import environment
from tests.fake_nvml.scenario import Scenario

RECORDING = Path(__file__).parents[1] / "data" / "devices" / "nvml-h200.json"
COLLECTOR = "import sys; from gputuner.telemetry.collector import main; sys.exit(main(sys.argv[1:]))"
LOCKED = """
import sys, threading
from gputuner.devices.nvml.binding import Binding
from gputuner.devices.nvml.source import NvmlSource
from gputuner.telemetry.collector import serve
import time
lock, ask, calls = threading.Lock(), Binding.ask, 0
def asked(self, name, *args):
    global calls
    with lock:
        calls += 1
        if calls % 1000 == 0:
            time.sleep(0.22)
        return ask(self, name, *args)
Binding.ask = asked
sys.exit(serve(NvmlSource, sys.argv[1:]))
"""
NVITOP = """
import os, sys, time
from nvitop import Device
import nvitop.api.libnvml as nvml
seconds, devices = float(sys.argv[1]), Device.all()
def fast(d):
    d.temperature(), d.sm_clock(), d.memory_clock(), d.utilization_rates(), d.memory_info()
    nvml.nvmlQueryFieldValues(d.handle, [82, 83, 185, 186])
    nvml.nvmlQuery("nvmlDeviceGetMarginTemperature", d.handle)
    nvml.nvmlQuery("nvmlDeviceGetCurrentClocksEventReasons", d.handle)
def slow(d):
    nvml.nvmlQueryFieldValues(d.handle, [74, 76, 269, 270, 271, 190, 94, 3, 4, 142, 143])
    d.graphics_clock(), d.video_clock(), d.encoder_utilization(), d.decoder_utilization(), d.bar1_memory_info()
    d.performance_state(), d.fan_speed(), d.processes()
    nvml.nvmlQuery("nvmlDeviceGetCurrPcieLinkGeneration", d.handle)
    nvml.nvmlQuery("nvmlDeviceGetCurrPcieLinkWidth", d.handle)
for d in devices:
    fast(d), slow(d)
began, cpu, tick = time.monotonic(), time.process_time(), 0
while time.monotonic() - began < seconds:
    for d in devices:
        fast(d)
        if tick % 10 == 0:
            slow(d)
    tick += 1
    time.sleep(max(0.0, began + tick / 2 - time.monotonic()))
used, age = time.process_time() - cpu, time.monotonic() - began
pages = int(open("/proc/self/statm").read().split()[1])
print(used / age, pages * os.sysconf("SC_PAGE_SIZE"), tick / age)
"""


def collect(script: str, env: dict[str, str], seconds: float) -> tuple[Health, Health, list[Ticked]]:
    """First and last health of a collector that ran for ``seconds`` after its start, and its ticks between."""
    command = [sys.executable, "-c", script]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
    assert child.stdin is not None
    assert child.stdout is not None
    first: Health | None = None
    ticks: list[Ticked] = []
    for line in child.stdout:
        told = decode_line(line)
        if isinstance(told, Ticked) and first is not None:
            ticks.append(told)
        if isinstance(told, Health):
            first = first or told
            if told.age_s - first.age_s >= seconds:
                child.stdin.close()
                child.wait(30)
                return first, told, ticks
    raise SystemExit("the collector ended by itself")


def report(label: str, first: Health, last: Health, ticks: list[Ticked]) -> float:
    """Print a collector's figures; returns its share of one core."""
    age_s = last.age_s - first.age_s
    share = (last.cpu_s - first.cpu_s) / age_s
    times: dict[str, list[int]] = {}
    for told in ticks:
        for sample in told.tick.samples:
            if "core_temperature_c" in sample.values:
                times.setdefault(sample.card, []).append(sample.t_ns)
    rates = [(len(t) - 1) / ((t[-1] - t[0]) / 1e9) for t in times.values()]
    fast, slow = last.fast_cost, last.slow_cost
    print(f"{label}: {share:.2%} of one core, {(last.memory_bytes or 0) / 1e6:.1f} MB resident, over {age_s:.0f} s")
    print(f"  fast tier {min(rates):.3f} … {max(rates):.3f} Hz per card, missed {last.missed_ticks} of {last.ticks}")
    if fast and slow:
        print(f"  fast reading {fast.median_s * 1e3:.2f} ms (worst {fast.worst_s * 1e3:.1f} ms), ", end="")
        print(f"slow {slow.median_s * 1e3:.2f} ms (worst {slow.worst_s * 1e3:.1f} ms)")
    return share


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--nvitop", help="Python of an environment with nvitop 1.7.2")
    given = parser.parse_args()
    recording = json.loads(RECORDING.read_text())
    print(
        f"load average {os.getloadavg()[0]:.1f}; "
        f"Python {platform.python_version()}, {os.cpu_count()} cores {platform.machine()}, 8 cards, 2 Hz and each 5 s"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scenario.txt"
        base = {**os.environ, "MALLOC_ARENA_MAX": "2"}
        Scenario.from_recording(recording, 8, costs=False).write(path)
        env = {**base, **environment(path)}
        beside = None
        if given.nvitop:
            command = [given.nvitop, "-c", NVITOP, str(given.seconds)]
            beside = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)
        ours = report("calls answer at once", *collect(COLLECTOR, env, given.seconds))
        if beside is not None:
            theirs, memory, rate = (float(word) for word in beside.communicate()[0].split())
            print(f"nvitop's API, at the same time: {theirs:.2%} of one core, {memory / 1e6:.1f} MB, {rate:.3f} Hz")
            print(f"collector / nvitop: {ours / theirs:.2f}")
        Scenario.from_recording(recording, 8, costs=True).write(path)
        report("recorded costs", *collect(COLLECTOR, env, given.seconds))
        report("recorded costs, one call at a time, some 220 ms", *collect(LOCKED, env, given.seconds))


if __name__ == "__main__":
    main()
