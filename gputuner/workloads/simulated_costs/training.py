"""Training steps on a simulated card: products at the chip's rate, traffic at the memory's, memory by the specs' lines.

Traffic per sample is a multiple of what is kept for the backward pass. The multiple and the reachable share of the
tensor peak are fitted to published BERT-large rates at sequence 384 (3090 52, 4090 93, A6000 68, A100 152, H200 350
sequences/s in half precision; 24, 44, 33, 75, 181 in TF32), which they meet within 17 %.
"""

from collections.abc import Mapping

from gputuner.devices.simulated_card import SimulatedCard
from gputuner.devices.simulated_load import Load
from gputuner.model.readings import Scalar
from gputuner.workloads.bodies.switches import NAMES
from gputuner.workloads.bodies.training_shapes import EDSR, LLM, LORA_RANK, BertShape, GptShape, LstmShape
from gputuner.workloads.simulated_costs.chip import (
    conversion_time,
    converted,
    dual_issue,
    emulated,
    flop_per_cycle,
    on_tensor_pipes,
    precision_of,
)
from gputuner.workloads.simulated_costs.cost import Cost, UnsupportedOnChipError
from gputuner.workloads.simulated_costs.switched import switched
from gputuner.workloads.specs_training import BertSpec, EdsrSpec, GptSpec, LlmSpec, LstmSpec, MemoryLine

TENSOR_SHARE = 0.9
TRAFFIC_OVER_KEPT = 18.0
WIDE = {"GH100": 1.25, "GB100": 1.25, "GA100": 1.1}
"""How much slower wide chips are than their rates say: they are filled worse."""
COMPILED_TRAFFIC, COMPILED_HOST = 0.65, 0.5
"""What fusing elementwise work leaves of traffic and launches."""
RESERVED_OVER_ALLOCATED = 1.08
SPARSE_TIME = 0.6
"""Time of a product on the sparse pipes over that of the dense one, instead of 0.5."""
PRUNING_BYTES = 10.0
"""Traffic per weight to prune and pack it."""
UNPACKING_BYTES = 4.6
"""Traffic per 4-bit weight to unpack it once: read it, write it in half precision, read that."""
LSTM_STEP_S = 36e-6
"""Per time step and layer, forward and back, that no clock shortens."""


LSTM_HOST_S, LLM_HOST_S = 13.9e-3, 0.26
"""Launching a step keeps the host busy for so long: an H200 gave 18.4 k sequences/s of the LSTM at batch 256 and 3.59/s
of the 7 B decoder at batch 1, and the host limited both (docs/measurements/benchmarks.md)."""

EDSR_FIXED_S = 0.4e-3
"""In kernels that no clock shortens, so that the card is busy for 37 % of a step of 16 patches (H200 recording)."""


def _build(
    card: SimulatedCard,
    params: Mapping[str, Scalar],
    line: MemoryLine,
    *,
    model_flop: float,
    kept_bytes: float,
    host_s: float,
    notes: Mapping[str, Scalar],
    flop: float | None = None,
    step_bytes: float = 0.0,
    fixed_s: float = 0.0,
    products: bool = True,
    checkpointed: float | None = None,
    own: bool = False,
) -> Cost:
    """One step of a batch.

    Args:
        card: the card.
        params: of the trial.
        line: memory over the batch.
        model_flop: operations that the model needs per sample.
        kept_bytes: per sample kept for the backward pass.
        host_s: for which launching a step keeps the host busy.
        notes: of this model.
        flop: operations that are done per sample; None: those that are needed.
        step_bytes: traffic per step, whatever the batch.
        fixed_s: busy time per step, whatever the batch.
        products: its work is matrix products.
        checkpointed: share of the bytes per sample that checkpointing leaves; None: not known.
        own: it is checkpointed by itself.
    """
    facts = card.facts
    switches = switched(facts, params, products=products, kept=checkpointed, own=own)
    precision, batch = precision_of(facts, params), int(params["batch"])
    tensor = on_tensor_pipes(facts, precision)
    share = TENSOR_SHARE if tensor else 0.7 if dual_issue(facts) else 0.85
    wide = WIDE.get(facts.chip, 1.0)
    compiled = bool(params.get("compile", False))
    again = conversion_time(facts, precision)
    kept_bytes *= 2.0 if converted(facts, precision) else 1.0
    traffic = again * batch * TRAFFIC_OVER_KEPT * kept_bytes * (COMPILED_TRAFFIC if compiled else 1.0) * switches.again
    done = again * batch * (model_flop if flop is None else flop) * switches.again * switches.compute
    allocated = int(line.fixed_bytes + batch * line.sample_bytes * switches.kept)
    tokens = batch * int(params.get("sequence", 0))
    return Cost(
        load=Load(
            compute_cycles=wide * done / (flop_per_cycle(facts, precision) * share),
            dram_bytes=wide * (traffic + step_bytes),
            fixed_s=fixed_s + 1e-3,
            host_s=switches.host_s(host_s * (COMPILED_HOST if compiled else 1.0)),
            activity=1.0 if tensor else 0.7,
            stall_activity=0.2,
            overlapped=False,
            tensor=tensor,
        ),
        work={"samples": float(batch), **({"tokens": float(tokens)} if tokens else {})},
        allocated_bytes=allocated,
        reserved_bytes=int(allocated * RESERVED_OVER_ALLOCATED),
        noise=0.005,
        notes={
            "emulated": emulated(facts, precision),
            "kernel": "simulated",
            "loss_finite": True,
            "model_flop_per_sample": model_flop,
            **{name: value for name, value in params.items() if name in NAMES},
            **notes,
        },
    )


def _half(params: Mapping[str, Scalar]) -> bool:
    return params.get("precision") in ("fp16", "bf16")


