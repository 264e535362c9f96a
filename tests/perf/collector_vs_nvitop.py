"""What the collector costs, beside ``nvitop``'s API reading the same fields of the same cards at the same rate.

Run by hand; prints figures and ratios::

    python -m venv /tmp/nvitop && /tmp/nvitop/bin/pip install nvitop==1.7.2
    .venv/bin/python -m tests.perf.collector_vs_nvitop --nvitop /tmp/nvitop/bin/python

Both read eight cards of the fake NVML at the same time, half an interval apart, so that neither finds the processor's
caches filled by the other, and on the same core, so that both meet the same neighbours on the host. The collector also
looks for XID errors at every tick, writes every answer to a pipe, and guards against hangs; who listens checks and
converts the answers, and what that takes (of this program, with warm caches) is printed beside. The program over
nvitop's API drops what it reads. It runs in two ways: with nvitop's methods as far as there are some
(they read all four clocks and three utilisations together), and with only the calls that the collector's readings need.
The processor time of both is the kernel's, of whole processes.

With calls that answer at once the processor time is the reader's own. With the costs recorded on an H200 it is seen
whether the fast tier keeps its rate; once more with the calls of all cards one after the other, as under a lock of the
driver, every thousandth taking 220 ms.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from gputuner.telemetry.wire import Health, LineReader, Ticked
from tests.fake_nvml.build import environment
from tests.fake_nvml.scenario import Scenario

RECORDING = Path(__file__).parents[1] / "data" / "devices" / "nvml-h200.json"
COLLECTOR = "import sys; from gputuner.telemetry.collector import main; sys.exit(main(sys.argv[1:]))"
LOCKED = """
import functools, sys, threading
from gputuner.devices.nvml.binding import Binding
from gputuner.devices.nvml.source import NvmlSource
from gputuner.telemetry.collector import serve
import time
lock, ask, pointer, calls = threading.Lock(), Binding.ask, Binding.pointer, 0
def locked(function, *args):
    global calls
    with lock:
        calls += 1
        if calls % 1000 == 0:
            time.sleep(0.22)
        return function(*args)
Binding.ask = lambda self, name, *args: locked(ask, self, name, *args)
Binding.pointer = lambda self, name: functools.partial(locked, found) if (found := pointer(self, name)) else None
sys.exit(serve(NvmlSource, sys.argv[1:]))
"""
NVITOP = """
import sys, time
import nvitop.api.libnvml as nvml
from nvitop import Device
way, phase, devices, ask = sys.argv[1], int(sys.argv[2]) / 1e9, Device.all(), nvml.nvmlQuery
def fast(d):
    h = d.handle
    d.temperature(), d.memory_info()
    ask("nvmlDeviceGetClockInfo", h, 1), ask("nvmlDeviceGetClockInfo", h, 2)
    ask("nvmlDeviceGetUtilizationRates", h)
    fields_of_fast_tier(h)
def slow(d):
    h = d.handle
    ask("nvmlDeviceGetClockInfo", h, 0), ask("nvmlDeviceGetClockInfo", h, 3)
    ask("nvmlDeviceGetEncoderUtilization", h), ask("nvmlDeviceGetDecoderUtilization", h)
    rest_of_slow_tier(d)
def fast_by_methods(d):
    with d.oneshot():
        d.temperature(), d.memory_info()
        d.sm_clock(), d.memory_clock()
        d.gpu_utilization(), d.memory_utilization()
        fields_of_fast_tier(d.handle)
def slow_by_methods(d):
    with d.oneshot():
        d.graphics_clock(), d.video_clock()
        d.encoder_utilization(), d.decoder_utilization()
        rest_of_slow_tier(d)
def fields_of_fast_tier(h):
    nvml.nvmlQueryFieldValues(h, [82, 83, 185, 186])
    ask("nvmlDeviceGetMarginTemperature", h), ask("nvmlDeviceGetCurrentClocksEventReasons", h)
def rest_of_slow_tier(d):
    nvml.nvmlQueryFieldValues(d.handle, [74, 76, 269, 270, 271, 190, 94, 3, 4, 142, 143])
    d.bar1_memory_info(), d.performance_state(), d.processes()
    ask("nvmlDeviceGetCurrPcieLinkGeneration", d.handle), ask("nvmlDeviceGetCurrPcieLinkWidth", d.handle)
if way == "methods":
    fast, slow = fast_by_methods, slow_by_methods
for d in devices:
    fast(d), slow(d)
print("ready", flush=True)
began, tick = phase + (time.monotonic() - phase) // 0.5 * 0.5 + 0.75, 0
time.sleep(began - time.monotonic())
while True:
    for d in devices:
        fast(d)
        if tick % 10 == 0:
            slow(d)
    tick += 1
    if tick % 20 == 0:
        print(tick, flush=True)
    time.sleep(max(0.0, began + tick / 2 - time.monotonic()))
