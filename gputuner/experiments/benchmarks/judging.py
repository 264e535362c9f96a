"""Judgement of a figure: share of the peak at its clock and of the sheet, roofline, published figures, what held back.

``measured_against`` knows the trial and is asked when a figure is made; ``judged`` knows the finished figure and those
before it, and is asked when it is told.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from gputuner.analysis.arithmetic import Arithmetic, arithmetic_of
from gputuner.analysis.headlines import benchmark_of
from gputuner.analysis.held_back import LITTLE_LOST, Cause, Seen, held_back
from gputuner.analysis.published import standing, wanted
from gputuner.analysis.roofline import (
    CONTRADICTION,
    NO_CACHE_HOLDS,
    above_peak,
    attainable,
    binds,
    card_peak_at_clock,
    dram_peak,
    link_peak,
    matmul_intensity,
    sparse_speedup,
)
from gputuner.analysis.sanity import best_rates, tf32_below_fp32
from gputuner.experiments.course import Course
from gputuner.experiments.protocol import PlanContext
from gputuner.model.points import Flag, Point
from gputuner.model.readings import Scalar
from gputuner.model.steps import Trial

DRAM_METRICS = frozenset({"stream_bandwidth", "region_bandwidth", "copy_bandwidth"})
LINK_METRICS = frozenset({"transfer_bandwidth"})
JUDGED_METRICS = DRAM_METRICS | LINK_METRICS | {
    "matmul_rate", "attention_rate", "conv_rate", "train_throughput", "prefill_rate", "decode_rate",
}  # fmt: skip
"""Figures of which it is said what held them back."""
CLOCK_OVER = 1.01
"""A clock measured in band may lie above the card's highest by this factor; more is a faulty measurement."""
FREE_PHASES = frozenset({"burst", "bursts"})
"""Measured before a limit takes hold: from cold once, or in short bursts with pauses."""
BY_MEMORY = "memory"
"""``bound_by`` of a figure that the memory's slope binds: its peaks are the roofline's there, not the arithmetic's."""
BEFORE_CAP = "before_power_cap"
"""Why a figure has no rank among published ones: it is that before a limit took hold, theirs are of a warm card."""
SUMS_OVER = 1.05
"""An FP8 rate this far above the peak with FP32 sums was computed with narrower ones (fast accumulation)."""
Extra = dict[str, Scalar]


def measured_against(context: PlanContext, earlier: Iterable[Point], point: Point, trial: Trial, counted: str) -> Extra:
    """Shares of peaks, roofline place and standing among published figures, as far as they can be told.

    Args:
        context: card, sheet and published results.
        earlier: figures of the run so far (for the memory clock of windows too short for telemetry).
        point: the figure.
        trial: what it was measured in.
        counted: what the figure counts of ``trial.work``.
    """
    extra: Extra = _standing(context, point)
    if "conditions_of" in point.extra:  # the clock is not the figure's own: shares of its peak are judged loosely
        extra["conditions_of"] = point.extra["conditions_of"]
    memory_hz = _memory_clock_hz(point, earlier)
    bandwidth = _dram_peak(context, memory_hz)
    if point.metric in DRAM_METRICS and point.params.get("level", "dram") == "dram":
        return extra | _shares(point.value, bandwidth, context.published.get("peak_bandwidth"))
    if point.metric in LINK_METRICS:
        return extra | _of_link(point)
    arithmetic = arithmetic_of(point.params)
    flops = _flop_per_unit(point, trial, counted)
    if arithmetic is None or flops is None or context.card.is_cpu:
        return extra
    rate = point.value * flops
    speedup = 1.0
    if arithmetic.sparse and point.metric == "train_throughput":
        arithmetic, speedup = replace(arithmetic, sparse=False), sparse_speedup(_sparse_share(trial))
    peak, arithmetic = _peak(context, point, trial, arithmetic, rate)
    peak, sheet = (most * speedup if most else None for most in (peak, _sheet(context, arithmetic)))
    if counted == "flop":
        extra["accumulator"] = arithmetic.accumulate
    at, moved = _intensity(point, trial, arithmetic)
    sheet_bandwidth = context.published.get("peak_bandwidth")
    bandwidth, most = bandwidth or sheet_bandwidth, peak or sheet
    if at is not None and bandwidth and most:
        beyond = moved is not None and moved >= NO_CACHE_HOLDS * (_l2_bytes(context) or float("inf"))
        if binds(at * bandwidth, most, rate, beyond_caches=beyond):
            extra |= {"bound_by": BY_MEMORY} | ({"compute_peak_at_clock": peak} if peak else {})
            peak = at * bandwidth
            sheet = attainable(at, sheet, sheet_bandwidth) if sheet and sheet_bandwidth else None
    return extra | _roofline(at, moved, rate, peak, bandwidth) | _shares(rate, peak, sheet)


