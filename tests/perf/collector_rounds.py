"""What one round of the collector takes when its code and data are no longer in the processor's caches.

Run by hand::

    .venv/bin/python -m tests.perf.collector_rounds

Rounds of this process over eight cards of the fake NVML, with a clock that jumps instead of waiting. Between two rounds
a helper walks through 8 MB of data and 4096 functions. Times are of the wall, so percentiles are printed: the 20th
changes little while others load the machine, and versions can be compared.
"""

import argparse
import ctypes
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from gputuner.devices.nvml.source import NvmlSource
from gputuner.telemetry.rates import Rates
from gputuner.telemetry.rounds import Rounds
from gputuner.telemetry.wire import Line, LineWriter, PackedTick
from tests.fake_nvml.build import compiler, environment
from tests.fake_nvml.scenario import Scenario
from tests.perf.collector_vs_nvitop import RECORDING

FUNCTIONS = 4096
SETTLED = 10
"""Rounds before calls are made ready and the interpreter has adapted to the code."""


def walker(folder: Path) -> Any:
    """A function in C that reads and writes 8 MB and calls all of ``FUNCTIONS`` functions."""
    body = "{ if (a & %d) x += a ^ %d; else x -= a * %d; return x; }"
    lines = [
        "static volatile unsigned x;",
        *(f"unsigned f{i}(unsigned a) {body % (1 << i % 20, i, i)}" for i in range(FUNCTIONS)),
        f"static unsigned (*f[])(unsigned) = {{{','.join(f'f{i}' for i in range(FUNCTIONS))}}};",
        "static char data[8 << 20];",
        "unsigned walk(void) { unsigned s = x; for (unsigned i = 0; i < sizeof data; i += 64) s += data[i]++;",
        f"for (unsigned i = 0; i < {FUNCTIONS}; i++) s += f[i * 1237 % {FUNCTIONS}](s); return s; }}",
    ]
    source, library = folder / "walk.c", folder / "walk.so"
    source.write_text("\n".join(lines))
    subprocess.run([compiler(), "-O1", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    return ctypes.CDLL(str(library)).walk


def measure(count: int, walk: Any) -> list[float]:
    """Durations of ``count`` rounds, in µs; health and slow readings come in those that they are due in."""
    now_ns = time.monotonic_ns()
    writer, out = LineWriter(), os.open(os.devnull, os.O_WRONLY)
    spans: list[float] = []
    begun = 0.0

    def clock() -> int:
        nonlocal now_ns
        now_ns += 2000
        return now_ns

    def emit(line: Line | PackedTick) -> None:
        os.write(out, writer.line(line))

    def rest(until_ns: int) -> None:
        nonlocal now_ns, begun
        if until_ns > now_ns:
            spans.append((time.perf_counter() - begun) * 1e6)
            now_ns = until_ns
            walk()
            begun = time.perf_counter()

    rounds: Any = Rounds(NvmlSource(now_ns=clock), Rates(), emit, clock=clock, slept_ns=lambda: 0)
    rounds._crew._rest = rest
    rounds._ledger.scan(rounds._source.cards(), clock())
    rounds._crew._lock.acquire()
    gc.freeze()
    while len(spans) < count + SETTLED:
        rounds._step()
    os.close(out)
    return sorted(spans[SETTLED:])


def main() -> None:
    """Print percentiles; starts itself again where the fake library is found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=800)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if "FAKE_NVML_SCENARIO" not in os.environ:
            path = Path(folder) / "scenario.txt"
            Scenario.from_recording(json.loads(RECORDING.read_text()), 8, costs=False).write(path)
            command = [sys.executable, "-m", "tests.perf.collector_rounds", f"--rounds={given.rounds}"]
            raise SystemExit(subprocess.run(command, env={**os.environ, **environment(path)}, check=False).returncode)
        spans = measure(given.rounds, walker(Path(folder)))
    told = ", ".join(f"{share}th {spans[len(spans) * share // 100]:.0f}" for share in (5, 20, 50, 80, 95))
    print(f"a round of eight cards, µs by percentile: {told}; mean {sum(spans) / len(spans):.0f}")


if __name__ == "__main__":
    main()
