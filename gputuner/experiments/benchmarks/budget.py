"""What of a suite a time budget has room for: all of it shortened alike, and where that is too short, the telling ones.

A benchmark says the less, the more of its group stand before it: copies of one kind, formats and models beside others.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from gputuner.experiments.benchmarks.benchmark import Benchmark

LEAST_SHARE = 0.1
"""Benchmarks are not shortened below this share of their usual time."""
FLOOR_S = 4.0
"""Set-up and a first pass, which cannot be shortened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A benchmark without room: the least seconds it needs, and those that more telling ones leave."""

    benchmark: Benchmark
    needed_s: float
    left_s: float


def shortened_s(cost_s: float, share: float) -> float:
    """Seconds of a benchmark that usually takes ``cost_s``, of which ``share`` of the time is measured."""
    floor_s = min(cost_s, FLOOR_S)
    return floor_s + share * (cost_s - floor_s)


def least_s(cost_s: float) -> float:
    """As :func:`shortened_s`, when it is shortened as far as it can be."""
    return shortened_s(cost_s, LEAST_SHARE)


def share_for(costs: Sequence[float], room_s: float) -> float:
    """Share to which all are shortened alike to fit ``room_s``, from the least to 1."""
    floor_s = sum(shortened_s(cost, 0.0) for cost in costs)
    rest_s = sum(costs) - floor_s
    return 1.0 if rest_s <= 0.0 else min(1.0, max(LEAST_SHARE, (room_s - floor_s) / rest_s))


def left_out(
    suite: Sequence[Benchmark], queue: Sequence[Benchmark], costs: Sequence[float], room_s: float
) -> tuple[LeftOut, ...]:
    """Those of ``queue`` to leave out so that the others, shortened as far as they can be, fit.

    Args:
        suite: all that the run began with, in order: says which stand before which in their group.
        queue: those still to run.
        costs: usual seconds of each of ``queue``.
        room_s: seconds that are left.
    """
    place = _places(suite)
    least = {benchmark.name: least_s(cost) for benchmark, cost in zip(queue, costs, strict=True)}
    order = sorted(range(len(queue)), key=lambda i: (place[queue[i].name], i), reverse=True)
    gone: dict[int, LeftOut] = {}
    taken_s = sum(least.values())
    for i in order:
        if taken_s <= room_s:
            break
        needed_s = least[queue[i].name]
        taken_s -= needed_s
        gone[i] = LeftOut(benchmark=queue[i], needed_s=needed_s, left_s=max(0.0, room_s - taken_s))
    return tuple(gone[i] for i in sorted(gone))


def _places(suite: Sequence[Benchmark]) -> dict[str, int]:
    """How many of its group stand before each."""
    seen: dict[str, int] = {}
    places: dict[str, int] = {}
    for benchmark in suite:
        places[benchmark.name] = seen.get(benchmark.group, 0)
        seen[benchmark.group] = places[benchmark.name] + 1
    return places