def implausible(extra: Extra) -> bool:
    """True if a share of a peak is one that no card reaches."""
    return above_peak(extra)


def judged(course: Course, point: Point) -> Point:
    """``point`` with what held it back, its share of the cold rate, and flags that other figures of the run give it."""
    flags = list(point.flags)
    if _tf32_is_slower(course.points, point):
        flags.append(Flag.TF32_BELOW_FP32)
    extra = dict(point.extra) | _of_burst(course.points, point)
    if _is_judged(point) and not course.context.card.is_cpu:
        extra |= _held_back(course, point)
    return replace(point, extra=extra, flags=tuple(dict.fromkeys(flags)))


def _is_judged(point: Point) -> bool:
    """Figures of caches have no peak to be held against, and one that cannot be right was held back by nothing."""
    beyond_caches = point.metric not in DRAM_METRICS or point.params.get("level", "dram") == "dram"
    return point.metric in JUDGED_METRICS and beyond_caches and Flag.IMPLAUSIBLE not in point.flags


def _held_back(course: Course, point: Point) -> Extra:
    found = held_back(_seen(course, point))
    told: dict[str, Scalar | None] = {
        "held_back": found.cause.value,
        "held_back_share": found.share,
        "held_back_lost": None if found.cause is Cause.NOTHING else found.lost,
        "held_back_beside": None if found.beside is None else found.beside.value,
        "held_back_beside_share": found.beside_share,
        "held_back_most": None if found.most else False,
    }
    return {name: figure for name, figure in told.items() if figure is not None}


def _shares(value: float, peak: float | None, sheet: float | None) -> Extra:
    shares: Extra = {}
    if peak:
        shares |= {"peak_at_clock": peak, "fraction_of_peak_at_clock": value / peak}
    if sheet:
        shares["fraction_of_sheet"] = value / sheet
    return shares


def _standing(context: PlanContext, point: Point) -> Extra:
    which = wanted(point.metric, benchmark_workload(point), point.params)
    found = standing(point.value, which, context.results) if which and point.value > 0 else None
    if found is None:
        return {}
    extra: Extra = {
        "published_n": found.n,
        "published_low": found.low,
        "published_median": found.median,
        "published_high": found.high,
        "published_mode": ", ".join(found.modes),
        "published_source": "; ".join(found.sources),
    }
    if point.params.get("phase") in FREE_PHASES:  # theirs are means of a warmed-up card: a range, and no rank
        return {**extra, "published_unlike": BEFORE_CAP}
    extra["published_worse"] = found.worse
    return extra if found.percentile is None else {**extra, "published_percentile": found.percentile}


def benchmark_workload(point: Point) -> str:
    """The workload that published trainings are matched by: the benchmark's name."""
    return benchmark_of(point)


def _memory_clock_hz(point: Point, earlier: Iterable[Point]) -> float | None:
    """The memory clock of the window, else of the last figure of the run that has one: under load it does not move."""
    told = [point, *reversed(list(earlier))]
    clocks = (p.conditions.memory_clock_mhz for p in told if p.conditions and p.conditions.memory_clock_mhz)
    clock = next(clocks, None)
    return None if clock is None else clock * 1e6


def _dram_peak(context: PlanContext, clock_hz: float | None) -> float | None:
    """DRAM peak in bytes/s at ``clock_hz``; None where the bus is unknown or formula and sheet contradict."""
    bits, sheet = context.published.get("bus_bits"), context.published.get("peak_bandwidth")
    if not bits or clock_hz is None:
        return None
    highest = context.card.number("memory_clock_max_mhz")
    if sheet and highest and dram_peak(bits, highest * 1e6) > CONTRADICTION * sheet:
        return None
    return dram_peak(bits, clock_hz)


