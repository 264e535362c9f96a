"""The figures of a run that speak for it: of many shapes and sizes the best, cold and steady apart."""

from collections.abc import Iterable

from gputuner.model.points import Flag, Point
from gputuner.model.readings import Scalar

HEADLINE = (
    "precision", "phase", "operation", "level", "direction", "pinned", "backend", "loader", "compile", "setup_counted",
    "fast_accumulate", "accumulate", "sparse", "decode", "method", "sequence", "channels_last",
    "variant", "context", "quantised", "mode", "region",
)  # fmt: skip
"""Settings that make a figure of their own; of all others (shapes, sizes, batches) the best is shown."""
WORST_TOO = frozenset({"region_bandwidth"})
"""Metrics of many places of which the worst is telling too."""
NUMERICAL = frozenset(
    {"numerics_verdict", "train_loss", "train_loss_band", "autocast_kept", "numerics_trap", "activation_peak"}
)
"""Metrics of a numerical check: of a training and its number formats, neither more nor less of anything good."""
BESIDE = frozenset({"null_difference", "co_run_cause", "co_run_predicted"}) | NUMERICAL
"""Metrics that say nothing of the card's own."""
LESS_IS_BETTER = frozenset(
    {"access_latency", "launch_time", "graph_launch_time", "co_run_slowdown", "load_temperature",
     "load_memory_temperature", "load_power", "memory_per_sample", "memory_peak"}
)  # fmt: skip

PASSING = frozenset({"search", "sweep"})
"""Phases on the way to a figure."""

NULL = "null"
"""Parameter of a repeat of the null check: it says how far the machine wavers, and is no figure of its session."""
BETWEEN = "between"
"""Level of a footprint that lies on none: neither cache nor DRAM has such a figure."""

Place = tuple[str, str, str, Scalar]
Key = tuple[str, str, str, tuple[Scalar, ...]]


def less_is_better(point: Point) -> bool:
    """Times, temperatures and needs: the lowest is the best."""
    return point.metric in LESS_IS_BETTER or point.unit == "s"


def benchmark_of(point: Point) -> str:
    """The benchmark (``gemm-bf16``) that a figure belongs to, else its workload."""
    return str(point.extra.get("benchmark") or point.workload)


def setting_of(point: Point) -> Key:
    """What a figure is of, beside shape, size and batch."""
    return (
        point.card,
        benchmark_of(point),
        point.metric,
        tuple(point.params.get(name, "") for name in HEADLINE),
    )


def _place(point: Point) -> Place:
    return point.card, benchmark_of(point), point.metric, point.params.get("level", "")


def _superseded(place: Place, settled: set[Place], levelled: set[tuple[str, str, str]]) -> bool:
    return place in settled or (place[3] == BETWEEN and place[:3] in levelled)


def headlines(points: Iterable[Point]) -> list[Point]:
    """For each benchmark and setting the best figure, in the order of their first.

    A figure that cannot be right speaks for nothing, nor does a repeat of the null check. Those of a search, and of a
    sweep at the same level of the memory, only until others come; of a sweep between two levels, where a level has its
    figure, none.
    """
    chosen: dict[Key, list[Point]] = {}
    for point in points:
        if point.metric not in BESIDE and NULL not in point.params and Flag.IMPLAUSIBLE not in point.flags:
            chosen.setdefault(setting_of(point), []).append(point)
    settled = {_place(found[0]) for found in chosen.values() if found[0].params.get("phase") not in PASSING}
    levelled = {place[:3] for place in settled if place[3]}
    result: list[Point] = []
    for key, found in chosen.items():
        if found[0].params.get("phase") in PASSING and _superseded(_place(found[0]), settled, levelled):
            continue
        ranked = sorted(found, key=lambda point: point.value, reverse=not less_is_better(found[0]))
        result += [ranked[0], ranked[-1]] if key[2] in WORST_TOO and len(ranked) > 1 else ranked[:1]
    return result
