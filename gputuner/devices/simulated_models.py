"""Parameters of a simulated card, derived from the catalogue's facts and, for some cards, tuned.

What a data sheet does not tell is set per class of card (cooling facts §2–§6, and one recorded H200): a simulated card
is a plausible member of its class, not a claim about a real one.
"""

from dataclasses import dataclass, replace
from itertools import pairwise

from gputuner.analysis.heat import Lag
from gputuner.catalog.facts import CardFacts

MIB = 2**20
FanCurve = tuple[tuple[float, float], ...]

_OPEN_FAN: FanCurve = ((50, 0.30), (65, 0.45), (75, 0.65), (83, 0.90), (90, 1.0))
_BLOWER_FAN: FanCurve = ((40, 0.30), (60, 0.50), (75, 0.75), (86, 1.0))
_REAL_BOOST = {"Pascal": 1.18, "Turing": 1.18, "Ampere": 1.12, "Ada": 1.08, "Blackwell": 1.15}
"""Consumer boards run above the rated boost (facts: public products exceed the half-rate peak)."""
FAN_EXPONENT = 0.55
"""Sink resistance ∝ fan^−0.55: forced convection over fins grows with about the square root of the flow."""
STILL_AIR = 3.0
"""Factor on the sink's resistance with the fan standing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedModel:
    """Electrical and thermal parameters of one simulated card (W, °C, K/W, MHz, s, bytes)."""

    clock_max_mhz: float
    """Highest clock that the card boosts to under load."""
    clock_reported_max_mhz: float
    clock_idle_mhz: float
    boost_drop_from_c: float | None
    """From here a GeForce gives up one 15 MHz step every 6 °C; None: it does not."""
    memory_clock_mhz: float
    memory_clock_compute_mhz: float
    memory_clock_idle_mhz: float
    copy_efficiency: float
    """Reachable share of the DRAM's peak."""
    matmul_efficiency: float
    """Reachable share of the tensor peak with large operands."""
    training_factor: float = 1.0
    """Time of a training step against what peak rates predict (wide chips are filled worse by small kernels)."""
    idle_w: float
    active_idle_w: float
    """Clocks up, nothing running."""
    memory_idle_w: float
    memory_active_w: float
    """Added by the memory at full traffic."""
    leakage_w: float
    """At 60 °C and full voltage; doubles every 40 K."""
    dynamic_w: float
    """Switching power of a dense tensor product at the highest clock."""
    power_limit_default_w: float
    power_limit_min_w: float
    power_limit_max_w: float
    peak_ratio: float = 1.3
    """The hardware's own instant power limit over the enforced one."""
    air_c: float
    die: tuple[Lag, ...]
    memory: tuple[Lag, ...]
    memory_offset_c: float
    sink: tuple[Lag, ...]
    """At full fan; warmed by the whole board's power, under core and memory alike."""
    fan_curve: FanCurve | None
    """None: no fan of its own."""
    zero_rpm: bool
    fan_max_rpm: float
    target_c: float
    slowdown_c: float
    shutdown_c: float
    memory_limit_c: float
    context_bytes: int
    reserved_bytes: int
    sleeps_with_context_s: float | None
    """A GeForce falls asleep this long after the last kernel though a context is open; None: it does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Design:
    """Where a card of a class ends up under its full power limit."""

    core_c: float
    memory_c: float
    overdraw: float
    """Power a dense tensor product would draw at the highest clock, over the limit."""
    air_c: float = 27.0
    curve: FanCurve | None = _OPEN_FAN
    zero_rpm: bool = True
    rpm: float = 3200.0


def _design(facts: CardFacts) -> _Design:
    """Design point by class: open cooler, blower, or a board in a server's airflow."""
    small = facts.tdp_w <= 165
    if facts.passive:
        overdraw = 1.9 if small else 1.5 if facts.tdp_w < 400 else 1.25
        return _Design(core_c=66, memory_c=72, overdraw=overdraw, air_c=30.0, curve=None, zero_rpm=False)
    if facts.card_class in {"pro", "titan"}:
        return _Design(core_c=80, memory_c=86, overdraw=1.3, curve=_BLOWER_FAN, zero_rpm=False, rpm=4800)
    memory_c = 96 if facts.memory_type == "GDDR6X" else 82
    return _Design(core_c=72, memory_c=memory_c, overdraw=1.05, zero_rpm=facts.architecture not in {"Pascal", "Turing"})


