"""Words of the benchmark suite: what each measures, why one cannot run, what held a figure back, broken rules."""

from collections.abc import Mapping

from gputuner.analysis.limits import THERMAL, share
from gputuner.language.filling import fill
from gputuner.language.names import feature
from gputuner.language.words import N_, _
from gputuner.model.points import Flag, Point
from gputuner.model.quantities import Limiter
from gputuner.model.readings import Scalar

GROUPS: dict[str, str] = {
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
    "loader": N_("Data loader"),
    "launch": N_("Launch and host"),
}

ABOUT: dict[str, str] = {
    "gemm": N_("Best rate of a matrix product over its shapes, from cold and sustained; checked against float64."),
    "gemm-fp64": N_("Matrix products in FP64, on tensor cores where the chip has them for it."),
    "gemm-fp16-acc16": N_("FP16 products whose sums are kept in FP16: twice the rate on GeForce, less accurate."),
    "gemm-fp8": N_("FP8 (e4m3) products, with and without fast accumulation."),
    "gemm-int8": N_("INT8 products with INT32 sums."),
    "gemm-sparse": N_("2:4 sparse products, with the set-up counted and not counted."),
    "attention": N_("Attention forward and backward by backend and sequence length: time and memory."),
    "conv": N_("Convolutions of ResNet-50, channels-last and not."),
    "memory": N_("Read, write, copy, scale and triad over sizes: L2 visible, DRAM beyond four times its size."),
    "latency": N_("Pointer chase: how long one access takes in L1, L2 and DRAM."),
    "regions": N_("Read rate of every region of the VRAM: a slow or aliased part shows."),
    "pcie": N_("Copies between host and card, pinned and pageable, one and both directions."),
    "p2p": N_("Copies from card to card, with a deadline."),
    "allreduce": N_("Sum over all cards as data-parallel training does it: bus bandwidth."),
    "resnet50": N_("Training of ResNet-50 v1.5: from cold, sustained, and fed by a loader."),
    "bert-large": N_("Training of BERT-large at 128, 384 and 512 tokens, also with 2:4 sparse weights."),
    "edsr": N_("Training of EDSR ×2 (baseline and full) on patches of 48 px."),
    "gpt": N_("Training of a decoder of the size of GPT-2 small."),
    "lstm": N_("Training of a two-layer LSTM language model."),
    "llm-7b": N_("Fine-tuning of a decoder of the 7B shape with low-rank adapters; random weights."),
    "decode": N_("Prefill and decoding of a 7B-shape decoder at several lengths."),
    "loader": N_("DataLoader workers, prefetch and pinning: what the host can feed."),
    "launch": N_("Cost of a kernel launch, gain of CUDA graphs, limit of one processor core."),
}
"""One line for each benchmark, or for its group."""

UNAVAILABLE: dict[str, str] = {
    "gpu_only": N_("needs a GPU"),
    "chip_lacks": N_("the chip has no {what}, which came with compute capability {least}"),
    "extra_missing": N_("needs the extra {extra}"),
    "package_missing": N_("needs the package {package} in the measured Python"),
    "capability_missing": N_("this chip cannot"),
    "unsupported": N_("this chip or torch cannot"),
    "too_slow_on_cpu": N_("would take minutes on a processor"),
    "memory_too_small": N_("needs {needs_bytes:bytes} of memory; the card has {has_bytes:bytes}"),
    "memory_short": N_("needs {needs_bytes:bytes} of memory"),
    "one_card": N_("needs a second card that is idle"),
    "no_peer": N_("needs a second card that is idle"),
    "needs_two_cards": N_("needs a second card that is idle"),
    "needs_fork": N_("loader processes need fork, which this system does not have"),
    "peer_busy": N_("the second card is not free: {message}"),
    "p2p_hangs": N_(
        "the copy between the cards hangs: the driver offers a peer path that does not work; the process was ended"
    ),
    "allreduce_hangs": N_("the all-reduce hangs; the process was ended (try NCCL_P2P_DISABLE=1)"),
    "out_of_time": N_("one iteration would take longer than the time left"),
    "time_short": N_("the time is short: {needed_s:s} needed, {left_s:s} left"),
    "host_memory": N_("needs {needs_bytes:bytes} of host memory; {free_bytes:bytes} are available"),
    "shared_memory": N_(
        "needs {needs_bytes:bytes} of shared memory, /dev/shm has {free_bytes:bytes} free (containers: --shm-size or "
        "--ipc=host)"
    ),
    "cores": N_("this process may use {cores} cores only"),
    "user_code": N_("it failed: {message}"),
    "wrong_result": N_("its result is wrong, so there is no figure: {message}"),
    "out_of_memory": N_("does not fit in memory"),
    "lost": N_("the measuring process was lost"),
    "nothing_measured": N_("nothing could be timed"),
    "done": N_("nothing could be timed"),
}
"""Why a benchmark cannot run, or gave no figure."""