def _spec_fields(params: Mapping[str, Scalar], *names: str) -> dict[str, int | bool | str]:
    return {name: value for name, value in params.items() if name in names and not isinstance(value, float)}


def _checkpointed(params: Mapping[str, Scalar], layers: int, width: int, sequence: int, line: MemoryLine) -> float:
    """Share of the bytes per sample that stays: what no layer keeps, the layers' inputs, and one layer's own."""
    layer = (37 if _half(params) else 65) * width * sequence
    element = 2 if _half(params) else 4
    return (line.sample_bytes - (layers - 1) * layer + layers * element * width * sequence) / line.sample_bytes


def bert(card: SimulatedCard, params: Mapping[str, Scalar]) -> Cost:
    """BERT-large, question answering."""
    shape, sequence, sparse = BertShape(), int(params["sequence"]), bool(params.get("sparse", False))
    if sparse and not (card.facts.sparsity_2_4 and _half(params)):
        raise UnsupportedOnChipError("2:4 sparse training needs a chip with sparse pipes, and FP16 or BF16")
    spec = BertSpec(**_spec_fields(params, "batch", "precision", "sequence"))  # pyright: ignore[reportArgumentType]
    flop, share = shape.flop(sequence), shape.sparse_share(sequence)
    kept = (37.0 if _half(params) else 74.0) * shape.layers * shape.width * sequence
    return _build(
        card,
        params,
        spec.memory(),
        model_flop=flop,
        flop=flop * (1.0 - (1.0 - SPARSE_TIME) * share) if sparse else flop,
        kept_bytes=kept,
        step_bytes=PRUNING_BYTES * shape.parameters if sparse else 0.0,
        checkpointed=_checkpointed(params, shape.layers, shape.width, sequence, spec.memory()),
        host_s=26e-3 if sparse else 18e-3,
        notes={
            "optimizer": "adamw_fused",
            "parameters": shape.parameters,
            **({"sparse_backend": "cusparselt", "sparse_flop_share": share} if sparse else {}),
        },
    )


def gpt(card: SimulatedCard, params: Mapping[str, Scalar]) -> Cost:
    """A decoder of GPT-2's size."""
    shape, sequence = GptShape(), int(params["sequence"])
    spec = GptSpec(**_spec_fields(params, "batch", "precision", "sequence"))  # pyright: ignore[reportArgumentType]
    line = spec.memory()
    return _build(
        card,
        params,
        line,
        model_flop=shape.flop(sequence),
        kept_bytes=0.85 * line.sample_bytes,
        checkpointed=_checkpointed(params, shape.layers, shape.width, sequence, line),
        host_s=10e-3,
        notes={"optimizer": "adamw_fused", "parameters": shape.parameters},
    )


def edsr(card: SimulatedCard, params: Mapping[str, Scalar]) -> Cost:
    """EDSR on patches."""
    variant = "full" if params["variant"] == "full" else "baseline"
    shape, patch = EDSR[variant], int(params["patch"])
    spec = EdsrSpec(**_spec_fields(params, "batch", "precision", "variant", "patch"))  # pyright: ignore[reportArgumentType]
    line, last = spec.memory(), bool(params.get("channels_last", True))
    return _build(
        card,
        params,
        line,
        model_flop=shape.flop(patch),
        kept_bytes=line.sample_bytes * (1.4 if last else 2.0),
        host_s=9e-3 if variant == "baseline" else 16e-3,
        fixed_s=EDSR_FIXED_S,
        products=False,
        notes={
            "optimizer": "adam_fused",
            "parameters": shape.parameters,
            "channels_last": last,
            "convolutional": True,
        },
    )


def lstm(card: SimulatedCard, params: Mapping[str, Scalar]) -> Cost:
    """The LSTM language model.

    Raises:
        UnsupportedOnChipError: in BF16, as a real card's worker refuses it.
    """
    if params["precision"] == "bf16":
        raise UnsupportedOnChipError("autocast runs cuDNN's recurrent layers in FP16 even where BF16 is asked for")
    shape, sequence = LstmShape(), int(params["sequence"])
    spec = LstmSpec(**_spec_fields(params, "batch", "precision", "sequence"))  # pyright: ignore[reportArgumentType]
    line = spec.memory()
    return _build(
        card,
        params,
        line,
        model_flop=shape.flop(sequence),
        kept_bytes=0.1 * line.sample_bytes,
        host_s=LSTM_HOST_S,
        fixed_s=LSTM_STEP_S * shape.layers * sequence,
        notes={"optimizer": "adamw_fused", "parameters": shape.parameters},
    )


def llm(card: SimulatedCard, params: Mapping[str, Scalar]) -> Cost:
    """Adapters on the 7 B decoder: all layers forward once more for checkpointing."""
    shape, sequence, quantised = LLM[str(params["model"])], int(params["sequence"]), bool(params["quantised"])
    names = ("batch", "precision", "sequence", "model", "quantised")
    spec = LlmSpec(**_spec_fields(params, *names))  # pyright: ignore[reportArgumentType]
    flop = shape.adapter_flop(sequence, LORA_RANK)
    inside = shape.layers * shape.layer_weights
    return _build(
        card,
        params,
        spec.memory(),
        model_flop=flop,
        flop=flop + 2.0 * inside * sequence,
        kept_bytes=1.3 * 36.0 * shape.layers * shape.width * sequence,
        step_bytes=3 * UNPACKING_BYTES * inside if quantised else 3 * 2.0 * inside,
        host_s=LLM_HOST_S * (1.2 if quantised else 1.0),
        own=True,
        notes={
            "optimizer": "adamw_fused",
            "parameters": shape.parameters,
            "checkpointing": True,
            "lora_rank": LORA_RANK,
            "stored_bits_per_weight": 4.0 if quantised else 16.0,
        },
    )