"""
WAYS = {"methods": "its methods where there are some, in oneshot()", "calls": "only the calls that these readings need"}


def processor_ns(pid: int) -> int:
    """Processor time of a whole process, ended threads included, from the kernel (Linux's clock of another process)."""
    return time.clock_gettime_ns((~pid << 3) | 2)


def same_core(*pids: int) -> None:
    """Bind all threads of these processes to one core: cores of a shared host differ in speed by what runs beside."""
    core = max(os.sched_getaffinity(0))
    for pid in pids:
        for thread in os.listdir(f"/proc/{pid}/task"):
            os.sched_setaffinity(int(thread), {core})


class Beside:
    """A program over nvitop's API that runs beside the collector."""

    def __init__(self, python: str, way: str, env: dict[str, str], tick_ns: int) -> None:
        """Start it, half an interval from the collector's ``tick_ns``; wait until it has read all cards once."""
        command = [python, "-c", NVITOP, way, str(tick_ns)]
        self._child = subprocess.Popen(command, env=env, stdout=subprocess.PIPE)
        assert self._child.stdout is not None
        assert self._child.stdout.readline() == b"ready\n"

    @property
    def pid(self) -> int:
        """Its process."""
        return self._child.pid

    def processor_ns(self) -> int:
        """What it has used so far."""
        return processor_ns(self._child.pid)

    def end(self) -> int:
        """End it; returns the ticks it has made (in steps of 20)."""
        self._child.terminate()
        ticks = self._child.communicate()[0].split()
        return int(ticks[-1]) if ticks else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """What a collector did in a measured time, and what the program beside it used in the same time."""

    first: Health
    last: Health
    ticks: list[Ticked]
    share: float
    listening: float
    beside: float
    beside_ticks: int


def collect(
    script: str, env: dict[str, str], seconds: float, start: Callable[[int], Beside] | None = None
) -> Collected:
    """Let a collector run for ``seconds``, beside what ``start`` (told of the time of a tick) starts meanwhile."""
    child = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
    assert child.stdin is not None
    assert child.stdout is not None
    beside: Beside | None = None
    first: Health | None = None
    ticks: list[Ticked] = []
    began = used = theirs = listened = 0
    reader = LineReader()
    for line in child.stdout:
        heard = time.thread_time_ns()
        told = reader.line(line)
        listened += time.thread_time_ns() - heard
        if isinstance(told, Ticked):
            ticks.append(told)
        if not isinstance(told, Health) or len(ticks) < 5:
            continue
        if start is not None and beside is None:
            beside = start(ticks[-1].tick.t_ns)
            same_core(child.pid, beside.pid)
        elif first is None:
            first, ticks = told, ticks[-1:]
            began, used, listened = time.monotonic_ns(), processor_ns(child.pid), 0
            theirs = beside.processor_ns() if beside else 0
        elif told.age_s - first.age_s >= seconds:
            age = time.monotonic_ns() - began
            share = (processor_ns(child.pid) - used) / age
            theirs = beside.processor_ns() - theirs if beside else 0
            child.stdin.close()
            child.wait(30)
            made = beside.end() if beside else 0
            return Collected(
                first=first,
                last=told,
                ticks=ticks,
                share=share,
                listening=listened / age,
                beside=theirs / age,
                beside_ticks=made,
            )
    raise SystemExit("the collector ended by itself")


def report(label: str, found: Collected) -> None:
    """Print a collector's figures."""
    first, last, ticks, share = found.first, found.last, found.ticks, found.share
    age_s = last.age_s - first.age_s
    times: dict[str, list[int]] = {}
    for told in ticks:
        for sample in told.tick.samples:
            if "core_temperature_c" in sample.values:
                times.setdefault(sample.card, []).append(sample.t_ns)
    rates = [(len(t) - 1) / ((t[-1] - t[0]) / 1e9) for t in times.values()]
    fast, slow = last.fast_cost, last.slow_cost
    print(f"{label}: {share:.3%} of one core, {(last.memory_bytes or 0) / 1e6:.1f} MB resident, over {age_s:.0f} s")
    print(f"  reading its lines takes {found.listening:.3%} of one core where they are read")
    print(f"  fast tier {min(rates):.3f} … {max(rates):.3f} Hz per card, missed {last.missed_ticks} of {last.ticks}")
    if fast and slow:
        print(f"  fast reading {fast.median_s * 1e3:.2f} ms (worst {fast.worst_s * 1e3:.1f} ms), ", end="")
        print(f"slow {slow.median_s * 1e3:.2f} ms (worst {slow.worst_s * 1e3:.1f} ms)")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--only-at-once", action="store_true", help="leave the recorded costs out")
    parser.add_argument("--nvitop", help="Python of an environment with nvitop 1.7.2")
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS), help="of nvitop's API")
    parser.add_argument("--runs", type=int, default=1, help="how often each way is measured")
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
        for way in given.ways * given.runs if given.nvitop else ():
            found = collect(COLLECTOR, env, given.seconds, partial(Beside, given.nvitop, way, env))
            report("calls answer at once", found)
            print(f"  nvitop's API, {WAYS[way]}: {found.beside:.3%} of one core, {found.beside_ticks} ticks or more")
            both = (found.share + found.listening) / found.beside
            print(
                f"  collector / nvitop: {found.share / found.beside:.2f}; with the reading of its lines {both:.2f}",
                flush=True,
            )
        if not given.nvitop:
            report("calls answer at once", collect(COLLECTOR, env, given.seconds))
        if given.only_at_once:
            return
        Scenario.from_recording(recording, 8, costs=True).write(path)
        report("recorded costs", collect(COLLECTOR, env, given.seconds))
        report("recorded costs, one call at a time, some 220 ms", collect(LOCKED, env, given.seconds))


if __name__ == "__main__":
    main()