WARNINGS: dict[str, str] = {
    "benchmark_unavailable": N_("{benchmark} is left out: {reason}."),
    "benchmark_failed": N_("{benchmark} gave no figure: {reason}."),
    "benchmark_gap": N_("{benchmark} ({setting}) was left out: {reason}."),
    "kernels_unavailable": N_("Our own kernels cannot run here ({message}); torch measures instead, where it can."),
    "regions_slow_area": N_(
        "A part of the VRAM is slower: {bytes:bytes} from {offset:bytes} on read at {fraction:fraction} of the usual "
        "rate."
    ),
    "regions_slow_area_windows": N_(
        "A part of the VRAM is slower, or Windows moved it to system memory: {bytes:bytes} from {offset:bytes} on read "
        "at {fraction:fraction} of the usual rate. Close other programs and measure again."
    ),
    "loader_one_core": N_(
        "The worker may use {cores} of {host_cores} cores (affinity or quota), so more loader processes cannot help; "
        "it is not the loader that does not scale."
    ),
    "benchmark_skipped": N_("{benchmark} is left out, the time is short: {needed_s:s} needed, {left_s:s} left."),
    "sanity_below": N_(
        "{mode} reached {rate:FLOP/s}, less than {other} ({other_rate:FLOP/s}), which it must not; something disturbed "
        "the run, or a switch of torch is off."
    ),
    "sanity_bf16_unlike_fp16": N_(
        "BF16 ({rate:FLOP/s}) and FP16 ({other_rate:FLOP/s}) have the same peak on this chip but differ; something "
        "disturbed the run."
    ),
    "sanity_above_peak": N_("Figures far above the chip's peak ({n}): they cannot be right."),
    "sanity_copy_above_read": N_(
        "Copying ({copy:B/s}) was faster than reading ({read:B/s}); something disturbed the run."
    ),
    "sanity_latency_order": N_("Access to {far} was faster than to {near}; something disturbed the run."),
    "null_nothing": N_("Nothing could be measured twice, so there is no false-difference rate."),
}

