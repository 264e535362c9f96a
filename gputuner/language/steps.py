"""What a run does now: one line for each kind of step."""

from collections.abc import Mapping

from gputuner.language import contention_words, cooling, numerics_words, power
from gputuner.language.filling import fill
from gputuner.language.health import CHECKS, HEATS, KINDS, OUTCOMES, PASSES, SOURCES, SURENESS
from gputuner.language.health import STEPS as HEALTH
from gputuner.language.names import QUANTITIES, workload
from gputuner.language.numbers import interval, value
from gputuner.language.watch_causes import CAUSES
from gputuner.language.words import N_, _, listed
from gputuner.model.points import Point
from gputuner.model.readings import Scalar

STEPS: dict[str, str] = {
    "matmul": N_("matrix multiplication"),
    "matmul_burst": N_("matrix multiplication from cold"),
    "copy": N_("memory copy"),
    "train_probe": N_("training step"),
    "train_energy": N_("training step, for its energy"),
    "train_modules": N_("modules of the training one by one"),
    "train_turn": N_("training step, in turns"),
    "train_switch": N_("training with two settings in turn"),
    "train_memory": N_("training step, for its memory"),
    "train_limit_below": N_("training with a batch that should just fit"),
    "train_limit_above": N_("training with a batch that should not fit"),
    "train_safe": N_("at the largest safe batch"),
    "train_alone": N_("one training alone"),
    "train_together": N_("two trainings at once"),
    "try_base": N_("as before"),
    "try_advised": N_("as advised"),
    "sustained": N_("sustained load"),
    "bench_matmul_search": N_("search for the fastest matrix shape"),
    "bench_matmul": N_("matrix product"),
    "bench_stream_sweep": N_("memory bandwidth over sizes"),
    "bench_stream": N_("memory bandwidth"),
    "bench_chase": N_("memory latency over footprints"),
    "bench_regions": N_("VRAM by region"),
    "bench_resnet50": N_("ResNet-50 training"),
    "bench_bert": N_("BERT-large training"),
    "bench_edsr": N_("EDSR training"),
    "bench_gpt": N_("GPT-2 training"),
    "bench_lstm": N_("LSTM training"),
    "bench_llm": N_("fine-tuning of a 7B decoder"),
    "bench_decode": N_("decoder inference"),
    "bench_attention": N_("attention over sequence lengths"),
    "bench_conv": N_("convolutions"),
    "bench_transfer": N_("copies between host and card"),
    "bench_peer_transfer": N_("copies between two cards"),
    "bench_allreduce": N_("all-reduce"),
    "bench_loader": N_("data loader"),
    "loading_demand": N_("what the training could eat"),
    "loading_supply": N_("loader alone, then with the training"),
    "loading_switch": N_("another switch of the loader"),
    "loading_again": N_("chosen and present loader once more"),
    "bench_launch": N_("kernel launches"),
    **numerics_words.STEPS,
    **contention_words.STEPS,
    **cooling.STEPS,
    **power.STEPS,
    **HEALTH,
    "settle": N_("cooling down"),
    "record": N_("recording"),
    "watch": N_("your command"),
}

RESULTS: dict[str, str] = {
    "done": N_("done"),
    "refused": N_("not set"),
    "out_of_memory": N_("does not fit in memory"),
    "user_code_failed": N_("cannot run here"),
    "lost": N_("the measuring process was lost"),
    "stopped": N_("stopped for safety"),
    "cancelled": N_("cancelled"),
}

