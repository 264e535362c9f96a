# pyright: standard
"""Words of the suite: groups, levels of the memory, and a figure within its benchmark."""

from collections.abc import Callable, Mapping, Sequence

from gputuner.analysis.headlines import HEADLINE as HEADLINES
from gputuner.analysis.headlines import WORST_TOO, benchmark_of
from gputuner.analysis.regression import REGION
from gputuner.experiments.benchmarks.catalogue import BENCHMARKS
from gputuner.language import benchmarks, sentences
from gputuner.language.benchmarks import GROUPS, level
from gputuner.language.names import WORKLOADS, workload
from gputuner.language.numbers import value
from gputuner.language.words import N_, _, listed
from gputuner.model.points import Point
from gputuner.model.readings import Scalar

_PARTS: dict[str, str] = {
    "read": N_("read"),
    "write": N_("write"),
    "copy": N_("copy"),
    "scale": N_("scale"),
    "triad": N_("triad"),
    "sparse": N_("sparse"),
}


def operation_words(operation: str) -> str:
    """What is done to the memory, or another part of a benchmark's name."""
    return _(_PARTS[operation]) if operation in _PARTS else operation


def group_of(benchmark: str, metric: str = "") -> str:
    """The group that a benchmark is listed under; of one that the suite does not know, by its name or metric."""
    known = {entry.name: entry.group for entry in BENCHMARKS}
    if benchmark in known:
        return known[benchmark]
    return "training" if metric == "train_throughput" else benchmark.partition("-")[0]


def group_order() -> list[str]:
    """The groups in the order of the suite."""
    return list(dict.fromkeys([*GROUPS, *(entry.group for entry in BENCHMARKS)]))


def short_name(benchmark: str, group: str) -> str:
    """The benchmark's name below its group's heading: ``bf16`` for ``gemm-bf16``."""
    return benchmark.removeprefix(f"{group}-")


def row_name(benchmark: str, group: str) -> str:
    """The benchmark below its group's heading, for people: a model by its name, formats in capitals."""
    if benchmark in WORKLOADS and group == "training":
        return workload(benchmark)
    short = short_name(benchmark, group)
    parts = [_("(FP16 sums)") if part == "acc16" else format_words(part) for part in short.split("-")]
    return " ".join(operation_words(part) for part in parts)


def benchmark_words(benchmark: str, metric: str = "") -> str:
    """A benchmark with its group, wherever its group's heading is not in sight: ``Matrix multiplication · BF16``."""
    group = group_of(benchmark, metric)
    words = benchmarks.group(group)
    return words if benchmark == group else f"{words} · {row_name(benchmark, group)}"


def figure_words(point: Point) -> str:
    """A figure with its group, settings and shape."""
    benchmark = benchmark_of(point)
    metric = sentences.metric(point.metric) if point.metric in _TELLING else ""
    parts = (benchmark_words(benchmark, point.metric), metric, setting_words(untold(point)), shape_words(point))
    return " · ".join(part for part in parts if part)


def brief_words(point: Point) -> str:
    """As ``figure_words``, without the group where the benchmark's own name is clear: for narrow tables."""
    benchmark = benchmark_of(point)
    whole, name = benchmark_words(benchmark, point.metric), row_name(benchmark, group_of(benchmark, point.metric))
    if point.metric in WORST_TOO:
        return setting_words(untold(point))
    brief = name if benchmark != group_of(benchmark, point.metric) else whole
    return brief + figure_words(point).removeprefix(whole)


def row_names(points: Sequence[Point], group: str) -> dict[str, str]:
    """Names of figures below their group's heading by id: what tells them apart first, what all share left out."""
    shared = _shared(points)
    settings = {point.id: _ordered(point, points, shared) for point in points}
    names = {point.id: _below(point, group) for point in points}
    alone = len({benchmark_of(point) for point in points}) == 1 and len(points) > 1
    if alone and all(_apart(p, points) or settings[p.id] or p.metric in _TELLING for p in points):
        names = {point.id: "" for point in points}
    result: dict[str, str] = {}
    for point in points:
        metric = sentences.metric(point.metric) if point.metric in _TELLING else ""
        parts = (names[point.id], _apart(point, points), setting_words(settings[point.id]), metric)
        told = [part for part in parts if part]
        result[point.id] = " · ".join(told) or row_name(benchmark_of(point), group)
    return result


def shared_words(points: Sequence[Point]) -> str:
    """The settings that all figures of a group share, for its heading."""
    shared = _shared(points)
    return setting_words({name: entry for name, entry in _telling(points[0]).items() if name in shared})


def _below(point: Point, group: str) -> str:
    benchmark = benchmark_of(point)
    return "" if short_name(benchmark, group) == group else row_name(benchmark, group)


def _telling(point: Point) -> dict[str, Scalar]:
    told = HEADLINE | {"offset_bytes"} if point.metric in WORST_TOO else HEADLINE
    return {name: entry for name, entry in untold(point).items() if name in told}


