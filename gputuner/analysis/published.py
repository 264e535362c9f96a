"""Where a figure stands among those that others published for the same card, at the same accumulator and mode."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Protocol

from gputuner.analysis.arithmetic import arithmetic_of
from gputuner.model.readings import Scalar

LEAST_ROWS = 3
"""Fewer published figures than this give no percentile, only themselves."""
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
    "both": ("bidir",),
}


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
    """Which published rows a figure may be compared with: their metric and modes; ``less``: smaller is better."""

    metric: str
    modes: tuple[str, ...]
    less: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A figure among published ones, all in its own unit.

    ``percentile``: share (0–100) of the published figures that are worse, ties counted half; None with fewer than
    ``LEAST_ROWS`` of them.
    """

    metric: str
    modes: tuple[str, ...]
    n: int
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
            return Wanted(metric="pcie_bandwidth", modes=modes) if modes else None
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
    fit = [row for row in rows if row.metric == which.metric and row.mode in which.modes and row.unit in UNITS]
    if not fit:
        return None
    values = sorted(row.value * UNITS[row.unit] for row in fit)
    worse = sum((other > value) if which.less else (other < value) for other in values)
    same = sum(other == value for other in values)
    return Standing(
        metric=which.metric,
        modes=tuple(dict.fromkeys(row.mode for row in fit)),
        n=len(values),
        low=values[0],
        median=median(values),
        high=values[-1],
        percentile=100.0 * (worse + 0.5 * same) / len(values) if len(values) >= LEAST_ROWS else None,
        sources=tuple(dict.fromkeys(row.source for row in fit)),
    )