_YES_OR_NO = ("identity_check", "identity_verdict")
"""Figures that are 1 or 0."""
_PARAMS: dict[str, str] = {
    "share": "{value:fraction}",
    "load_min": N_("after {value} min of load"),
    "sheet": N_("sheet {value}"),
    "sold_as": N_("sold as {value}"),
    "batch": N_("batch {value}"),
    "n": N_("{value} × {value}"),
    "bytes": "{value:bytes}",
    "largest_bytes": N_("up to {value:bytes}"),
    "stride_bytes": N_("lines of {value:bytes}"),
    "block_bytes": N_("blocks of {value:bytes}"),
    "keep_bytes": N_("{value:bytes} stay free"),
    "offset_bytes": N_("from {value:bytes} on"),
    "image": N_("{value} px"),
    "module": "{value}",
    "kind": "{value}",
    "count": N_("{value} alike"),
    "size": N_("size {value}"),
    "padded": N_("padded to {value}"),
    "phase": "{value}",
    "sequence": N_("sequence {value}"),
    "context": N_("context {value}"),
    "contexts": N_("contexts {value}"),
    "patch": N_("patches of {value} px"),
    "variant": "{value}",
    "model": "{value}",
    "shape": "{value}",
    "peer": "{value}",
    "null": N_("repeat {value}"),
    "workers": N_("{value} workers"),
    "prefetch": N_("prefetch {value}"),
    "ranks": N_("{value} ranks"),
    "rank": "rank {value}",
    "pid": N_("process {value}"),
    "draw": N_("start {value}"),
    "steps": N_("{value} steps"),
    "operation": "{value}",
    "name": "{value}",
    "place": "{value}",
    "round": N_("round {value}"),
    "stage": N_("stage {value}"),
    "at_once": N_("{value} at once"),
    "accumulate": N_("{value} batches a step"),
    "advice": "{value}",
    "top": N_("sides up to {value}"),
    **power.PARAMS,
}
_SWITCHES: dict[str, str] = {
    "channels_last": N_("channels-last"),
    "compile": N_("compiled"),
    "fp16_accumulate": N_("FP16 accumulation"),
    "checkpointing": N_("gradient checkpointing"),
    "expandable_segments": N_("expandable segments"),
    "autotune": N_("cuDNN autotuner"),
    "cuda_graph": N_("CUDA graph"),
    "sparse": N_("2:4 sparse weights"),
    "quantised": N_("weights in 4 bits"),
    "eager": N_("without CUDA graph"),
    "pin": N_("pinned"),
    "persistent": N_("persistent"),
    "fast_accumulate": N_("fast accumulation"),
    "bursts": N_("in bursts"),
}
_LOADERS: dict[str, str] = {"fed": N_("fed by a data loader"), "synthetic": ""}
_PHASES: dict[str, str] = {
    "burst": N_("from cold"),
    "bursts": N_("in bursts"),
    "sustained": N_("sustained"),
    "alone": N_("alone"),
    **contention_words.PHASES,
    "probe": "",
    "steady": "",
    "search": N_("in the search"),
    "look": "",
    "verdict": "",
    "sweep": "",
    "memory": N_("for its memory, too short for a rate"),
    "limit": N_("to see if it fits, too short for a rate"),
    "safe": "",
    "energy": N_("for its energy"),
    "switch": "",
    "switch_batch": N_("in the search for a batch"),
    "workers": "",
    "again": N_("once more"),
    "turn": N_("in turns"),
    "try": "",
}
_WORDS: dict[str, dict[str, str]] = {
    "check": CHECKS,
    "counter": {quantity.value: text for quantity, text in QUANTITIES.items()},
    "source": {"driver": N_("by the driver"), **{name: text for name, text in SOURCES.items() if name != "driver"}},
    "sureness": SURENESS,
    "outcome": OUTCOMES,
    "name": dict(KINDS),
    "verdict": {
        **numerics_words.VERDICTS,
        "as_sold": N_("as sold"),
        "other_card": N_("another card"),
        "other_memory": N_("another memory size"),
        "less_memory": N_("less memory"),
        "slower_memory": N_("slower memory"),
        "unclear": N_("some details differ"),
    },
    "direction": {
        "forward": N_("forward"),
        "backward": N_("backward"),
        "forward_backward": N_("forward and backward"),
        "host_to_device": N_("host to card"),
        "device_to_host": N_("card to host"),
        "to_peer": N_("to the other card"),
        "from_peer": N_("from the other card"),
        "both": N_("both directions at once"),
    },
    "operation": {
        "read": N_("read"),
        "write": N_("write"),
        "copy": N_("copy"),
        "scale": N_("scale"),
        "triad": N_("triad"),
    },
    "region": {"slowest": N_("slowest"), "median": N_("median")},
    "backend": {"flash": "flash", "cudnn": "cuDNN", "efficient": N_("memory-efficient"), "math": "math"},
    "sdpa": {
        "flash": N_("flash attention"),
        "efficient": N_("memory-efficient attention"),
        "cudnn": N_("cuDNN attention"),
        "math": N_("plain attention"),
    },
    "optimizer_kind": {
        "plain": N_("optimizer weight by weight"),
        "foreach": N_("foreach optimizer"),
        "fused": N_("fused optimizer"),
    },
    "mode": {
        "dispatch": N_("dispatch on the processor"),
        "enqueue": N_("on the host"),
        "back_to_back": N_("back to back"),
        "device": N_("on the card"),
        "round_trip": N_("until it has run"),
        "graph": N_("in a CUDA graph"),
        **contention_words.MODES,
    },
    "pinned": {"True": N_("pinned memory"), "False": N_("pageable memory")},
    "decode": {
        "torchvision": "torchvision",
        "pillow": "Pillow",
        "stand_in": N_("without decoding"),
        "torchvision_card": N_("decoded on the card by torchvision"),
        "dali_card": N_("decoded on the card by DALI"),
    },
    "library": {"nccl": "NCCL", "gloo": "gloo"},
    "side": {"base": N_("as before"), "advised": N_("as advised")},
    "kept": numerics_words.KEPT,
    "trap": numerics_words.TRAPS,
    "cause": {**CAUSES, **contention_words.CAUSES},
    "probe": contention_words.PROBES,
    "dial": power.DIALS,
    "autocast": {"off": N_("without autocast"), "float16": "autocast FP16", "bfloat16": "autocast BF16"},
    "heat": HEATS,
    "pass": PASSES,
    "setup_counted": {"True": N_("with set-up"), "False": N_("without set-up")},
}
"""Names of choices that are parameters."""
_TOLD_ELSEWHERE = frozenset({"verified", "job", "jobs", "mix", "shares", "training", "batches", "session", "twin"})
_FIXED = frozenset(
    [
        "backends",
        "causal",
        "consumer_rate",
        "head_dim",
        "heads",
        "hold_s",
        "kernels",
        "memory",
        "most_bytes",
        "most_workers",
        "again",
        "alone",
        "part",
        "sequences",
        "shapes",
        "sizes",
        "step",
        "switches",
        "threads",
        "tokens",
        "transposed",
    ]
)
"""The same for all figures of a survey, or lists of what its parts say one by one."""
PRECISIONS = {
    "fp64": "FP64", "fp32": "FP32", "tf32": "TF32", "fp16": "FP16", "fp16-acc16": "FP16 acc16", "bf16": "BF16",
    "fp8": "FP8", "int8": "INT8",
}  # fmt: skip
SIDES = ("m", "n", "k")
"""Sides of a matrix product, told as one shape where all three are given."""

