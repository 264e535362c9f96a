"""What a simulated chip computes per clock, by number format (methods §2)."""

from collections.abc import Mapping

from gputuner.catalog.facts import CardFacts
from gputuner.catalog.features import capability
from gputuner.model.readings import Scalar
from gputuner.workloads.simulated_costs.cost import UnsupportedOnChipError

TENSOR_RATE: dict[str, int] = {"GA100": 2048, "GH100": 4096, "GB100": 8192}
"""Dense FLOP per SM and clock, FP16 with FP16 accumulation (methods §2); all other tensor chips 1024."""

PROCESSOR_CHIP = "processor"
"""The host's processor, as a dry run plays it."""

CONVERTED_STEP = 16.22 / 8.96
"""A GTX 1080 Ti took 16.22 s for 100 steps in FP16 and 8.96 s in FP32 (a published case of autocast there)."""

STORAGE_BYTES = {"fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2}
"""Bytes of one stored number."""


def precision_of(facts: CardFacts, params: Mapping[str, Scalar]) -> str:
    """The precision asked for.

    Raises:
        UnsupportedOnChipError: unknown, or TF32 on a chip without it.
    """
    precision = str(params.get("precision", "fp32"))
    if precision not in STORAGE_BYTES:
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


def converted(facts: CardFacts, precision: str) -> bool:
    """True where half precision is only a way to store numbers: GP10x computes FP16 at 1/64 of FP32 (methods §2), so
    libraries convert to FP32 and back."""
    return precision in ("fp16", "bf16") and facts.chip.startswith("GP10") and facts.chip != "GP100"


def conversion_time(facts: CardFacts, precision: str) -> float:
    """Time of a training step over that in FP32, where its numbers are converted; 1 elsewhere."""
    return CONVERTED_STEP if converted(facts, precision) else 1.0


def dual_issue(facts: CardFacts) -> bool:
    """True for chips whose FP32 peak counts two units per lane, which kernels seldom fill."""
    return facts.chip != "GA100" and capability(facts.compute_capability) >= (8, 0)


def plain_efficiency(facts: CardFacts) -> float:
    """Reachable share of the FP32 peak (published products)."""
    return 0.74 if dual_issue(facts) else 0.92
