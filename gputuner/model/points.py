"""A measured figure: value, spread, the conditions it was measured under, and what is wrong with it."""

from dataclasses import dataclass, field
from enum import StrEnum
from math import isfinite

from gputuner.model.cards import Origin
from gputuner.model.quantities import Limiter
from gputuner.model.readings import Scalar


class Flag(StrEnum):
    """What a reader must know of a figure before trusting it."""

    SHARED = "shared"
    THROTTLED_POWER = "throttled:power"
    THROTTLED_THERMAL = "throttled:thermal"
    CLOCK_LOWERED = "clock_lowered"
    """Bursts ended below the clock of the resting card, and no limit was seen."""
    NOT_STEADY = "not_steady"
    SPREAD = "spread"
    """IQR over 3 % of the median."""
    DRIFT = "drift"
    """Last third differs from the first by more than 1 %."""
    FEW_SAMPLES = "few_samples"
    """Too few repeats, or too dependent ones, for an interval."""
    TOO_SLOW = "too_slow"
    LINK_BELOW_MAX = "link_below_max"
    EMULATED = "emulated"
    EXTRAPOLATED = "extrapolated"
    """Predicted from other sizes, not tried out."""
    NO_TELEMETRY = "no_telemetry"
    IMPLAUSIBLE = "implausible"
    TF32_BELOW_FP32 = "tf32_below_fp32"
    """TF32 was slower than FP32 in this run: one of the two was disturbed, or TF32 was off."""


def _finite(*values: float | None) -> None:
    if any(v is not None and not isfinite(v) for v in values):
        raise ValueError("a point is finite")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Distribution of the repeats behind a value, in the value's own unit.

    ``ci95_low``/``ci95_high``: 95 % interval of the median within the trial, by moving-block bootstrap with blocks of
    ``block_length``; None with fewer than 20 repeats, or where they depend on each other too much.
    """

    n: int
    median: float
    iqr: float
    ci95_low: float | None = None
    ci95_high: float | None = None
    block_length: int | None = None

    def __post_init__(self) -> None:
        """Refuse NaN and infinities."""
        _finite(self.median, self.iqr, self.ci95_low, self.ci95_high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What the card did while the figure was measured: medians over the window, of power the mean (None: unknown).

    ``limited_s`` seconds in each limit within the window, from the nanosecond counters where the card has them, else
    from the sampled reason bits (``limited_from_samples`` True).
    """

    duration_s: float
    samples: int = 0
    sm_clock_mhz: float | None = None
    memory_clock_mhz: float | None = None
    power_w: float | None = None
    energy_j: float | None = None
    core_temperature_start_c: float | None = None
    core_temperature_end_c: float | None = None
    memory_temperature_end_c: float | None = None
    fan_fraction: float | None = None
    gpu_utilisation: float | None = None
    pcie_generation: float | None = None
    """Best link generation seen in the window (an idle link downshifts, so the best one under load counts)."""
    pcie_width: float | None = None
    """Widest link seen in the window, lanes."""
    limited_s: dict[Limiter, float] = field(default_factory=lambda: {})
    limited_from_samples: bool = False
    sm_active: float | None = None
    """Mean activity of the whole card by its own counters (GPM, Hopper and later), whoever used it: SMs …"""
    tensor_active: float | None = None
    """… tensor cores …"""
    dram_active: float | None = None
    """… and memory. Only of windows that hold two slow readings: each tells the time since the one before it."""

    def __post_init__(self) -> None:
        """Refuse NaN and infinities."""
        _finite(
            self.duration_s,
            self.sm_clock_mhz,
            self.memory_clock_mhz,
            self.power_w,
            self.energy_j,
            self.core_temperature_start_c,
            self.core_temperature_end_c,
            self.memory_temperature_end_c,
            self.fan_fraction,
            self.gpu_utilisation,
            self.pcie_generation,
            self.pcie_width,
            self.sm_active,
            self.tensor_active,
            self.dram_active,
            *self.limited_s.values(),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One figure of an experiment.

    ``metric`` examples: ``matmul_rate`` (FLOP/s), ``copy_bandwidth`` (bytes/s, read + written),
    ``train_throughput`` (samples/s), ``memory_peak`` (bytes), ``batch_limit`` (samples), ``co_run_slowdown`` (1),
    ``steady_temperature`` (degC). ``params`` say of what: batch, precision, phase (``burst``/``sustained``), jobs …
    """

    id: str
    """Unique within its run; advice refers to it."""
    card: str
    metric: str
    workload: str
    params: dict[str, Scalar]
    value: float
    unit: str
    origin: Origin = Origin.MEASURED
    spread: Spread | None = None
    conditions: Conditions | None = None
    flags: tuple[Flag, ...] = ()
    extra: dict[str, Scalar] = field(default_factory=lambda: {})
    """Further figures of the same trial (allocated_bytes, reserved_bytes, relative_error, allocator_retries, …)."""

    def __post_init__(self) -> None:
        """Refuse NaN and infinities."""
        _finite(self.value, *(v for v in self.extra.values() if isinstance(v, float)))