def _of_link(point: Point) -> Extra:
    conditions = point.conditions
    if conditions is None or conditions.pcie_generation is None or conditions.pcie_width is None:
        return {}
    peak = link_peak(conditions.pcie_generation, conditions.pcie_width)
    if not peak:
        return {}
    directions = 2 if point.params.get("direction") in ("both", "bidir") else 1
    return {"link_peak": peak * directions, "fraction_of_link": point.value / (peak * directions)}


def _flop_per_unit(point: Point, trial: Trial, counted: str) -> float | None:
    """Operations in one unit of the figure: 1 for a rate of operations, those of the model for a sample."""
    flop, amount = trial.work.get("flop"), trial.work.get(counted)
    if flop and amount:
        return flop / amount
    told = point.extra.get("model_flop_per_sample")
    return float(told) if counted == "samples" and isinstance(told, int | float) else None


def _sparse_share(trial: Trial) -> float:
    """Share of a training's operations that run on 2:4 sparse pipes; 0 where the body does not tell it."""
    return _number(trial.notes.get("sparse_flop_share")) or 0.0


def _sheet(context: PlanContext, arithmetic: Arithmetic) -> float | None:
    """The sheet's peak for an arithmetic, FLOP/s; twice the dense one for 2:4 sparse operands."""
    wide = arithmetic.accumulate == "fp16"
    names = {
        "fp64": ("peak_fp64_tensor", "peak_fp64"),
        "fp16": ("peak_fp16_acc16",) if wide else ("peak_fp16",),
        "fp8": ("peak_fp8_acc16", "peak_fp8") if wide else ("peak_fp8",),
    }.get(arithmetic.precision, (f"peak_{arithmetic.precision}",))
    dense = next((context.published[name] for name in names if name in context.published), None)
    return dense * (2.0 if arithmetic.sparse else 1.0) if dense else None


def _peak(
    context: PlanContext, point: Point, trial: Trial, arithmetic: Arithmetic, rate: float
) -> tuple[float | None, Arithmetic]:
    """Peak at the clock it ran, and the arithmetic it is the peak of.

    Which sums FP8's fast accumulation keeps is not documented: a rate that FP32 sums cannot give is held against the
    other.
    """
    peak = _peak_of(context, point, trial, arithmetic)
    if arithmetic.fast_accumulate and peak and rate > SUMS_OVER * peak:
        narrow = replace(arithmetic, accumulate="fp16")
        return _peak_of(context, point, trial, narrow), narrow
    return peak, arithmetic


def _peak_of(context: PlanContext, point: Point, trial: Trial, arithmetic: Arithmetic) -> float | None:
    card = context.card
    highest = card.number("sm_clock_max_mhz")
    clock = clock_mhz(point, trial.notes, highest)
    sheet = _sheet(context, replace(arithmetic, sparse=False))
    return card_peak_at_clock(
        name=card.name,
        capability=card.compute_capability,
        sm_count=card.sm_count,
        precision=arithmetic.precision,
        accumulate=arithmetic.accumulate,
        sparse=arithmetic.sparse,
        clock_hz=clock * 1e6 if clock else None,
        clock_max_hz=highest * 1e6 if highest else None,
        sheet=sheet,
    )


def clock_mhz(point: Point, notes: Mapping[str, Scalar], highest: float | None) -> float | None:
    """The SM clock under the load: the driver's median over the window; where no poll fell into it, the one measured
    in band (in ``notes``), unless it lies above what the card can do. A burst falls between two polls, and most polls
    fall between bursts.
    """
    if point.params.get("phase") not in FREE_PHASES and point.conditions and point.conditions.sm_clock_mhz:
        return point.conditions.sm_clock_mhz
    in_band = notes.get("clock_mhz")
    if not isinstance(in_band, int | float) or (highest and in_band > CLOCK_OVER * highest):
        return None
    return float(in_band)


def _l2_bytes(context: PlanContext) -> float | None:
    """Size of the L2 as card or worker tell it; None: neither does."""
    told = _number(context.card.number("l2_bytes")) or _number(context.worker.get("cache_bytes"))
    return told if told and told > 0 else None


