"""Rules that the figures of one card must keep among themselves; a broken one means a disturbed run.

From what went unnoticed in published tables (an RTX 3080 row with TF32 12.6 below FP32 15.6 and BF16 half of FP16).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from gputuner.analysis.arithmetic import arithmetic_of
from gputuner.model.cards import CPU_CARD
from gputuner.model.points import Flag, Point
from gputuner.model.readings import Scalar

ALIKE = 0.15
"""BF16 and FP16 with FP32 accumulate have the same peak from Ampere on; they differ by less than this."""
BELOW = 0.97
"""A rate below this share of one that it must at least reach is below it."""
COPY_ABOVE_READ = 1.10
UNSETTLED = ("burst", "search")
LATENCY_ORDER = ("l1", "l2", "l2_near", "l2_far", "dram")


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A rule that does not hold: its code (words in ``language/benchmarks.py``) and the figures."""

    code: str
    params: dict[str, Scalar] = field(default_factory=lambda: {})


def best_rates(points: Iterable[Point]) -> dict[str, float]:
    """Best settled matrix product by published mode (``bf16_acc32`` …), FLOP/s; none from cold, none of a search."""
    found: dict[str, float] = {}
    for point in points:
        arithmetic = arithmetic_of(point.params)
        if arithmetic is None or point.metric != "matmul_rate" or Flag.EMULATED in point.flags:
            continue
        mode = arithmetic.mode
        if point.params.get("phase") not in UNSETTLED:
            found[mode] = max(point.value, found.get(mode, 0.0))
    return found


def tf32_below_fp32(rate: float, fp32: float | None) -> bool:
    """True if a TF32 product is slower than an FP32 one: TF32 was off, or the run was disturbed."""
    return fp32 is not None and rate < BELOW * fp32


def broken_rules(points: Iterable[Point]) -> tuple[Broken, ...]:
    """All rules that the figures of one card break; a processor keeps those of number formats by no law."""
    kept = tuple(points)
    rates = best_rates(point for point in kept if point.card != CPU_CARD)
    return (*_arithmetic(rates), *_implausible(kept), *_memory(kept), *_latency(kept))


def _arithmetic(rates: dict[str, float]) -> Iterable[Broken]:
    pairs = (
        ("tf32", "fp32"),
        ("fp16_acc32", "tf32"),
        ("bf16_acc32", "tf32"),
        ("fp16_acc16", "fp16_acc32"),
    )
    for mode, floor in pairs:
        if mode in rates and floor in rates and rates[mode] < BELOW * rates[floor]:
            yield Broken(
                code="sanity_below",
                params={"mode": mode, "rate": rates[mode], "other": floor, "other_rate": rates[floor]},
            )
    half, brain = rates.get("fp16_acc32"), rates.get("bf16_acc32")
    if half and brain and abs(half / brain - 1.0) > ALIKE:
        params: dict[str, Scalar] = {"rate": brain, "other_rate": half}
        yield Broken(code="sanity_bf16_unlike_fp16", params=params)


def _implausible(points: tuple[Point, ...]) -> Iterable[Broken]:
    count = sum(Flag.IMPLAUSIBLE in point.flags for point in points)
    if count:
        yield Broken(code="sanity_above_peak", params={"n": count})


def _memory(points: tuple[Point, ...]) -> Iterable[Broken]:
    rates: dict[str, float] = {}
    for point in points:
        if point.metric == "stream_bandwidth" and point.params.get("level", "dram") == "dram":
            name = str(point.params.get("operation"))
            rates[name] = max(point.value, rates.get(name, 0.0))
    if "read" in rates and "copy" in rates and rates["copy"] > COPY_ABOVE_READ * rates["read"]:
        yield Broken(code="sanity_copy_above_read", params={"copy": rates["copy"], "read": rates["read"]})


def _latency(points: tuple[Point, ...]) -> Iterable[Broken]:
    found: dict[str, float] = {}
    for point in points:
        level = str(point.params.get("level"))
        if point.metric == "access_latency" and level in LATENCY_ORDER:
            found[level] = min(point.value, found.get(level, point.value))
    levels = [level for level in LATENCY_ORDER if level in found]
    for near, far in pairwise(levels):
        if found[near] > found[far]:
            yield Broken(code="sanity_latency_order", params={"near": near, "far": far})
