"""Trainings measured again in turns (A B B A A B): which of them stand for a setting.

Of a setting with enough rounds the one of median rate stands for it, in place of the single figure that scattered.
"""

from collections.abc import Iterable, Sequence

from gputuner.model.points import Flag, Point

TURN = "turn"
"""Phase of such a ``train_throughput``; its param ``round`` counts from 1."""
LEAST_ROUNDS = 3
"""Fewer give no interval worth the name (two rounds have one degree of freedom: Student's 12.7)."""
FAULTY = frozenset({Flag.TOO_SLOW, Flag.IMPLAUSIBLE})
SETTING = ("batch", "precision", "channels_last")


def middle(points: Sequence[Point]) -> Point:
    """The figure of median value (the lower of two)."""
    return sorted(points, key=lambda point: point.value)[(len(points) - 1) // 2]


def is_turn(point: Point) -> bool:
    """Whether it was measured in turns with others."""
    return point.params.get("phase") == TURN


def with_turns(points: Iterable[Point]) -> list[Point]:
    """The figures without turns; where a setting has ``LEAST_ROUNDS`` or more, its middle one for the single figure."""
    told = list(points)
    groups: dict[tuple[object, ...], list[Point]] = {}
    for point in filter(is_turn, told):
        if not FAULTY & set(point.flags):
            groups.setdefault(_setting(point), []).append(point)
    standing = {key: middle(group) for key, group in groups.items() if len(group) >= LEAST_ROUNDS}
    kept = [point for point in told if not is_turn(point)]
    return [standing.get(_setting(p), p) if p.params.get("phase") == "probe" else p for p in kept]


def _setting(point: Point) -> tuple[object, ...]:
    return (point.card, point.workload, *(point.params.get(name) for name in SETTING))