_DESIGNS: dict[str, _Design] = {
    # Blower with memory on both sides: 70 °C typical, 86 °C peak core, rear memory near 100 °C (published results).
    "rtx-4090-48g": _Design(core_c=79, memory_c=99, overdraw=1.03, curve=_BLOWER_FAN, zero_rpm=False, rpm=5200),
    "rtx-4090-d-48g": _Design(core_c=79, memory_c=99, overdraw=1.03, curve=_BLOWER_FAN, zero_rpm=False, rpm=5200),
    # Twenty chips under the donor's cooler with soft pads: the memory reaches its limit before the core is warm.
    "rtx-3080-20g": _Design(core_c=70, memory_c=124, overdraw=1.1),
    "rtx-2080-ti-22g": _Design(core_c=76, memory_c=92, overdraw=1.1, zero_rpm=False),
    # An export part: its tensor pipes are cut to a sixth and never reach the power cap.
    "h20": _Design(core_c=60, memory_c=72, overdraw=0.85, air_c=30.0, curve=None, zero_rpm=False),
    "rtx-3090": _Design(core_c=76, memory_c=104, overdraw=1.1),
}


def derive(facts: CardFacts) -> SimulatedModel:
    """Parameters of any card of the catalogue."""
    if facts.id == "h200-sxm":
        return _h200(facts)
    return _by_class(facts, _DESIGNS.get(facts.id) or _design(facts))


def _by_class(facts: CardFacts, design: _Design) -> SimulatedModel:
    consumer = facts.card_class in {"geforce", "titan"}
    tdp = float(facts.tdp_w)
    idle = tdp * (0.05 if consumer else 0.11)
    active_idle = tdp * (0.20 if consumer else 0.19)
    memory_active = memory_power_w(facts)
    memory_idle = 0.2 * memory_active
    leakage = 0.06 * tdp
    dynamic = design.overdraw * tdp - active_idle - 0.25 * memory_active - 0.5 * leakage
    rise = design.core_c - design.air_c
    core_w = 0.72 * tdp
    sink_rise, die_rise = 0.62 * rise, 0.38 * rise
    fan = fan_at(design.curve, design.core_c)
    sink = sink_rise / tdp * fan**FAN_EXPONENT
    memory_rise = design.memory_c - design.air_c - sink_rise - 3.0
    memory_w = memory_idle + 0.5 * memory_active
    die, memory = die_rise / core_w, max(5.0, memory_rise) / memory_w
    clock = _steps(facts.boost_clock_mhz * (_REAL_BOOST.get(facts.architecture, 1.1) if consumer else 1.0))
    full = facts.memory_data_rate_gbps * 500
    return SimulatedModel(
        clock_max_mhz=clock,
        clock_reported_max_mhz=_steps(clock * 1.12) if consumer else clock,
        clock_idle_mhz=210.0,
        boost_drop_from_c=45.0 if consumer else None,
        memory_clock_mhz=full,
        memory_clock_compute_mhz=full - _compute_memory_drop(facts),
        memory_clock_idle_mhz=405.0 if facts.memory_type.startswith("GDDR") else full,
        copy_efficiency=0.92,
        matmul_efficiency=0.98 if consumer else 0.86,
        training_factor=2.0 if facts.chip in {"GH100", "GB100"} else 1.15 if facts.chip == "GA100" else 1.0,
        idle_w=idle,
        active_idle_w=active_idle,
        memory_idle_w=memory_idle,
        memory_active_w=memory_active,
        leakage_w=leakage,
        dynamic_w=dynamic,
        power_limit_default_w=tdp,
        power_limit_min_w=float(facts.min_power_limit_w or _steps(0.45 * tdp, 5)),
        power_limit_max_w=float(facts.max_power_limit_w or tdp),
        air_c=design.air_c,
        die=(_lag(0.62 * die, 0.05), _lag(0.20 * die, 0.3), _lag(0.18 * die, 2.5)),
        memory=(_lag(0.5 * memory, 0.4), _lag(0.5 * memory, 12.0)),
        memory_offset_c=3.0,
        sink=(_lag(0.15 * sink, 5.0), _lag(0.85 * sink, 25.0 if facts.passive else 75.0)),
        fan_curve=design.curve,
        zero_rpm=design.zero_rpm,
        fan_max_rpm=design.rpm,
        context_bytes=(450 if facts.passive else 330) * MIB,
        reserved_bytes=_reserved(facts),
        sleeps_with_context_s=15.0 if consumer else None,
        **_limits(facts),
    )


