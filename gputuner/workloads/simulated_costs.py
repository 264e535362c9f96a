"""What the workloads cost on a simulated card: time by roofline, memory by the recorded line, and the chip's limits."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gputuner.catalog.facts import CardFacts
from gputuner.catalog.features import capability
from gputuner.devices.simulated_card import SimulatedCard
from gputuner.devices.simulated_load import Load
from gputuner.model.readings import Scalar

TENSOR_RATE: dict[str, int] = {"GA100": 2048, "GH100": 4096, "GB100": 8192}
"""Dense FLOP per SM and clock, FP16 with FP16 accumulation (methods §2); all other tensor chips 1024."""

TRAINING_FLOP = 49e9
"""Tensor work of one ResNet-50 sample at 224 px, as peak rates would do it (its 24.6 GFLOP at half of the peak); with
``TRAINING_BYTES`` fitted to published 3090 and 4090 rates (826 and 1301 images/s, AMP)."""
TRAINING_BYTES = 0.45e9
FIXED_S = 3.5e-3
"""Step time that does not shrink with the batch (H200 recording: 3.2–3.9 ms over batch 16 … 128)."""

MEMORY_LINE: dict[str, tuple[float, float]] = {
    "fp32": (301.9e6, 86_673_586.0),
    "tf32": (301.9e6, 86_673_586.0),
    "fp16": (350.2e6, 44_732_000.0),
    "bf16": (360.4e6, 44_721_510.0),
}
"""Peak allocated bytes of ResNet-50 at 224 px: fixed part, and per sample (H200 recording, batch 128 and 512)."""
RESERVED_OVER_ALLOCATED = 1.22
UNRELEASABLE = 1.014
"""Room for fragmentation that the allocator cannot give back (methods §3: predicted 568, true 560)."""

_HOST_S = {"fp32": 12.9e-3, "tf32": 12.9e-3, "fp16": 15.0e-3, "bf16": 19.6e-3}
"""Launching one step takes the host this long (H200 recording, small batches)."""
_WIDE_CHIP = {"bf16": 1.38, "fp16": 1.09}
"""Hopper: how much slower AMP steps ran than the model says (H200 recording: 2526 and 3125 images/s)."""
_ERRORS = {"fp32": 2.1e-7, "tf32": 2.9e-4, "fp16": 2.1e-4, "bf16": 1.7e-3}
"""Relative Frobenius error of a product by rounding of inputs and result."""
_STORAGE = {"fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2}


class UnsupportedOnChipError(Exception):
    """The simulated chip or worker cannot do what was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """One trial's demand: load per iteration, work per iteration, memory, and what the result will say."""

    load: Load
    work: dict[str, float]
    allocated_bytes: int
    reserved_bytes: int
    noise: float
    """Relative spread (lognormal) of timed windows."""
    relative_error: float | None = None
    notes: dict[str, Scalar] = field(default_factory=lambda: {})


def cost_of(card: SimulatedCard, workload: str, params: Mapping[str, Scalar]) -> Cost:
    """What a trial costs on a card.

    Raises:
        UnsupportedOnChipError: unknown workload or precision, or TF32 on a chip without it.
    """
    match workload:
        case "matmul":
            return _matmul(card, _precision(card.facts, params), int(params["n"]))
        case "copy":
            return _copy(card, int(params["bytes"]))
        case "resnet50":
            return _resnet50(card, _precision(card.facts, params), params)
        case _:
            raise UnsupportedOnChipError(f"a simulated worker has no workload {workload!r}")


def _precision(facts: CardFacts, params: Mapping[str, Scalar]) -> str:
    precision = str(params.get("precision", "fp32"))
    if precision not in _STORAGE:
        raise UnsupportedOnChipError(f"unknown precision: {precision}")
    if precision == "tf32" and facts.tf32_tensor_tflops is None:
        raise UnsupportedOnChipError("this chip has no TF32 arithmetic")
    return precision


def emulated(facts: CardFacts, precision: str) -> bool:
    """True where the libraries convert because the chip has no such arithmetic (BF16 before Ampere)."""
    return precision == "bf16" and facts.bf16_tensor_tflops is None


def on_tensor_pipes(facts: CardFacts, precision: str) -> bool:
    """True where a product of this precision runs on tensor cores."""
    return facts.fp16_tensor_fp32acc_tflops is not None and precision != "fp32" and not emulated(facts, precision)


def flop_per_cycle(facts: CardFacts, precision: str) -> float:
    """Dense FLOP of the whole chip per SM clock, FP32 accumulation for the half types.

    From the formula of the chip where the sheet agrees with it (its tensor clock may be lower than the boost clock),
    else from the sheet (export parts with caps of their own).
    """
    plain = 2.0 * facts.cuda_cores
    if precision == "fp32":
        return plain
    if emulated(facts, precision):
        return 0.72 * plain
    tensor = facts.fp16_tensor_fp32acc_tflops
    if tensor is None:
        return 2 * plain if facts.chip == "GP100" else plain
    full = facts.fp16_tensor_fp16acc_tflops or tensor
    formula = facts.sm_count * TENSOR_RATE.get(facts.chip, 1024) * (0.5 if full > 1.5 * tensor else 1.0)
    quoted = tensor * 1e6 / facts.boost_clock_mhz
    half = formula if abs(quoted / formula - 1) < 0.12 else quoted
    if precision == "tf32":
        return half * (facts.tf32_tensor_tflops or 0.5 * tensor) / tensor
    return half