CAUSES: dict[str, str] = {
    "nothing": N_("Nothing held it back: {peak:fraction} of the peak at the clock it ran."),
    "power_at_peak": N_("The power limit held the clock back; at that clock it reached {peak:fraction} of the peak."),
    "thermal_at_peak": N_("Heat held the clock back; at that clock it reached {peak:fraction} of the peak."),
    "power_at_peak_share": N_(
        "The power limit held the clock back {share:fraction} of the time; at the clock it ran it reached "
        "{peak:fraction} of the peak."
    ),
    "thermal_at_peak_share": N_(
        "Heat held the clock back {share:fraction} of the time; at the clock it ran it reached {peak:fraction} of the "
        "peak."
    ),
    "dram_fine": N_("Nothing held it back: {peak:fraction} of what the memory's pins carry at their clock."),
    "dram_power": N_(
        "Nothing held the memory back: {peak:fraction} of what its pins carry at their clock. The power limit held the "
        "SM clock back meanwhile, which the memory's rate does not follow."
    ),
    "dram_thermal": N_(
        "Nothing held the memory back: {peak:fraction} of what its pins carry at their clock. Heat held the SM clock "
        "back meanwhile, which the memory's rate does not follow."
    ),
    "dram_software": N_(
        "The kernel held it back most: {peak:fraction} of what the memory's pins carry at their clock."
    ),
    "power_cap": N_(
        "The power limit held the clock back {share:fraction} of the time, {lost:fraction} below its maximum."
    ),
    "thermal": N_("Heat held the clock back {share:fraction} of the time, {lost:fraction} below its maximum."),
    "hardware_slowdown": N_(
        "The card's hardware slowed it down {share:fraction} of the time without telling why, {lost:fraction} below "
        "its maximum."
    ),
    "user_cap": N_("A clock set by a user held it back, {lost:fraction} below the maximum."),
    "link": N_("The PCIe link ran below its maximum."),
    "memory_bandwidth": N_(
        "Memory bandwidth held it back: {intensity} operations per byte lie on the roofline's slope."
    ),
    "memory_bandwidth_share": N_(
        "Memory bandwidth held it back: it reached {peak:fraction} of what the memory allows at {intensity} operations "
        "per byte."
    ),
    "software_on_slope": N_(
        "Kernels, launches and shapes held it back most: they reach {peak:fraction} of what the memory allows at "
        "{intensity} operations per byte."
    ),
    "host": N_("The host held it back: the card was busy only part of the time, waiting for launches."),
    "host_link": N_("The host or the copy held it back: {link:fraction} of what the link can carry."),
    "loader": N_("The data loader held it back: the training waited {lost:fraction} of the time for its input."),
    "software": N_("Kernels and shapes held it back most: they fill {peak:fraction} of the peak at the clock it ran."),
    "software_or_memory": N_(
        "Kernels, shapes or memory held it back most: they reach {peak:fraction} of the peak at the clock it ran."
    ),
    "emulated": N_("The chip has no such arithmetic; it is emulated."),
    "shared": N_("Others used the card, so nothing is said."),
    "no_limit_seen": N_("No limit of the clock was seen; the peak for this work is not known."),
    "unknown": N_("Without telemetry meanwhile, what held it back cannot be told."),
    "link_fine": N_("Nothing held it back: {link:fraction} of what the link can carry."),
}
_CAUSES_WITHOUT_LOSS: dict[str, str] = {
    "power_cap": N_("The power limit held the clock back {share:fraction} of the time."),
    "thermal": N_("Heat held the clock back {share:fraction} of the time."),
    "hardware_slowdown": N_("The card's hardware slowed it down {share:fraction} of the time without telling why."),
    "user_cap": N_("A clock set by a user held it back."),
}
"""Where the highest clock is not known, or the limit was on for too short to explain the clock."""
_CAUSES_BESIDE: dict[str, str] = {
    "power_cap": N_("The power limit also held the clock back {share:fraction} of the time."),
    "thermal": N_("Heat also held the clock back {share:fraction} of the time."),
    "hardware_slowdown": N_(
        "The card's hardware also slowed it down {share:fraction} of the time without telling why."
    ),
    "user_cap": N_("A clock set by a user also held it back {share:fraction} of the time."),
}
_CAUSES_NOT_COMPARED: dict[str, str] = {
    "host": N_(
        "The host held it back: the card was busy only part of the time, waiting for launches; what the lower clock "
        "cost beside is not known."
    ),
    "software": N_(
        "Kernels and shapes held it back: they fill {peak:fraction} of the peak at the clock it ran; what the lower "
        "clock cost beside is not known."
    ),
    "software_or_memory": N_(
        "Kernels, shapes or memory held it back: they reach {peak:fraction} of the peak at the clock it ran; what the "
        "lower clock cost beside is not known."
    ),
}
"""Where what a limit of the clock cost is not known."""
_NO_PEAK = N_("Whether something else cost more cannot be told: the peak for this work is not known.")


_LIMITS: dict[Flag, str] = {Flag.THROTTLED_POWER: "power_cap", Flag.THROTTLED_THERMAL: "thermal"}
_AT_PEAK = {"power_cap": "power_at_peak", "thermal": "thermal_at_peak"}

_AT_PEAK_SHARE = {"power_at_peak": "power_at_peak_share", "thermal_at_peak": "thermal_at_peak_share"}
_OF_DRAM = {
    "nothing": "dram_fine",
    "power_at_peak": "dram_power",
    "thermal_at_peak": "dram_thermal",
    "software": "dram_software",
}
_DRAM = frozenset({"stream_bandwidth", "region_bandwidth", "copy_bandwidth"})
"""Metrics whose peak is that of the memory's pins at the memory clock: the SM clock is no measure of it."""
_ON_SLOPE = {"memory_bandwidth": "memory_bandwidth_share", "software": "software_on_slope"}

LAST_LEVEL = "last_level"
LEVELS: dict[str, str] = {
    LAST_LEVEL: N_("last-level cache"),
    "l1": N_("L1"),
    "l2": N_("L2"),
    "l2_near": N_("near L2"),
    "l2_far": N_("far L2"),
    "near": N_("near L2"),
    "far": N_("far L2"),
    "between": N_("between two levels"),
    "dram": N_("DRAM"),
    "host": N_("host"),
}