def _shared(points: Sequence[Point]) -> frozenset[str]:
    if len(points) < 2:
        return frozenset()
    first, *others = (_telling(point).items() for point in points)
    return frozenset(name for name, entry in first if all((name, entry) in each for each in others))


def _ordered(point: Point, points: Sequence[Point], shared: frozenset[str]) -> dict[str, Scalar]:
    """A figure's settings that not all share; those in which its benchmark's figures differ come first."""
    peers = [_telling(each) for each in points if benchmark_of(each) == benchmark_of(point)]
    own = {name: entry for name, entry in _telling(point).items() if name not in shared}
    return dict(sorted(own.items(), key=lambda item: len({peer.get(item[0], "") for peer in peers}) == 1))


def _apart(point: Point, points: Sequence[Point]) -> str:
    """Which of the two figures of a metric of many places it is, where its settings do not tell."""
    if point.metric not in WORST_TOO or REGION in point.params:
        return ""
    values = [each.value for each in points if each.metric == point.metric and each.card == point.card]
    if min(values) == max(values):
        return ""
    return _("slowest") if point.value == min(values) else _("fastest") if point.value == max(values) else ""


def untold(point: Point) -> dict[str, Scalar]:
    """The settings that neither the benchmark's name nor the shape tells."""
    name = f"{benchmark_of(point)}-"
    return {
        key: entry
        for key, entry in point.params.items()
        if key not in SHAPE and not (key in {"precision", "operation"} and f"-{entry}-" in name)
    }


HEADLINE = frozenset(HEADLINES)
SHAPE = frozenset({"m", "n", "k", "bytes", "transposed", "null"})
"""Parameters that ``shape_words`` tells, or that nobody looks for."""
_DIRECTIONS: dict[str, str] = {
    "host_to_device": N_("host → card"),
    "device_to_host": N_("card → host"),
    "both": N_("both ways"),
    "forward_backward": N_("forward + backward"),
}


def setting_words(params: Mapping[str, Scalar]) -> str:
    """Settings in one line, those of the suite in its words."""
    return listed(
        _OWN[name](entry) if name in _OWN else sentences.settings({name: entry}) for name, entry in params.items()
    )


_OWN: dict[str, Callable[[Scalar], str]] = {
    "level": lambda entry: level(str(entry)),
    "operation": lambda entry: operation_words(str(entry)),
    "precision": lambda entry: format_words(str(entry)),
    "offset_bytes": lambda entry: _("from {offset}").format(offset=value(entry, "bytes")),
    "phase": lambda entry: _("shape search") if entry == "search" else sentences.settings({"phase": entry}),
    "direction": lambda entry: (
        _(_DIRECTIONS[str(entry)]) if str(entry) in _DIRECTIONS else sentences.settings({"direction": entry})
    ),
    "pinned": lambda entry: _("pinned") if entry else _("pageable"),
    "setup_counted": lambda entry: _("with set-up") if entry else _("without set-up"),
    "fast_accumulate": lambda entry: _("fast accumulation") if entry else "",
}
_TELLING = frozenset({"launch_time", "graph_launch_time", "host_rate", "prefill_rate", "decode_rate"})
"""Metrics of which one benchmark has several."""


def format_words(precision: str) -> str:
    """A number format in capitals; sums in FP16 are said."""
    plain, _dash, sums = precision.partition("-")
    words = plain.upper() if plain in PLAIN else plain
    return f"{words} " + (_("(FP16 sums)") if sums == "acc16" else sums) if sums else words


_CAUSES: dict[str, str] = {
    "nothing": N_("Nothing: near the peak at its clock"),
    "power_cap": N_("The power limit"),
    "thermal": N_("Heat"),
    "hardware_slowdown": N_("The card's hardware, cause not told"),
    "user_cap": N_("A clock set by a user"),
    "link": N_("The PCIe link"),
    "memory_bandwidth": N_("Memory bandwidth"),
    "host": N_("The host"),
    "loader": N_("The data loader"),
    "software": N_("Kernels and shapes"),
    "software_or_memory": N_("Kernels, shapes or memory"),
    "emulated": N_("Emulated arithmetic"),
    "shared": N_("Others on the card"),
    "no_limit_seen": N_("No limit seen; the peak for this is not known"),
    "unknown": N_("Not known: no telemetry meanwhile"),
}


def cause_words(cause: str) -> str:
    """What held figures back, in a few words; the sentence of each figure has its numbers."""
    return _(_CAUSES[cause]) if cause in _CAUSES else cause.replace("_", " ")


PLAIN = frozenset({"fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"})
"""Number formats, written in capitals."""


def shape_words(point: Point) -> str:
    """Sizes of a figure: ``8192 × 8192 × 4096``, ``64 MiB``."""
    if {"m", "n", "k"} <= set(point.params):
        sizes = [str(point.params[name]) for name in ("m", "n", "k")]
        return f"{sizes[0]}³" if len(set(sizes)) == 1 else " × ".join(sizes)
    return value(point.params["bytes"], "bytes") if "bytes" in point.params else ""