WHOLE_NUMBERS = frozenset({"int8"})
"""Number formats whose operations are no floating-point ones."""
MIXED: dict[str, tuple[str, ...]] = {
    "contend_together": ("mode", "shares"),
    "contend_probe": ("probe", "dial", "batch", "mode"),
    "health_burn": ("n",),
    "health_memory_cold": ("block_bytes", "keep_bytes"),
    "health_memory_hot": ("block_bytes", "keep_bytes"),
}
"""Steps whose params are not all told: those of several jobs are those of the first, others stand in the label."""
RATIOS = frozenset(
    {"co_run_slowdown", "co_run_gain", "co_run_predicted", "pressure_sensitivity", "pressure_exerted", "switches_gain"}
)


def step(label: str, params: Mapping[str, Scalar]) -> str:
    """What a step does and to what."""
    plain = f"{label}:plain"
    label = plain if plain in STEPS and "jobs" not in params else label
    name = fill(STEPS[label], params) if label in STEPS else label.replace("_", " ")
    of_what = settings({name: entry for name, entry in params.items() if label not in MIXED or name in MIXED[label]})
    return _("{what}: {of}").format(what=name, of=of_what) if of_what else name


def step_result(result: str) -> str:
    """How a step ended."""
    return _(RESULTS[result]) if result in RESULTS else result.replace("_", " ")


def settings(params: Mapping[str, Scalar], card: str = "") -> str:
    """The parameters of a step or figure in one line, the telling ones only; ``card``: what it is of, by UUID."""
    if "mode" in params:
        params = {**params, "mode": contention_words.mode_on(str(params["mode"]), card)}
    shape = " × ".join(str(params[side]) for side in SIDES) if all(side in params for side in SIDES) else ""
    return listed(
        (shape if name == "n" else "") if shape and name in SIDES else _setting(name, entry)
        for name, entry in params.items()
    )


def point_title(point: Point) -> str:
    """What a figure is of: workload and settings."""
    return listed((workload(point.workload), settings(point.params, point.card)))


def point_unit(point: Point) -> str:
    """The unit that a figure is shown in: operations of whole numbers are OP/s, which are kept as FLOP/s."""
    whole = str(point.params.get("precision", "")).partition("-")[0] in WHOLE_NUMBERS
    return "OP/s" if whole and point.unit == "FLOP/s" else point.unit


def point_value(point: Point) -> str:
    """A figure with its interval; ratios with a times sign."""
    if point.metric in RATIOS:
        return f"{point.value:.2f} ×"
    if point.metric in _YES_OR_NO:
        return value(bool(point.value))
    if point.extra.get("at_least") is True:
        return f"≥ {value(point.value, point_unit(point))}"
    if point.extra.get("at_most") is True:
        return f"≤ {value(point.value, point_unit(point))}"
    spread = point.spread
    low, high = (spread.ci95_low, spread.ci95_high) if spread else (None, None)
    return interval(point.value, low, high, point_unit(point))


def _labelled(label: str) -> str:
    """A job beside others by its label."""
    from gputuner.language.contention import job_label  # which needs the settings told here

    return job_label(label)


def _setting(name: str, entry: Scalar) -> str:
    match name:
        case "precision":
            return PRECISIONS.get(str(entry), str(entry))
        case _ if name in _SWITCHES and isinstance(entry, bool):
            return _(_SWITCHES[name]) if entry else ""
        case "visit" if entry == 0:
            return _("from a stored session")
        case "loader" if str(entry) in _LOADERS:
            return _(_LOADERS[str(entry)])
        case "null" if entry is True:
            return _("null check")
        case "job_label":
            return _labelled(str(entry))
        case "phase":
            return _(_PHASES[str(entry)]) if str(entry) in _PHASES else str(entry)
        case _ if name in _WORDS and str(entry) in _WORDS[name]:
            return _(_WORDS[name][str(entry)])
        case _ if name in _TOLD_ELSEWHERE or name in _FIXED or entry == "":
            return ""
        case "load_s":
            return _("for {time}").format(time=value(entry, "s"))
        case _ if name in _PARAMS:
            return fill(_PARAMS[name], {"value": entry})
        case _:
            return f"{name.replace('_', ' ')} {value(entry)}"
