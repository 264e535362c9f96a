# pyright: standard
"""Words of the suite: groups, levels of the memory, and a figure within its benchmark."""

from collections.abc import Callable, Mapping

from gputuner.analysis.headlines import HEADLINE, benchmark_of
from gputuner.experiments.benchmarks.catalogue import BENCHMARKS
from gputuner.language import sentences
from gputuner.language.benchmarks import GROUPS, level
from gputuner.language.names import WORKLOADS, workload
from gputuner.language.numbers import value
from gputuner.language.words import N_, _
from gputuner.model.points import Point
from gputuner.model.readings import Scalar

_OPERATIONS: dict[str, str] = {
    "read": N_("read"),
    "write": N_("write"),
    "copy": N_("copy"),
    "scale": N_("scale"),
    "triad": N_("triad"),
}


def operation_words(operation: str) -> str:
    """What is done to the memory."""
    return _(_OPERATIONS[operation]) if operation in _OPERATIONS else operation


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


def row_words(point: Point, group: str) -> str:
    """A figure below its group's heading: benchmark, then the settings that its name does not tell."""
    short = short_name(benchmark_of(point), group)
    settings = {name: entry for name, entry in untold(point).items() if name in HEADLINE}
    name = "" if short == group else row_name(benchmark_of(point), group)
    if point.metric in _TELLING:
        name = " · ".join(part for part in (name, sentences.metric(point.metric)) if part)
    return " · ".join(part for part in (name, setting_words(settings)) if part) or short


def untold(point: Point) -> dict[str, Scalar]:
    """The settings that neither the benchmark's name nor the shape tells."""
    name = f"{benchmark_of(point)}-"
    return {
        key: entry
        for key, entry in point.params.items()
        if key not in SHAPE and not (key in {"precision", "operation"} and f"-{entry}-" in name)
    }


SHAPE = frozenset({"m", "n", "k", "bytes", "transposed", "null"})
"""Parameters that ``shape_words`` tells, or that nobody looks for."""
_DIRECTIONS: dict[str, str] = {
    "h2d": N_("host → card"),
    "d2h": N_("card → host"),
    "both": N_("both ways"),
    "forward": N_("forward"),
    "backward": N_("backward"),
}


def setting_words(params: Mapping[str, Scalar]) -> str:
    """Settings in one line, those of the suite in its words."""
    rest = {name: entry for name, entry in params.items() if name not in _OWN}
    own = [_OWN[name](entry) for name, entry in params.items() if name in _OWN]
    return ", ".join(part for part in (*own, sentences.settings(rest)) if part)


_OWN: dict[str, Callable[[Scalar], str]] = {
    "level": lambda entry: level(str(entry)),
    "operation": lambda entry: operation_words(str(entry)),
    "precision": lambda entry: format_words(str(entry)),
    "offset_bytes": lambda entry: _("from {offset}").format(offset=value(entry, "bytes")),
    "phase": lambda entry: _("shape search") if entry == "search" else sentences.settings({"phase": entry}),
    "direction": lambda entry: _(_DIRECTIONS.get(str(entry), str(entry))),
    "pinned": lambda entry: _("pinned") if entry else _("pageable"),
    "setup_counted": lambda entry: _("with set-up") if entry else _("without set-up"),
    "fast_accumulate": lambda entry: _("fast accumulation") if entry else "",
}
_TELLING = frozenset({"launch_time", "graph_launch_time", "host_rate", "prefill_rate", "decode_rate"})
"""Metrics of which one benchmark has several."""


def format_words(precision: str) -> str:
    """A number format in capitals; sums in FP16 are said."""
    return precision.upper() if precision in PLAIN else precision.replace("-acc16", " " + _("(FP16 sums)"))


_CAUSES: dict[str, str] = {
    "nothing": N_("Nothing: near the peak at its clock"),
    "power_cap": N_("The power limit"),
    "thermal": N_("Heat"),
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
