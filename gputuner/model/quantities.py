"""The one table of sampled quantities: unit, resolution, tier. Collector, session file, JSON and plots all read it.

Inside the program values are in SI-like units (W, J, bytes, °C, MHz, fractions 0–1); the session file keeps
``round(value / resolution)`` as an integer, which is NVML's own resolution.
"""

from dataclasses import dataclass
from enum import StrEnum


class Tier(StrEnum):
    """How often a quantity is read."""

    FAST = "fast"
    SLOW = "slow"
    ONCE = "once"


class Quantity(StrEnum):
    """What is sampled from a card (the value is the column's name in exports)."""

    CORE_TEMPERATURE_C = "core_temperature_c"
    MEMORY_TEMPERATURE_C = "memory_temperature_c"
    HOTSPOT_TEMPERATURE_C = "hotspot_temperature_c"
    SLOWDOWN_MARGIN_C = "slowdown_margin_c"
    POWER_AVERAGE_W = "power_average_w"
    POWER_INSTANT_W = "power_instant_w"
    POWER_LIMIT_ENFORCED_W = "power_limit_enforced_w"
    ENERGY_J = "energy_j"
    SM_CLOCK_MHZ = "sm_clock_mhz"
    GRAPHICS_CLOCK_MHZ = "graphics_clock_mhz"
    MEMORY_CLOCK_MHZ = "memory_clock_mhz"
    VIDEO_CLOCK_MHZ = "video_clock_mhz"
    LIMIT_BITS = "limit_bits"
    GPU_UTILISATION = "gpu_utilisation"
    MEMORY_UTILISATION = "memory_utilisation"
    ENCODER_UTILISATION = "encoder_utilisation"
    DECODER_UTILISATION = "decoder_utilisation"
    MEMORY_USED_BYTES = "memory_used_bytes"
    MEMORY_RESERVED_BYTES = "memory_reserved_bytes"
    MEMORY_FREE_BYTES = "memory_free_bytes"
    BAR1_USED_BYTES = "bar1_used_bytes"
    FAN_FRACTION = "fan_fraction"
    FAN_RPM = "fan_rpm"
    PSTATE = "pstate"
    PCIE_GENERATION = "pcie_generation"
    PCIE_WIDTH = "pcie_width"
    PCIE_REPLAYS = "pcie_replays"
    LIMITED_POWER_NS = "limited_power_ns"
    LIMITED_THERMAL_SOFTWARE_NS = "limited_thermal_software_ns"
    LIMITED_THERMAL_HARDWARE_NS = "limited_thermal_hardware_ns"
    LIMITED_POWER_BRAKE_NS = "limited_power_brake_ns"
    LIMITED_SYNC_BOOST_NS = "limited_sync_boost_ns"
    SM_ACTIVE = "sm_active"
    TENSOR_ACTIVE = "tensor_active"
    DRAM_ACTIVE = "dram_active"
    ECC_CORRECTED = "ecc_corrected"
    ECC_UNCORRECTED = "ecc_uncorrected"
    REMAPPED_ROWS = "remapped_rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantityInfo:
    """Unit of the value inside the program, resolution of the stored integer in that unit, and tier."""

    unit: str
    resolution: float
    tier: Tier
    counter: bool = False
    """True for values that only grow (energy, nanoseconds in a limit): rolled up by their last value."""


def _info(unit: str, resolution: float, tier: Tier, counter: bool = False) -> QuantityInfo:
    return QuantityInfo(unit=unit, resolution=resolution, tier=tier, counter=counter)


