"""Peak rate at the clock a card ran, and how much of it was reached (methods §2).

Rates per SM and clock by compute capability are those of NVIDIA's architecture whitepapers (V100, Turing, A100, GA102,
Ada, H100, RTX Blackwell) and, for FP64 and DP4A, of the table "Throughput of Native Arithmetic Instructions" in the
CUDA C++ Programming Guide. SMs × rate × boost clock gives each sheet's figure (tests).
"""

import re
from collections.abc import Mapping

from gputuner.model.readings import Scalar

FP32_PER_SM: dict[str, int] = {
    "6.0": 128, "7.0": 128, "7.5": 128, "8.0": 128,
    "6.1": 256, "8.6": 256, "8.9": 256, "9.0": 256, "10.0": 256, "12.0": 256,
}  # fmt: skip
"""Dense FP32 FLOP per SM and clock by compute capability."""
FP64_PER_SM: dict[str, int] = {
    "6.0": 64, "6.1": 8, "7.0": 64, "7.5": 4, "8.0": 128, "8.6": 4, "8.9": 4, "9.0": 256, "10.0": 128, "12.0": 4,
}  # fmt: skip
"""Dense FP64 FLOP per SM and clock, on tensor cores where the chip has them for FP64 (8.0, 9.0, 10.0)."""
TENSOR_FP16_PER_SM: dict[str, int] = {
    "7.0": 1024, "7.5": 1024, "8.6": 1024, "8.9": 1024, "12.0": 1024, "8.0": 2048, "9.0": 4096, "10.0": 8192,
}  # fmt: skip
"""Dense tensor FLOP per SM and clock, FP16 with FP16 accumulate, by compute capability."""
INT8_PER_SM: dict[str, int] = {
    "6.1": 1024, "7.0": 512, "7.5": 2048, "8.0": 4096, "8.6": 2048, "8.9": 2048, "9.0": 8192, "10.0": 16384,
    "12.0": 2048,
}  # fmt: skip
"""Dense INT8 operations per SM and clock with INT32 accumulate: DP4A on Pascal and Volta, tensor cores from Turing."""
FP8_CAPABILITIES = ("8.9", "9.0", "10.0", "12.0")
"""Chips with FP8 tensor cores: twice the FP16 rate at the same accumulator."""
SPARSE_FROM = 8.0
"""Compute capability from which on 2:4 sparse operands double the tensor rate."""
TENSOR = frozenset({"tf32", "fp16", "bf16", "fp8", "int8"})
ELEMENT_BYTES: dict[str, int] = {"fp64": 8, "fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2, "fp8": 1, "int8": 1}
"""Bytes of an operand's element (TF32 is stored as FP32)."""
RESULT_BYTES: dict[str, int] = {"fp8": 2, "int8": 4}
"""Bytes of a result's element where they differ: FP8 gives BF16, INT8 gives INT32."""
CONTRADICTION = 1.6
"""Formula at the highest clock over sheet beyond which the part has a cap of its own (H20 4.3, L40 2.0).

The highest clock alone explains up to 1.4: an RTX 2080 Ti may clock to 2160 MHz, its sheet counts 1545.
"""
OVER_THE_BUS = 1.05
"""A share of the sheet's bandwidth that no memory reaches."""
FROM_CACHE = 1.1
"""Beyond this share of the memory's slope a work came out of a cache, and DRAM did not bind it."""
NO_CACHE_HOLDS = 20
"""Bytes moved over the L2's size from which on at most a twentieth of them can come out of it."""
IMPLAUSIBLE_ABOVE: dict[str, float] = {
    "fraction_of_peak_at_clock": 1.05,
    "fraction_of_link": 1.05,
    "fraction_of_sheet": 1.3,
}
"""A share of the peak above this is a measuring error.

At the clock it ran, 5 % are that clock's error; above its sheet a card comes by boosting beyond the nominal clock.
"""
LOOSE_CLOCK_ABOVE = 1.3
"""The same at a clock that is not the figure's own (``conditions_of``: of the whole survey)."""
_TURING_WITH_TENSOR_CORES = re.compile(r"\bRTX|\bT4G?\b", re.IGNORECASE)
LANE_BYTES_S: dict[int, float] = {1: 0.25e9, 2: 0.5e9, 3: 0.9846e9, 4: 1.9692e9, 5: 3.9385e9, 6: 7.5625e9}
"""PCI Express bytes/s of one lane in one direction by generation, after line coding (8b/10b, 128b/130b, FLIT)."""


def halves_fp32_accumulate(name: str, capability: str) -> bool:
    """True for parts that run FP32 accumulation at half rate: GeForce from Turing on."""
    return "geforce" in name.lower() and capability not in ("6.0", "6.1", "7.0")


def lacks_tensor_cores(name: str, capability: str | None) -> bool:
    """True for parts of Turing without tensor cores: GeForce GTX 16 and MX, T400 to T1200, Quadro T (TU116, TU117).

    Compute capability 7.5 is that of both kinds (NVIDIA, CUDA GPUs), so that only the name tells them apart: RTX
    (GeForce, Quadro, TITAN) and the T4 have tensor cores.
    """
    return capability == "7.5" and _TURING_WITH_TENSOR_CORES.search(name) is None


def above_peak(shares: Mapping[str, Scalar]) -> bool:
    """True if a share of a peak, as a figure's ``extra`` tells it, is one that no card reaches."""
    loose = "conditions_of" in shares
    limits = IMPLAUSIBLE_ABOVE | ({"fraction_of_peak_at_clock": LOOSE_CLOCK_ABOVE} if loose else {})
    return any(float(shares.get(name, 0.0)) > most for name, most in limits.items())


def sparse_speedup(share: float) -> float:
    """How much faster than dense a work can be of whose operations ``share`` (0–1) run on 2:4 sparse pipes.

    Amdahl's law with a part at twice the rate: 1 / (1 − share / 2).
    """
    return 1.0 / (1.0 - share / 2.0)


def flop_per_sm_clock(
    capability: str, precision: str, *, half_rate: bool, accumulate: str = "fp32", sparse: bool = False
) -> int | None:
    """FLOP per SM and clock as PyTorch uses the chip; None where the chip cannot or is not in the table.

    Args:
        capability: compute capability, such as ``8.9``.
        precision: ``fp64``, ``fp32``, ``tf32``, ``fp16``, ``bf16``, ``fp8`` or ``int8``; TF32 and BF16 exist from
            Ampere on.
        half_rate: the part halves the rate of FP32 accumulation.
        accumulate: ``fp16`` where the sums are kept in FP16.
        sparse: 2:4 sparse operands, which double a tensor rate from Ampere on.
    """
    if sparse and (precision not in TENSOR or float(capability) < SPARSE_FROM):
        return None
    dense = _dense(capability, precision, half_rate=half_rate and accumulate != "fp16")
    return dense * 2 if dense is not None and sparse else dense


def _dense(capability: str, precision: str, *, half_rate: bool) -> int | None:
    plain = {"fp32": FP32_PER_SM, "fp64": FP64_PER_SM, "int8": INT8_PER_SM}
    if precision in plain:
        return plain[precision].get(capability)
    tensor = TENSOR_FP16_PER_SM.get(capability)
    if tensor is None:
        return None
    tensor = tensor // 2 if half_rate else tensor
    if precision == "fp16":
        return tensor
    if precision == "fp8":
        return 2 * tensor if capability in FP8_CAPABILITIES else None
    if float(capability) < 8.0 or precision not in ("bf16", "tf32"):
        return None
    return tensor // 2 if precision == "tf32" else tensor


def peak_at_clock(sm_count: int, per_sm_clock: float, clock_hz: float) -> float:
    """Peak rate in FLOP/s = SMs × FLOP per SM and clock × SM clock in that window."""
    return sm_count * per_sm_clock * clock_hz


def card_peak_at_clock(
    *,
    name: str,
    capability: str | None,
    sm_count: int | None,
    precision: str,
    clock_hz: float | None,
    clock_max_hz: float | None = None,
    sheet: float | None = None,
    accumulate: str = "fp32",
    sparse: bool = False,
) -> float | None:
    """Peak of a card in FLOP/s at ``clock_hz``; None where a part of the formula is unknown or the sheet contradicts.

    None too for a format of tensor cores on a chip without: which units torch multiplies on there is not documented.

    The contradiction is looked for at the highest clock: an export part has a cap that the formula does not know.
    ``sheet`` is the dense figure of the same arithmetic, as in the catalogue.
    """
    if capability is None or sm_count is None or clock_hz is None:
        return None
    if precision in TENSOR and lacks_tensor_cores(name, capability):
        return None
    half_rate = halves_fp32_accumulate(name, capability)
    rate = flop_per_sm_clock(capability, precision, half_rate=half_rate, accumulate=accumulate, sparse=sparse)
    if rate is None:
        return None
    dense = rate / 2 if sparse else rate
    if sheet and clock_max_hz and peak_at_clock(sm_count, dense, clock_max_hz) > CONTRADICTION * sheet:
        return None
    return peak_at_clock(sm_count, rate, clock_hz)


def dram_peak(bus_bits: float, memory_clock_hz: float) -> float:
    """DRAM peak in bytes/s = bus bits / 8 × 2 × memory clock as NVML gives it."""
    return bus_bits / 8.0 * 2.0 * memory_clock_hz


def link_peak(generation: float, width: float) -> float | None:
    """PCI Express bytes/s in one direction, after line coding and before packet headers; None: unknown generation.

    Packet headers leave about 90 % of it to large copies (payload of 256 bytes: 24 to 28 bytes of header each).
    """
    lane = LANE_BYTES_S.get(int(generation))
    return lane * width if lane is not None and width > 0 else None


def attainable(intensity_flop_per_byte: float, peak_flops: float, bandwidth: float) -> float:
    """Roofline: the lower of peak and intensity × bandwidth, in FLOP/s."""
    return min(peak_flops, intensity_flop_per_byte * bandwidth)


def beyond_the_bus(rate: float, footprint: float, cache: float, bus: float | None) -> bool:
    """Whether a rate (bytes/s) over a footprint of more than two caches is more than bus and cache can give.

    At most a cache full of the last pass can still lie there: 1 − cache / footprint of the bytes cross the bus, which
    sends ``bus`` bytes/s by the sheet (None: not known).
    """
    if not bus or footprint <= 2 * cache:
        return False
    return rate * (1.0 - cache / footprint) > OVER_THE_BUS * bus


def binds(slope_flops: float, peak_flops: float, rate_flops: float, *, beyond_caches: bool) -> bool:
    """Whether DRAM binds a work: the memory's slope lies below the peak, and its rate did not come out of a cache.

    Args:
        slope_flops: operations per byte × bandwidth, FLOP/s.
        peak_flops: of the arithmetic, FLOP/s.
        rate_flops: as measured, FLOP/s.
        beyond_caches: it moves so many bytes that no cache holds them (:data:`NO_CACHE_HOLDS`).
    """
    return slope_flops < peak_flops and (beyond_caches or rate_flops <= FROM_CACHE * slope_flops)


def matmul_intensity(m: int, n: int, k: int, precision: str) -> float | None:
    """FLOP per byte of ``C[m, n] = A[m, k] · B[k, n]`` with each element moved once; None: unknown format."""
    operand = ELEMENT_BYTES.get(precision)
    if operand is None:
        return None
    result = RESULT_BYTES.get(precision, operand)
    return 2.0 * m * n * k / (operand * (m * k + k * n) + result * m * n)
