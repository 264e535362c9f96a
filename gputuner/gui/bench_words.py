# pyright: standard
"""Words of the suite: groups, levels of the memory, and a figure within its benchmark."""

from collections.abc import Callable, Mapping

from gputuner.analysis.headlines import HEADLINE, benchmark_of
from gputuner.experiments.benchmarks.catalogue import BENCHMARKS
from gputuner.gui.ports import Obstacle
from gputuner.language import sentences
from gputuner.language.filling import fill
from gputuner.language.names import WORKLOADS, workload
from gputuner.language.numbers import value
from gputuner.language.words import N_, _
from gputuner.model.points import Point
from gputuner.model.readings import Scalar

_GROUPS: dict[str, str] = {
    "gemm": N_("Matrix multiplication"),
    "attention": N_("Attention"),
    "conv": N_("Convolution"),
    "memory": N_("Memory bandwidth"),
    "latency": N_("Memory latency"),
    "regions": N_("VRAM by region"),
    "pcie": N_("Host ↔ card"),
    "p2p": N_("Card ↔ card"),
    "allreduce": N_("All-reduce"),
    "training": N_("Training"),
    "inference": N_("Language model inference"),
    "decode": N_("Language model inference"),
    "loader": N_("Data loader"),
    "launch": N_("Launch and host"),
}
_LEVELS: dict[str, str] = {
    "l1": N_("L1"),
    "l2": N_("L2"),
    "l2_near": N_("near L2"),
    "l2_far": N_("far L2"),
    "far": N_("far L2"),
    "near": N_("near L2"),
    "dram": N_("DRAM"),
    "between": N_("between"),
    "host": N_("host"),
}
_OPERATIONS: dict[str, str] = {
    "read": N_("read"),
    "write": N_("write"),
    "copy": N_("copy"),
    "scale": N_("scale"),
    "triad": N_("triad"),
}


def group_words(group: str) -> str:
    """A group of benchmarks for people; a new one by its own name."""
    return _(_GROUPS[group]) if group in _GROUPS else group


def level_words(level: str) -> str:
    """A level of the memory."""
    return _(_LEVELS[level]) if level in _LEVELS else level.upper()


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
    return list(dict.fromkeys([*_GROUPS, *(entry.group for entry in BENCHMARKS)]))


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
    "level": lambda entry: level_words(str(entry)),
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


_OBSTACLES: dict[str, str] = {
    "gpu_only": N_("needs a GPU"),
    "extra_missing": N_("needs the extra {extra}"),
}


def obstacle_words(obstacle: Obstacle) -> str:
    """Why a benchmark cannot run here."""
    if obstacle.code in _OBSTACLES:
        return fill(_OBSTACLES[obstacle.code], obstacle.params)
    return obstacle.code.replace("_", " ")


def held_back_words(point: Point) -> str:
    """What held a figure back, in one sentence; nothing where that was not judged."""
    cause = point.extra.get("held_back")
    return cause if isinstance(cause, str) else ""


PLAIN = frozenset({"fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8"})
"""Number formats, written in capitals."""


def shape_words(point: Point) -> str:
    """Sizes of a figure: ``8192 × 8192 × 4096``, ``64 MiB``."""
    if {"m", "n", "k"} <= set(point.params):
        sizes = [str(point.params[name]) for name in ("m", "n", "k")]
        return f"{sizes[0]}³" if len(set(sizes)) == 1 else " × ".join(sizes)
    return value(point.params["bytes"], "bytes") if "bytes" in point.params else ""