_F, _S = Tier.FAST, Tier.SLOW
QUANTITIES: dict[Quantity, QuantityInfo] = {
    Quantity.CORE_TEMPERATURE_C: _info("degC", 1, _F),
    Quantity.MEMORY_TEMPERATURE_C: _info("degC", 1, _F),
    Quantity.HOTSPOT_TEMPERATURE_C: _info("degC", 1, _F),
    Quantity.SLOWDOWN_MARGIN_C: _info("degC", 1, _F),
    Quantity.POWER_AVERAGE_W: _info("W", 0.001, _F),
    Quantity.POWER_INSTANT_W: _info("W", 0.001, _F),
    Quantity.POWER_LIMIT_ENFORCED_W: _info("W", 0.001, _S),
    Quantity.ENERGY_J: _info("J", 0.001, _F, True),
    Quantity.SM_CLOCK_MHZ: _info("MHz", 1, _F),
    Quantity.GRAPHICS_CLOCK_MHZ: _info("MHz", 1, _S),
    Quantity.MEMORY_CLOCK_MHZ: _info("MHz", 1, _F),
    Quantity.VIDEO_CLOCK_MHZ: _info("MHz", 1, _S),
    Quantity.LIMIT_BITS: _info("", 1, _F),
    Quantity.GPU_UTILISATION: _info("fraction", 0.01, _F),
    Quantity.MEMORY_UTILISATION: _info("fraction", 0.01, _F),
    Quantity.ENCODER_UTILISATION: _info("fraction", 0.01, _S),
    Quantity.DECODER_UTILISATION: _info("fraction", 0.01, _S),
    Quantity.MEMORY_USED_BYTES: _info("bytes", 1, _F),
    Quantity.MEMORY_RESERVED_BYTES: _info("bytes", 1, _S),
    Quantity.MEMORY_FREE_BYTES: _info("bytes", 1, _F),
    Quantity.BAR1_USED_BYTES: _info("bytes", 1, _S),
    Quantity.FAN_FRACTION: _info("fraction", 0.01, _S),
    Quantity.FAN_RPM: _info("rpm", 1, _S),
    Quantity.PSTATE: _info("", 1, _S),
    Quantity.PCIE_GENERATION: _info("", 1, _S),
    Quantity.PCIE_WIDTH: _info("", 1, _S),
    Quantity.PCIE_REPLAYS: _info("", 1, _S, True),
    Quantity.LIMITED_POWER_NS: _info("ns", 1, _S, True),
    Quantity.LIMITED_THERMAL_SOFTWARE_NS: _info("ns", 1, _S, True),
    Quantity.LIMITED_THERMAL_HARDWARE_NS: _info("ns", 1, _S, True),
    Quantity.LIMITED_POWER_BRAKE_NS: _info("ns", 1, _S, True),
    Quantity.LIMITED_SYNC_BOOST_NS: _info("ns", 1, _S, True),
    Quantity.SM_ACTIVE: _info("fraction", 0.0001, _S),
    Quantity.TENSOR_ACTIVE: _info("fraction", 0.0001, _S),
    Quantity.DRAM_ACTIVE: _info("fraction", 0.0001, _S),
    Quantity.ECC_CORRECTED: _info("", 1, _S, True),
    Quantity.ECC_UNCORRECTED: _info("", 1, _S, True),
    Quantity.REMAPPED_ROWS: _info("", 1, _S, True),
}


class Limiter(StrEnum):
    """What holds the clock back, in the words of the window's ribbon."""

    NONE = "none"
    IDLE = "idle"
    POWER = "power"
    THERMAL_SOFTWARE = "thermal_software"
    THERMAL_HARDWARE = "thermal_hardware"
    POWER_BRAKE = "power_brake"
    HARDWARE = "hardware_slowdown"
    """The hardware slows the clock without telling why: heat, power drawn too fast, the brake, or a P-state change."""
    USER_CAP = "user_cap"
    SYNC_BOOST = "sync_boost"
    UNKNOWN = "unknown"


class LimitBit:
    """NVML clock-event reason bits (nvml.h, nvmlClocksEventReasons)."""

    IDLE = 0x1
    USER_CLOCKS = 0x2
    SW_POWER_CAP = 0x4
    HW_SLOWDOWN = 0x8
    SYNC_BOOST = 0x10
    SW_THERMAL = 0x20
    HW_THERMAL = 0x40
    HW_POWER_BRAKE = 0x80
    DISPLAY_CLOCKS = 0x100


_ORDER: tuple[tuple[int, Limiter], ...] = (
    (LimitBit.HW_THERMAL, Limiter.THERMAL_HARDWARE),
    (LimitBit.HW_POWER_BRAKE, Limiter.POWER_BRAKE),
    (LimitBit.HW_SLOWDOWN, Limiter.HARDWARE),
    (LimitBit.SW_THERMAL, Limiter.THERMAL_SOFTWARE),
    (LimitBit.SW_POWER_CAP, Limiter.POWER),
    (LimitBit.SYNC_BOOST, Limiter.SYNC_BOOST),
    (LimitBit.USER_CLOCKS | LimitBit.DISPLAY_CLOCKS, Limiter.USER_CAP),
    (LimitBit.IDLE, Limiter.IDLE),
)


def limiter_of(bits: int | None) -> Limiter:
    """The one limiter to show for a mask of NVML reason bits: the most serious wins; None or unknown bits → UNKNOWN.

    Only bit 0x40 says heat: 0x8 alone may be heat, power or a mere change of the P-state (nvml.h).
    """
    if bits is None:
        return Limiter.UNKNOWN
    for mask, limiter in _ORDER:
        if bits & mask:
            return limiter
    return Limiter.UNKNOWN if bits else Limiter.NONE
