"""Timing of one setting of a survey: a few iterations to warm up, then windows until its time is used up."""

import time
from collections.abc import Callable
from typing import Any

from gputuner.workloads.bodies.device import Device

WARM_ITERATIONS = 2
WINDOWS_WANTED = 24
"""For an interval (20 blocks) with some to spare."""
LONGEST_WINDOW_S, SHORTEST_WINDOW_S = 0.1, 0.005
LEAST_WINDOWS = 3


def timed(device: Device, iterate: Callable[[], Any], seconds: float) -> "tuple[list[float], tuple[int, int]]":
    """Seconds per iteration of each window, and the span of the timed part (host monotonic, ns).

    At least ``LEAST_WINDOWS`` windows are timed, however short the time.
    """
    begun = time.monotonic()
    for _ in range(WARM_ITERATIONS):
        iterate()
    device.synchronise()
    start = time.monotonic()
    iterate()
    device.synchronise()
    iteration_s = max(time.monotonic() - start, 1e-7)
    left_s = max(0.0, seconds - (time.monotonic() - begun))
    length_s = min(LONGEST_WINDOW_S, max(SHORTEST_WINDOW_S, left_s / WINDOWS_WANTED))
    count = max(1, round(length_s / iteration_s))
    done: list[float] = []
    t0_ns = time.monotonic_ns()
    windows = device.windows(length_s)
    while True:
        done += windows.run(iterate, count)
        behind = windows.running()
        passed_s = (time.monotonic_ns() - t0_ns) / 1e9
        if len(done) + behind >= LEAST_WINDOWS and passed_s + behind * count * iteration_s >= left_s:
            break
    done += windows.drain()
    return done, (t0_ns, time.monotonic_ns())
