"""What sampling at the default rate costs a load on the card: the same matmul with the collector running and stopped.

Run on a machine with an NVIDIA card: ``python tests/perf/sampling_overhead.py``. Windows alternate A B B A …; in A the
collector process is stopped by a signal. Prints the paired ratio with its 95 % interval.
"""

import os
import signal
import subprocess
import sys
import threading
import time

import torch

from gputuner.analysis.statistics import paired_ratio
from gputuner.assembly.feeds import collector_command

WINDOW_S = 1.6
PAIRS = 28
N = 8192


def main() -> None:
    """Measure and print."""
    a = torch.randn(N, N, device="cuda", dtype=torch.bfloat16)
    b = torch.randn_like(a)
    c = torch.empty_like(a)
    collector = subprocess.Popen(collector_command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    lines: list[bytes] = []
    assert collector.stdout is not None
    reader = threading.Thread(target=lambda: lines.extend(iter(collector.stdout.readline, b"")), daemon=True)
    reader.start()

    def rate() -> float:
        done, start = 0, time.perf_counter()
        while time.perf_counter() - start < WINDOW_S:
            for _ in range(40):
                torch.mm(a, b, out=c)
            torch.cuda.synchronize()
            done += 40
        return done * 2 * N**3 / (time.perf_counter() - start)

    for _ in range(4):
        rate()
    with_sampling: list[float] = []
    without: list[float] = []
    for pair in range(PAIRS):
        for sampled in (False, True) if pair % 2 else (True, False):
            os.kill(collector.pid, signal.SIGCONT if sampled else signal.SIGSTOP)
            (with_sampling if sampled else without).append(rate())
    os.kill(collector.pid, signal.SIGCONT)
    seconds = os.sysconf("SC_CLK_TCK")
    with open(f"/proc/{collector.pid}/stat", encoding="utf-8") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    cpu_s = (int(fields[11]) + int(fields[12])) / seconds
    collector.kill()
    ratio = paired_ratio(with_sampling, without)
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}, bf16 {N}³, {PAIRS} pairs of {WINDOW_S} s")
    print(f"rate without {sorted(without)[PAIRS // 2] / 1e12:.1f} TFLOP/s, ticks read {len(lines)}")
    print(f"collector's own CPU {cpu_s:.2f} s in {WINDOW_S * PAIRS:.0f} s of running")
    print(f"with / without = {ratio.value:.5f} ({ratio.low} … {ratio.high})")


if __name__ == "__main__":
    sys.exit(main())