def level(name: str, *, cpu: bool = False) -> str:
    """A level of the memory; the last cache of a processor is no L2."""
    if cpu and name == "l2":
        name = LAST_LEVEL
    return _(LEVELS[name]) if name in LEVELS else name.upper()


def mode(name: str) -> str:
    """Number format and accumulator as published results are labelled: ``BF16``, ``FP16 (FP16 sums)``."""
    precision, _sep, rest = name.partition("_")
    words = precision.upper()
    if "acc16" in rest:
        words = _("{format} (FP16 sums)").format(format=words)
    return _("{format}, 2:4 sparse").format(format=words) if "sparse" in rest else words


def group(name: str) -> str:
    """A group of benchmarks for people; a new one by its own name."""
    return _(GROUPS[name]) if name in GROUPS else name


def about(name: str, group_name: str) -> str:
    """What a benchmark measures, in one line; empty where there are no words for it."""
    words = ABOUT.get(name, ABOUT.get(group_name, ""))
    return _(words) if words else ""


def unavailable(code: str, params: Mapping[str, object] | None = None) -> str:
    """Why a benchmark cannot run here, or gave no figure; other reasons by their own name and message."""
    told = dict(params or {})
    if "what" in told:
        told["what"] = feature(str(told["what"]))
    if code == "memory_too_small" and "has_bytes" not in told:
        code = "memory_short" if "needs_bytes" in told else "out_of_memory"
    if code in UNAVAILABLE:
        return fill(UNAVAILABLE[code], told)
    message = str(told.get("message", ""))
    plain = code.replace("_", " ")
    return f"{plain}: {message}" if message else plain


def cause(point: Point) -> str:
    """What held a figure back, by its name; empty where that was not judged.

    A clock that was held back is never called nothing, however close to that clock's peak the figure came.
    """
    judged = point.extra.get("held_back")
    if not isinstance(judged, str):
        return ""
    if judged == "nothing" and "fraction_of_peak_at_clock" in point.extra:
        return next((limit for flag, limit in _LIMITS.items() if flag in point.flags), judged)
    return judged


def limit_share(point: Point) -> Scalar | None:
    """Share of the time in the limit that is named; None: not known."""
    told, named = point.extra.get("held_back_share"), cause(point)
    if told is not None or named == point.extra.get("held_back") or point.conditions is None:
        return told
    limiters = THERMAL if named == "thermal" else (Limiter.POWER, Limiter.POWER_BRAKE)
    found = share(point.conditions, *limiters)
    return found if found > 0.0 else None


def held_back(point: Point) -> str:
    """What held a figure back, in one sentence or two; empty where that was not judged."""
    limit = cause(point)
    if not limit:
        return ""
    told: dict[str, Scalar | None] = {
        "share": limit_share(point),
        "lost": point.extra.get("held_back_lost"),
        "peak": point.extra.get("fraction_of_peak_at_clock"),
        "link": point.extra.get("fraction_of_link"),
        "intensity": _round(point.extra.get("intensity")),
    }
    over_link = told["link"] is not None
    named = {"nothing": "link_fine", "host": "host_link"}.get(limit, limit) if over_link else limit
    if limit != point.extra.get("held_back"):
        named = _AT_PEAK[limit]
    if point.metric in _DRAM and told["peak"] is not None:
        named = _OF_DRAM.get(named, named)
    if told["share"] is not None:
        named = _AT_PEAK_SHARE.get(named, named)
    if "bound_by" in point.extra:  # its peak is the memory's slope
        named = _ON_SLOPE.get(named, named)
    sure = point.extra.get("held_back_most") is not False
    table = CAUSES if sure else {**CAUSES, **_CAUSES_NOT_COMPARED}
    if told["lost"] is None:
        table = {**table, **_CAUSES_WITHOUT_LOSS}
    words = fill(table[named], told) if named in table else limit.replace("_", " ")
    also = str(point.extra.get("held_back_beside"))
    if also in _CAUSES_BESIDE:
        words = _followed(words, fill(_CAUSES_BESIDE[also], {"share": point.extra.get("held_back_beside_share")}))
    return words if sure or limit not in _CAUSES_WITHOUT_LOSS else _followed(words, _(_NO_PEAK))


def _followed(sentence: str, another: str) -> str:
    """Two sentences, with the space of the language in use."""
    return _("{sentence} {another}").format(sentence=sentence, another=another)


def _round(figure: Scalar | None) -> Scalar | None:
    return float(f"{figure:.3g}") if isinstance(figure, float) else figure