def _h200(facts: CardFacts) -> SimulatedModel:
    """The H200 SXM as recorded.

    77 W asleep, 119 W idle with a context, 700 W and 1485 MHz on a BF16 product, 669 W at the full 1980 MHz on an FP32
    product, 462 W on a copy; 57 °C core and 49 °C memory after a minute of product.
    """
    base = _by_class(facts, _design(facts))
    return replace(
        base,
        clock_idle_mhz=345.0,
        memory_clock_mhz=3201.0,
        memory_clock_compute_mhz=3201.0,
        memory_clock_idle_mhz=3201.0,
        copy_efficiency=0.896,
        matmul_efficiency=0.836,
        training_factor=2.045,
        idle_w=77.0,
        active_idle_w=119.0,
        memory_idle_w=50.0,
        memory_active_w=200.0,
        leakage_w=40.0,
        dynamic_w=852.0,
        peak_ratio=1.27,
        power_limit_min_w=200.0,
        air_c=31.0,
        die=(_lag(0.0260, 0.04), _lag(0.0050, 0.25), _lag(0.0030, 1.5)),
        memory=(_lag(0.0400, 0.05), _lag(0.0160, 0.4), _lag(0.0080, 8.0)),
        memory_offset_c=3.0,
        sink=(_lag(0.0065, 0.8), _lag(0.0060, 8.0)),
        target_c=87.0,
        slowdown_c=89.0,
        shutdown_c=95.0,
        memory_limit_c=95.0,
        context_bytes=520 * MIB,
        reserved_bytes=616 * MIB,
    )


def _limits(facts: CardFacts) -> dict[str, float]:
    """Absolute temperatures; where the board only knows margins they are added to its maximum (cooling facts §4)."""
    maximum = facts.gpu_max_temp_c or (85 if facts.passive else 90)
    slowdown = facts.slowdown_c or maximum - (facts.tlimit_slowdown_c or -3)
    shutdown = facts.shutdown_c or maximum - (facts.tlimit_shutdown_c or -7)
    consumer_target = facts.gpu_target_temp_c or (83 if facts.card_class in {"geforce", "titan"} else maximum)
    return {
        "target_c": float(min(consumer_target, slowdown - 4)),
        "slowdown_c": float(slowdown),
        "shutdown_c": float(shutdown),
        "memory_limit_c": float(facts.memory_temp_limit_c or (95 if facts.memory_type.startswith("HBM") else 100)),
    }


def memory_power_w(facts: CardFacts) -> float:
    """Power that full traffic adds, in W: energy per bit (claims B12: GDDR6X 7.25 pJ, HBM2 3.9 pJ) × bandwidth."""
    pj = 4.5 if facts.memory_type.startswith("HBM") else 7.25
    return facts.memory_bandwidth_gb_s * 8e9 * pj * 1e-12


def fan_at(curve: FanCurve | None, temperature_c: float) -> float:
    """Fan fraction that a curve asks for (1 for boards without a fan: the airflow is the server's)."""
    if curve is None:
        return 1.0
    if temperature_c <= curve[0][0]:
        return curve[0][1]
    for (t0, f0), (t1, f1) in pairwise(curve):
        if temperature_c <= t1:
            return f0 + (f1 - f0) * (temperature_c - t0) / (t1 - t0)
    return curve[-1][1]


def _compute_memory_drop(facts: CardFacts) -> float:
    """CUDA holds a GeForce in P2 with a lower memory clock: a 3090 shows 9501 of 9751 MHz."""
    if facts.card_class != "geforce":
        return 0.0
    return {"Ampere": 250.0, "Turing": 200.0, "Pascal": 500.0}.get(facts.architecture, 0.0)


def _reserved(facts: CardFacts) -> int:
    """Memory that the driver keeps: 434 MiB of 16 GiB on a GeForce, 616 MiB of 140 GiB on an H200 (recorded)."""
    share = 0.0043 if facts.passive else 0.0175
    return int((0 if facts.passive else 150 * MIB) + share * facts.memory_total_mib * MIB)


def _lag(resistance: float, tau: float) -> Lag:
    return Lag(resistance_k_per_w=resistance, tau_s=tau)


def _steps(value: float, step: int = 15) -> float:
    return float(round(value / step) * step)
