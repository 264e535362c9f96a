"""Where a figure stands among those that others published for the same card, at the same accumulator and mode."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Protocol

from gputuner.analysis.arithmetic import arithmetic_of
from gputuner.model.readings import Scalar

LEAST_SOURCES = 3
"""Figures of fewer independent sources than this give no percentile, only themselves."""
UNLIKE = (
    "optimistic", "not best size", "n=8192", "8192^3", "outlier", "disturbed", "input-pipeline bound", "lower bound",
    "same kernel", "possibly memory overclock",
)  # fmt: skip
"""Remarks (``conditions``) of figures that ours cannot be compared with: operands that switch fewer transistors, one
shape where ours is the best of many, disturbed runs, and what was not the card's own rate.
"""
DEFAULT_IMAGE = 224
SQUAD_SEQUENCE = 384
"""Tokens per sequence of the published BERT-large fine-tunings (SQuAD, DeepLearningExamples)."""
_STREAM: dict[str, tuple[str, ...]] = {
    "read": ("read",),
    "write": ("init_write",),
    "copy": ("copy", "self_copy"),
    "scale": ("scale",),
    "triad": ("triad",),
}
_LEVELS = {"near": "l2_near", "far": "l2_far"}
_AMP = {"fp16": ("amp_fp16",), "tf32": ("tf32",), "fp32": ("fp32",)}
_TRANSFERS: dict[str, tuple[str, ...]] = {
    "host_to_device": ("h2d", "h2d_ce", "h2d_pinned"),
    "device_to_host": ("d2h", "d2h_ce", "d2h_pinned"),
    "both": ("bidir_each",),
}
"""Both ways at once is published per direction (nvbandwidth); figures that leave open which it is are left out."""
DIRECTIONS = 2.0
"""Ours is the sum of both."""


class Row(Protocol):
    """A published figure (``catalog.published.PublishedResult``)."""

    @property
    def metric(self) -> str:
        """What was measured, in the words of the file of published results."""
        ...

    @property
    def mode(self) -> str:
        """Number format, accumulator or way of running."""
        ...

    @property
    def value(self) -> float:
        """The figure, in ``unit``."""
        ...

    @property
    def unit(self) -> str:
        """Such as ``TFLOPS`` or ``GB/s``."""
        ...

    @property
    def conditions(self) -> str:
        """How it was measured, with the remarks of whoever collected it."""
        ...

    @property
    def source(self) -> str:
        """Where it was published."""
        ...


UNITS: dict[str, float] = {
    "TFLOPS": 1e12,
    "TOPS": 1e12,
    "GB/s": 1e9,
    "ns": 1e-9,
    "images/s": 1.0,
    "sequences/s": 1.0,
}
"""Factor from a published unit to ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which published rows a figure may be compared with: their metric and modes.

    ``less``: smaller is better. ``factor``: what a row is multiplied by to mean the same as the figure.
    """

    metric: str
    modes: tuple[str, ...]
    less: bool = False
    factor: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A figure among published ones, all in its own unit.

    ``n``: how many; ``worse``: how many of them are worse. ``percentile``: share (0–100) that is worse, ties counted
    half, each source weighing the same however many rows it has; None with fewer than ``LEAST_SOURCES`` sources.
    """

    metric: str
    modes: tuple[str, ...]
    n: int
    worse: int
    low: float
    median: float
    high: float
    percentile: float | None
    sources: tuple[str, ...]


def wanted(metric: str, workload: str, params: Mapping[str, Scalar]) -> Wanted | None:
    """The published rows that mean the same as a figure; None where nobody published such.

    Emulated, compiled, sparse, loader-fed and otherwise special runs are compared with nothing.
    """
    match metric:
        case "matmul_rate":
            return _matmul(params)
        case "stream_bandwidth" if params.get("level", "dram") == "dram":
            modes = _STREAM.get(str(params.get("operation")))
            return Wanted(metric="dram_bandwidth", modes=modes) if modes else None
        case "access_latency":
            level = str(params.get("level"))
            return Wanted(metric="memory_latency", modes=(_LEVELS.get(level, level),), less=True)
        case "transfer_bandwidth" if params.get("pinned") is True:
            modes = _TRANSFERS.get(str(params.get("direction")))
            factor = DIRECTIONS if params.get("direction") == "both" else 1.0
            return Wanted(metric="pcie_bandwidth", modes=modes, factor=factor) if modes else None
        case "train_throughput":
            return _training(workload, params)
        case _:
            return None


def _matmul(params: Mapping[str, Scalar]) -> Wanted | None:
    arithmetic = arithmetic_of(params)
    if arithmetic is None or arithmetic.sparse:
        return None
    return Wanted(metric="matmul_tflops", modes=(arithmetic.mode,))


def _training(workload: str, params: Mapping[str, Scalar]) -> Wanted | None:
    special = any(params.get(name) not in (None, False, "", "synthetic", "none") for name in ("compile", "loader"))
    modes = _AMP.get(str(params.get("precision")))
    if special or modes is None or params.get("sparse"):
        return None
    if workload == "resnet50" and params.get("image", DEFAULT_IMAGE) == DEFAULT_IMAGE:
        layout = ("amp_fp16_nhwc",) if params.get("channels_last") else ("amp_fp16_nchw",)
        return Wanted(metric="resnet50_train", modes=(*modes, *layout) if modes == ("amp_fp16",) else modes)
    sequence = params.get("sequence", params.get("seq"))
    if workload == "bert-large" and sequence == SQUAD_SEQUENCE:
        return Wanted(metric="bert_large_squad_train", modes=modes)
    return None


def standing(value: float, which: Wanted, rows: Sequence[Row]) -> Standing | None:
    """Where ``value`` (in our unit) stands among ``rows`` of the same card; None where none of them is meant."""
    fit = [row for row in rows if _fits(row, which)]
    if not fit:
        return None
    values = sorted(_ours(row, which) for row in fit)
    by_source: dict[str, list[float]] = {}
    for row in fit:
        by_source.setdefault(origin_of(row.source), []).append(_ours(row, which))
    shares = [_beaten(value, found, less=which.less) for found in by_source.values()]
    return Standing(
        metric=which.metric,
        modes=tuple(dict.fromkeys(row.mode for row in fit)),
        n=len(values),
        worse=sum((other > value) if which.less else (other < value) for other in values),
        low=values[0],
        median=median(values),
        high=values[-1],
        percentile=100.0 * fmean(shares) if len(shares) >= LEAST_SOURCES else None,
        sources=tuple(dict.fromkeys(row.source for row in fit)),
    )


def origin_of(source: str) -> str:
    """Who published: the repository or site, whichever of its tables, tests or issues a figure is from."""
    return source.removeprefix("github:").partition("#")[0].partition(" ")[0]


def _fits(row: Row, which: Wanted) -> bool:
    meant = row.metric == which.metric and row.mode in which.modes and row.unit in UNITS
    return meant and not any(remark in row.conditions.lower() for remark in UNLIKE)


def _ours(row: Row, which: Wanted) -> float:
    return row.value * UNITS[row.unit] * which.factor


def _beaten(value: float, others: Sequence[float], *, less: bool) -> float:
    """Share (0–1) of ``others`` that are worse than ``value``, ties counted half."""
    worse = sum((other > value) if less else (other < value) for other in others)
    return (worse + 0.5 * sum(other == value for other in others)) / len(others)
