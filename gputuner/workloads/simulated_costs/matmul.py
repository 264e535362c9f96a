"""Products of matrices on a simulated card."""

from collections.abc import Mapping, Sequence

from gputuner.catalog.facts import CardFacts
from gputuner.devices.simulated_card import SimulatedCard
from gputuner.devices.simulated_load import Load
from gputuner.model.readings import Scalar
from gputuner.workloads.simulated_costs.chip import (
    emulated,
    flop_per_cycle,
    on_tensor_pipes,
    plain_efficiency,
    precision_of,
)
from gputuner.workloads.simulated_costs.cost import Cost, Setting, UnsupportedOnChipError
from gputuner.workloads.simulated_costs.operations import in_bursts

ERRORS = {
    "fp64": 4e-16,
    "fp32": 2.1e-7,
    "tf32": 2.9e-4,
    "fp16": 2.1e-4,
    "fp16-acc16": 9e-3,
    "bf16": 1.7e-3,
    "fp8": 1.7e-3,
    "int8": 0.0,
}
"""Relative Frobenius error of a product by rounding of inputs, sums and result."""
STORAGE_BYTES = {"fp64": 8, "fp32": 4, "tf32": 4, "fp16": 2, "fp16-acc16": 2, "bf16": 2, "fp8": 1, "int8": 1}
SPARSE_GAIN = 1.55
"""What 2:4 sparse products gain over dense ones in practice; twice is the sheet's."""
COMPRESSION_SHARE = 1.4
"""Compressing the operand each time costs this much of the product's own time on top."""
LARGEST_S, BURST_LARGEST_S = 0.02, 0.008
"""A product of the largest shape takes about this long at most."""
TRIED: tuple[tuple[int, int, int], ...] = (
    (5120, 9472, 13312), (14848, 14848, 14848), (8704, 8448, 16384), (8192, 8192, 8192), (4096, 4096, 4096),
    (2048, 2048, 13312), (3072, 3072, 8192), (2048, 2048, 2048),
)  # fmt: skip
"""Shapes that the simulated search goes through, as shares of what the chip can hold and do in time."""


def matmul(card: SimulatedCard, params: Mapping[str, Scalar]) -> Cost:
    """One product of an m × k by a k × n matrix (``m`` and ``k`` default to ``n``)."""
    n = int(params["n"])
    return _product(card, str(params["precision"]), (int(params.get("m", n)), n, int(params.get("k", n))), params)


def matmul_sparse(card: SimulatedCard, params: Mapping[str, Scalar]) -> Cost:
    """One product with a 2:4 sparse operand, counted as dense; ``setup_counted`` compresses it each time."""
    if not card.facts.sparsity_2_4:
        raise UnsupportedOnChipError("this chip has no 2:4 sparse arithmetic")
    n = int(params["n"])
    shape = (int(params.get("m", n)), n, int(params.get("k", n)))
    counted = bool(params.get("setup_counted", False))
    gain = SPARSE_GAIN / ((1.0 + COMPRESSION_SHARE) if counted else 1.0)
    notes: dict[str, Scalar] = {"backend": "simulated", "setup_counted": counted, "counted_as": "dense"}
    return _product(card, str(params["precision"]), shape, params, gain=gain, notes=notes)


def matmul_bursts(card: SimulatedCard, params: Mapping[str, Scalar]) -> Sequence[Setting]:
    """One product, dense or 2:4 sparse, in bursts with pauses where it is short enough."""
    named = {"m": params["n"], "k": params["n"], **params}
    cost = matmul_sparse(card, named) if params.get("sparse") else matmul(card, named)
    return (in_bursts(card, Setting(params={}, cost=cost)),)