def _dual_issue(facts: CardFacts) -> bool:
    """True for chips whose FP32 peak counts two units per lane, which kernels seldom fill."""
    return facts.chip != "GA100" and capability(facts.compute_capability) >= (8, 0)


def _plain_efficiency(facts: CardFacts) -> float:
    """Reachable share of the FP32 peak (published products)."""
    return 0.74 if _dual_issue(facts) else 0.92


def _matmul(card: SimulatedCard, precision: str, n: int) -> Cost:
    facts = card.facts
    tensor = on_tensor_pipes(facts, precision)
    best = card.model.matmul_efficiency if tensor else _plain_efficiency(facts)
    half_size = 900.0 * (facts.sm_count / 132) ** 0.5
    efficiency = best * min(1.0, (1 + (half_size / 8192) ** 2) / (1 + (half_size / n) ** 2))
    size = _STORAGE[precision]
    flop = 2.0 * n**3
    tile = 175.0 * facts.l2_mib**0.5
    held = 3 * n * n * size + 32 * 2**20
    return Cost(
        load=Load(
            compute_cycles=flop / (flop_per_cycle(facts, precision) * efficiency),
            dram_bytes=flop * size / tile + 3.0 * n * n * size,
            fixed_s=4e-6,
            host_s=8e-6,
            activity=1.0 if precision in {"fp16", "bf16"} and tensor else 0.95 if tensor else 0.62,
            tensor=tensor,
        ),
        work={"flop": flop},
        allocated_bytes=held,
        reserved_bytes=held,
        noise=0.003,
        relative_error=_ERRORS[precision],
        notes={"emulated": emulated(facts, precision), "kernel": "simulated"},
    )


def _copy(card: SimulatedCard, size: int) -> Cost:
    moved = 2.0 * size
    top_hz = card.model.clock_max_mhz * 1e6
    cache = card.facts.l2_mib * 2**20
    return Cost(
        load=Load(
            compute_cycles=0.6 * moved / card.physics.bandwidth * top_hz,
            dram_bytes=moved,
            fixed_s=4e-6,
            host_s=8e-6,
            activity=0.28,
            tensor=False,
        ),
        work={"bytes": moved},
        allocated_bytes=2 * size,
        reserved_bytes=2 * size,
        noise=0.003,
        relative_error=0.0,
        notes={"kernel": "simulated", "buffer_over_cache": round(size / cache, 2)},
    )


def _resnet50(card: SimulatedCard, precision: str, params: Mapping[str, Scalar]) -> Cost:
    facts, model = card.facts, card.model
    batch, image = int(params["batch"]), int(params.get("image", 224))
    channels_last = bool(params.get("channels_last", False))
    half = precision in {"fp16", "bf16"}
    tensor = on_tensor_pipes(facts, precision)
    slowness = _slowness(card, precision)
    scale = batch * (image / 224) ** 2 * slowness
    plain = 1.4 if _dual_issue(facts) else 0.65
    flop = TRAINING_FLOP * (1.0 if tensor else plain) * (0.7 if half and channels_last and tensor else 1.0)
    traffic = TRAINING_BYTES * (1.0 if half else 1.3) * (0.65 if half and channels_last else 1.0)
    fixed, per_sample = MEMORY_LINE[precision]
    allocated = int(fixed + per_sample * batch * (image / 224) ** 2)
    return Cost(
        load=Load(
            compute_cycles=flop * scale / flop_per_cycle(facts, precision),
            dram_bytes=traffic * scale * model.copy_efficiency,
            fixed_s=FIXED_S,
            host_s=_HOST_S[precision] * (1.0 if facts.passive else 0.75),
            activity=1.15 / slowness if tensor else 0.75,
            stall_activity=0.2,
            overlapped=False,
            tensor=tensor,
        ),
        work={"samples": float(batch)},
        allocated_bytes=allocated,
        reserved_bytes=int(allocated * RESERVED_OVER_ALLOCATED) + _autotuner(batch, half),
        noise=0.006,
        notes={
            "channels_last": channels_last,
            "emulated": emulated(facts, precision),
            "kernel": "simulated",
            "loss_finite": True,
            "optimizer": "sgd_momentum",
        },
    )


def _slowness(card: SimulatedCard, precision: str) -> float:
    """Factor on what peak rates predict: wide chips, and BF16 kernels that are less tuned than FP16 ones."""
    if card.facts.chip in {"GH100", "GB100"}:
        wide = card.model.training_factor
        return wide * _WIDE_CHIP.get(precision, 1.0) if precision != "fp32" else wide**0.5
    return card.model.training_factor * (1.04 if precision == "bf16" else 1.0)


def _autotuner(batch: int, half: bool) -> int:
    """At tiny batches cuDNN's autotuner reserves far more than is needed (recorded up to 6 GiB)."""
    return 2**30 if half and batch == 1 else 0
