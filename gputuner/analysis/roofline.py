"""Peak rate at the clock a card ran, and how much of it was reached (methods §2)."""

FP32_PER_SM: dict[str, int] = {
    "6.0": 128, "7.0": 128, "7.5": 128, "8.0": 128,
    "6.1": 256, "8.6": 256, "8.9": 256, "9.0": 256, "10.0": 256, "12.0": 256,
}  # fmt: skip
"""Dense FP32 FLOP per SM and clock by compute capability."""
TENSOR_FP16_PER_SM: dict[str, int] = {
    "7.0": 1024, "7.5": 1024, "8.6": 1024, "8.9": 1024, "12.0": 1024, "8.0": 2048, "9.0": 4096, "10.0": 8192,
}  # fmt: skip
"""Dense tensor FLOP per SM and clock, FP16 with FP16 accumulate, by compute capability."""
CONTRADICTION = 1.3
"""Formula at the highest clock over sheet beyond which the part has a cap of its own (H20, 5090 D …)."""
IMPLAUSIBLE_ABOVE = 1.3
"""A share of the peak above this is a measuring error; up to it, a card that boosts above its nominal clock."""


def halves_fp32_accumulate(name: str, capability: str) -> bool:
    """True for parts that run FP32 accumulation at half rate: GeForce from Turing on."""
    return "geforce" in name.lower() and capability not in ("6.0", "6.1", "7.0")


def flop_per_sm_clock(capability: str, precision: str, *, half_rate: bool) -> int | None:
    """Dense FLOP per SM and clock as PyTorch uses the chip (FP32 accumulate); None where the chip is not in the table.

    ``precision``: ``fp32``, ``tf32``, ``fp16``, ``bf16``. TF32 and BF16 exist from Ampere on.
    """
    if precision == "fp32":
        return FP32_PER_SM.get(capability)
    tensor = TENSOR_FP16_PER_SM.get(capability)
    if tensor is None:
        return None
    tensor = tensor // 2 if half_rate else tensor
    if precision == "fp16":
        return tensor
    if float(capability) < 8.0:
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
) -> float | None:
    """Peak of a card in FLOP/s at ``clock_hz``; None where a part of the formula is unknown or the sheet contradicts.

    The contradiction is looked for at the highest clock: an export part has a cap that the formula does not know.
    """
    if capability is None or sm_count is None or clock_hz is None:
        return None
    rate = flop_per_sm_clock(capability, precision, half_rate=halves_fp32_accumulate(name, capability))
    if rate is None:
        return None
    if sheet and clock_max_hz and peak_at_clock(sm_count, rate, clock_max_hz) > CONTRADICTION * sheet:
        return None
    return peak_at_clock(sm_count, rate, clock_hz)


def dram_peak(bus_bits: int, memory_clock_hz: float) -> float:
    """DRAM peak in bytes/s = bus bits / 8 × 2 × memory clock as NVML gives it."""
    return bus_bits / 8.0 * 2.0 * memory_clock_hz


def attainable(intensity_flop_per_byte: float, peak_flops: float, bandwidth: float) -> float:
    """Roofline: the lower of peak and intensity × bandwidth, in FLOP/s."""
    return min(peak_flops, intensity_flop_per_byte * bandwidth)