def matmul_search(card: SimulatedCard, params: Mapping[str, Scalar]) -> Sequence[Setting]:
    """Shapes from large to small."""
    top, precision = int(params.get("top", 16384)), str(params["precision"])
    rate = product_flop_per_cycle(card.facts, precision, params) * card.sm_clock_hz()
    bursts = bool(params.get("bursts", False))
    top = min(top, int((rate * (BURST_LARGEST_S if bursts else LARGEST_S) / 2.0) ** (1 / 3)))
    settings: list[Setting] = []
    for shape in TRIED:
        m, n, k = (max(64, side * top // 16384 // 64 * 64) for side in shape)
        told: dict[str, Scalar] = {"m": m, "n": n, "k": k, "transposed": False}
        setting = Setting(params=told, cost=_product(card, precision, (m, n, k), params))
        settings.append(in_bursts(card, setting) if bursts else setting)
    return sorted(settings, key=lambda s: card.iteration_s(s.cost.load) / s.cost.work["flop"])


def _product(
    card: SimulatedCard,
    precision: str,
    shape: tuple[int, int, int],
    params: Mapping[str, Scalar],
    gain: float = 1.0,
    notes: dict[str, Scalar] | None = None,
) -> Cost:
    facts = card.facts
    per_cycle = product_flop_per_cycle(facts, precision, params)
    tensor = precision not in ("fp32", "fp64") and on_tensor_pipes(facts, precision)
    best = card.model.matmul_efficiency if tensor or precision == "fp64" else plain_efficiency(facts)
    m, n, k = shape
    half_size = 900.0 * (facts.sm_count / 132) ** 0.5
    side = (m * n * k) ** (1 / 3)
    efficiency = best * min(1.0, (1 + (half_size / 8192) ** 2) / (1 + (half_size / side) ** 2))
    size = STORAGE_BYTES[precision]
    flop = 2.0 * m * n * k
    tile = 175.0 * facts.l2_mib**0.5
    held = (m * k + k * n + m * n) * size + 32 * 2**20
    return Cost(
        load=Load(
            compute_cycles=flop / (per_cycle * efficiency * gain),
            dram_bytes=flop * size / tile + float(m * k + k * n + m * n) * size,
            fixed_s=4e-6,
            host_s=8e-6,
            activity=1.0 if tensor and precision != "tf32" else 0.95 if tensor else 0.62,
            tensor=tensor,
        ),
        work={"flop": flop},
        allocated_bytes=held,
        reserved_bytes=held,
        noise=0.003,
        relative_error=ERRORS[precision],
        notes={"emulated": emulated(facts, precision), "kernel": "simulated", "inputs": "normal", **(notes or {})},
    )


def product_flop_per_cycle(facts: CardFacts, precision: str, params: Mapping[str, Scalar]) -> float:
    """Dense operations of the whole chip per SM clock in any of the formats of products.

    Raises:
        UnsupportedOnChipError: unknown, or the chip lacks it.
    """
    if precision not in STORAGE_BYTES:
        raise UnsupportedOnChipError(f"unknown precision: {precision}")
    if precision == "fp64":
        return (facts.fp64_tensor_tflops or facts.fp64_tflops) * 1e6 / facts.boost_clock_mhz
    if precision == "fp8":
        return _fp8_per_cycle(facts, fast=bool(params.get("fast_accumulate", False)))
    if precision == "int8":
        return _sheet_ratio(facts, facts.int8_tops, "INT8")
    if precision == "fp16-acc16":
        full, half = facts.fp16_tensor_fp16acc_tflops, facts.fp16_tensor_fp32acc_tflops
        if full is None or half is None:
            raise UnsupportedOnChipError("this chip has no tensor cores with FP16 sums")
        return flop_per_cycle(facts, "fp16") * full / half
    return flop_per_cycle(facts, precision_of(facts, {"precision": precision}))


def _fp8_per_cycle(facts: CardFacts, *, fast: bool) -> float:
    """GeForce runs FP8 with FP32 sums at half rate; fast accumulation reaches the other figure where there is one."""
    return _sheet_ratio(
        facts, facts.fp8_fp16acc_tflops if fast and facts.fp8_fp16acc_tflops else facts.fp8_tflops, "FP8"
    )


def _sheet_ratio(facts: CardFacts, tera: float | None, what: str) -> float:
    half = facts.fp16_tensor_fp32acc_tflops
    if tera is None or half is None:
        raise UnsupportedOnChipError(f"this chip has no {what} arithmetic")
    return flop_per_cycle(facts, "fp16") * tera / half