def _intensity(point: Point, trial: Trial, arithmetic: Arithmetic) -> tuple[float | None, float | None]:
    """Operations per byte, and the least bytes of one iteration if the body counts them; None: not known."""
    flop, moved = trial.work.get("flop"), trial.work.get("bytes")
    at = flop / moved if flop and moved else None
    if at is None and point.metric == "matmul_rate":
        m, n, k = (point.params.get(side, point.params.get("n")) for side in "mnk")
        if isinstance(m, int) and isinstance(n, int) and isinstance(k, int):
            at = matmul_intensity(m, n, k, arithmetic.precision)
    return at, moved


def _roofline(at: float | None, moved: float | None, rate: float, peak: float | None, bandwidth: float | None) -> Extra:
    """Operations per byte, what peak and memory together allow at it, and the least bytes."""
    told: Extra = {"bytes": moved} if moved else {}
    if at is None:
        return told
    told["intensity"] = at
    if not peak or not bandwidth:
        return told
    most = attainable(at, peak, bandwidth)
    return {**told, "attainable": most, "fraction_of_attainable": rate / most}


def _tf32_is_slower(earlier: Iterable[Point], point: Point) -> bool:
    """Whether this figure or the one it must reach shows TF32 slower than FP32; the later of the two tells it."""
    if point.metric != "matmul_rate" or point.params.get("precision") not in ("tf32", "fp32"):
        return False
    rates = best_rates([*(p for p in earlier if p.card == point.card), point])
    return "tf32" in rates and tf32_below_fp32(rates["tf32"], rates.get("fp32"))


def _of_burst(earlier: Iterable[Point], point: Point) -> Extra:
    """Of a sustained figure its share of the same from cold."""
    if point.params.get("phase") != "sustained":
        return {}
    for cold in earlier:
        alike = (cold.metric, benchmark_of(cold), cold.params.get("precision"))
        if cold.params.get("phase") == "burst" and cold.value > 0 and alike == (
            point.metric, benchmark_of(point), point.params.get("precision"),
        ):  # fmt: skip
            return {"burst_value": cold.value, "fraction_of_burst": point.value / cold.value}
    return {}


def _seen(course: Course, point: Point) -> Seen:
    extra = point.extra
    dram = point.metric in DRAM_METRICS
    return Seen(
        conditions=point.conditions,
        shared=Flag.SHARED in point.flags,
        emulated=Flag.EMULATED in point.flags,
        link_below_max=Flag.LINK_BELOW_MAX in point.flags,
        over_link=point.metric in LINK_METRICS,
        of_peak=_number(extra.get("fraction_of_peak_at_clock")),
        clock_share=_clock_share(course, point, memory=dram),
        dram=dram,
        cold=point.params.get("phase") in FREE_PHASES,
        memory_bound=extra.get("bound_by") == BY_MEMORY,
        of_slope=_number(extra.get("fraction_of_attainable")),
        traffic_unknown=not dram and "intensity" not in extra,
        of_link=_number(extra.get("fraction_of_link")),
        starved=_number(extra.get("starvation_fraction")),
    )


def _clock_share(course: Course, point: Point, *, memory: bool) -> float | None:
    """The clock over the highest that is to be expected: the sheet's boost clock or more, if more was seen in the run.

    The highest clock that the driver allows is not a measure: many cards never reach it at any load. Of a card without
    a sheet the highest clock of the run stands in; None where this figure's is that very clock, since nothing says how
    high it goes.
    """
    card, conditions = course.context.card, point.conditions
    if conditions is None:
        return None
    if memory:
        highest, clock = card.number("memory_clock_max_mhz"), conditions.memory_clock_mhz
        return min(1.0, clock / highest) if highest and clock else None
    allowed = card.number("sm_clock_max_mhz")
    clock = clock_mhz(point, point.extra, allowed)
    boost = course.context.published.get("boost_clock_mhz")
    others = (clock_mhz(p, p.extra, allowed) or 0.0 for p in course.points if p.card == point.card)
    highest = max(boost or 0.0, *others, 0.0)
    if not clock or not highest or (not boost and clock > (1.0 - LITTLE_LOST) * highest):
        return None
    return min(1.0, clock / highest)


def _number(figure: Scalar | None) -> float | None:
    return float(figure) if isinstance(figure, int | float) and not isinstance(figure, bool) else None
