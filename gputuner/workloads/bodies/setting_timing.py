"""Timing of one setting of a survey: a warm-up, then windows until its time is used up."""

import time
from collections.abc import Callable
from typing import Any

from gputuner.workloads.bodies.device import Device

WARM_ITERATIONS = 2
WARM_SHARE = 0.25
"""Of a setting's time: clocks and power follow a change of load within some tens of milliseconds."""
WINDOWS_WANTED = 24
"""For an interval (20 blocks) with some to spare."""
LONGEST_WINDOW_S, SHORTEST_WINDOW_S = 0.1, 0.005
LEAST_WINDOWS = 3
WINDOWS_NEEDED = 21
"""For an interval, one to spare."""
THRIFT = 0.6

Windowed = tuple[list[float], tuple[int, int]]
"""Seconds per iteration of each window, and the span of the timed part (host monotonic, ns)."""


def timed(device: Device, iterate: Callable[[], Any], seconds: float, most_s: float = 0.0) -> Windowed:
    """Warm up, then time windows end to end.

    The time counts from the end of the first iterations, in which libraries choose and load kernels. At least
    ``LEAST_WINDOWS`` windows are timed, however short it is.

    Args:
        device: where.
        iterate: queues one iteration.
        seconds: to take.
        most_s: to take where fewer do not hold what an interval needs.
    """
    iteration_s = first_iterations(device, iterate)
    taken_s = max(seconds, min(most_s, window_needs_s(iteration_s)))
    return timed_warm(device, iterate, taken_s, time.monotonic(), iteration_s)


def shares(left_s: float, left: int) -> "tuple[float, float]":
    """Of the time left to ``left`` settings: what the next one takes, and what it may take where it needs more.

    Each takes ``THRIFT`` of an equal part, which is enough for short iterations, and leaves the rest to long ones.
    """
    equal_s = max(0.0, left_s) / left
    return THRIFT * equal_s, equal_s * (1.0 + (1.0 - THRIFT) * (left - 1))


def first_iterations(device: Device, iterate: Callable[[], Any]) -> float:
    """Let libraries choose and load their kernels; seconds of an iteration then, waited for."""
    for _ in range(WARM_ITERATIONS):
        iterate()
    device.synchronise()
    return waited_for(device, iterate)


def waited_for(device: Device, iterate: Callable[[], Any]) -> float:
    """Seconds of one iteration by itself."""
    start = time.monotonic()
    iterate()
    device.synchronise()
    return max(time.monotonic() - start, 1e-7)


def window_needs_s(iteration_s: float) -> float:
    """Seconds of warm-up and windows that an interval needs, where an iteration is a window of its own."""
    return WINDOWS_NEEDED * iteration_s / (1.0 - WARM_SHARE)


def timed_warm(
    device: Device, iterate: Callable[[], Any], seconds: float, begun_s: float, iteration_s: float
) -> Windowed:
    """What is left of ``seconds`` since ``begun_s``, when the first iterations are over: warm-up, then windows."""
    _run(device, iterate, WARM_SHARE * seconds - (time.monotonic() - begun_s), iteration_s)
    left_s = max(0.0, seconds - (time.monotonic() - begun_s))
    length_s = min(LONGEST_WINDOW_S, max(SHORTEST_WINDOW_S, left_s / WINDOWS_WANTED))
    t0_ns = time.monotonic_ns()
    done = _run(device, iterate, left_s, iteration_s, length_s, LEAST_WINDOWS)
    return done, (t0_ns, time.monotonic_ns())


def _run(
    device: Device,
    iterate: Callable[[], Any],
    seconds: float,
    iteration_s: float,
    length_s: float = SHORTEST_WINDOW_S,
    least: int = 0,
) -> "list[float]":
    """Windows of ``length_s``, one after the other until ``seconds`` have passed and ``least`` are done."""
    count = max(1, int(length_s / iteration_s))  # rounded up, fewer windows than wanted would fit
    done: list[float] = []
    start = time.monotonic()
    windows = device.windows(length_s)
    while True:
        behind = windows.running()
        if len(done) + behind >= least and time.monotonic() - start + behind * count * iteration_s >= seconds:
            break
        done += windows.run(iterate, count)
    return done + windows.drain()
