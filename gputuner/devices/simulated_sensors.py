"""What a simulated card's sensors tell: NVML's resolution and averaging, and what its class of card does not report."""

import random
from collections.abc import Callable

from gputuner.catalog.facts import CardFacts
from gputuner.catalog.features import capability
from gputuner.devices.simulated_physics import CardPhysics
from gputuner.model.quantities import QUANTITIES, Quantity, Tier
from gputuner.model.readings import Reason

_USE_WINDOW_S = 0.2
"""Period of the driver's utilisation samples (recorded on an H200)."""
_NOISE_BUCKET_S = 0.02
"""Period of the driver's power samples (recorded on an H200)."""

Q = Quantity


class Sensors:
    """Reads one card's physics as NVML would."""

    def __init__(self, facts: CardFacts, physics: CardPhysics, seed: int) -> None:
        """Reproducible: noise depends on seed and time only, not on who asks how often."""
        self._facts = facts
        self._physics = physics
        self._seed = seed
        self._energy_offset_j = random.Random(f"energy {seed}").uniform(1e5, 5e6)
        self.absent = dict.fromkeys(absent_quantities(facts), Reason.NOT_SUPPORTED)
        self._counted = (0.0, 0.0, 0.0, 0.0)

    def read(self, tier: Tier, memory: dict[Quantity, float]) -> dict[Quantity, float]:
        """Values of a tier that the card reports; ``memory`` holds the byte counts."""
        active = self._activity() if tier is Tier.SLOW else {}
        found: dict[Quantity, float] = {}
        for quantity, info in QUANTITIES.items():
            if info.tier is not tier or quantity in self.absent:
                continue
            value = memory.get(quantity)
            if value is None:
                value = active.get(quantity)
            if value is None:
                value = _READERS[quantity](self)
            found[quantity] = _quantised(value, info.resolution)
        return found

    @property
    def average_power_w(self) -> float:
        """Mean over the last second."""
        return self._physics.window(1.0)[0]

    @property
    def instant_power_w(self) -> float:
        """Power now, with the ripple that sensors show (1.5 % under load)."""
        physics = self._physics
        spread = 0.002 if physics.asleep or not physics.loads else 0.015
        bucket = int(physics.totals.t_s / _NOISE_BUCKET_S + 1e-3)
        return physics.power_w * (1 + random.Random(f"{self._seed} {bucket}").gauss(0.0, spread))

    @property
    def clock_mhz(self) -> float:
        """SM clock in whole 15 MHz steps."""
        clock = self._physics.clock_mhz
        return 15 * round(clock / 15) if not self._physics.asleep else clock

    @property
    def energy_j(self) -> float:
        """Energy since the driver was loaded."""
        return self._energy_offset_j + self._physics.totals.energy_j

    @property
    def pstate(self) -> float:
        """P8 asleep and P2 under CUDA on a GeForce, else P0."""
        if self._facts.card_class in {"geforce", "titan"}:
            return 8 if self._physics.asleep else 2
        return 0 if self._facts.passive or not self._physics.asleep else 8

    @property
    def pcie_generation(self) -> float:
        """The link drops to generation 1 on a sleeping consumer card."""
        sleeping = self._physics.asleep and not self._facts.passive
        return 1 if sleeping else self._facts.pcie_gen

    def use(self) -> tuple[float, float]:
        """Use of the card and of its memory over the driver's window."""
        _, busy, dram = self._physics.window(_USE_WINDOW_S)
        return busy, dram

    @property
    def physics(self) -> CardPhysics:
        """The card behind the sensors."""
        return self._physics

    @property
    def facts(self) -> CardFacts:
        """Its specification."""
        return self._facts

    def _activity(self) -> dict[Quantity, float]:
        """Mean activities since the last reading (GPM counters are read as differences)."""
        totals = self._physics.totals
        now = (totals.t_s, totals.busy_s, totals.tensor_s, totals.dram_s)
        span = now[0] - self._counted[0]
        names = (Q.SM_ACTIVE, Q.TENSOR_ACTIVE, Q.DRAM_ACTIVE)
        if span <= 0:
            return dict.fromkeys(names, 0.0)
        pairs = zip(names, now[1:], self._counted[1:], strict=True)
        found = {name: min(1.0, (b - a) / span) for name, b, a in pairs}
        self._counted = now
        return found


def absent_quantities(facts: CardFacts) -> frozenset[Quantity]:
    """What NVML does not report for a class of card (peers: §4.1–§4.9)."""
    cc = capability(facts.compute_capability)
    absent = {Q.HOTSPOT_TEMPERATURE_C}
    if not facts.memory_type.startswith("HBM"):
        absent.add(Q.MEMORY_TEMPERATURE_C)
    if facts.tlimit_slowdown_c is None:
        absent.add(Q.SLOWDOWN_MARGIN_C)
    if facts.chip == "GA100" or cc < (8, 0):
        absent.add(Q.POWER_AVERAGE_W)
    if cc < (7, 0):
        absent.add(Q.ENERGY_J)
    if facts.passive:
        absent |= {Q.FAN_FRACTION, Q.FAN_RPM}
    if not (facts.card_class == "datacenter" and cc >= (9, 0)):
        absent |= {Q.SM_ACTIVE, Q.TENSOR_ACTIVE, Q.DRAM_ACTIVE}
    if not ecc_on(facts):
        absent |= {Q.ECC_CORRECTED, Q.ECC_UNCORRECTED}
    if not (facts.memory_type.startswith("HBM") and cc >= (8, 0)):
        absent.add(Q.REMAPPED_ROWS)
    return frozenset(absent)


def ecc_on(facts: CardFacts) -> bool:
    """True where ECC is native, or is optional and its share is missing from the driver's total."""
    if facts.ecc == "native":
        return True
    return facts.ecc == "optional" and facts.memory_total_mib < 0.97 * facts.memory_gib * 1024


def _quantised(value: float, resolution: float) -> float:
    """The nearest multiple of the resolution (at most 9 digits of float dust removed)."""
    return round(round(value / resolution) * resolution, 9)


_READERS: dict[Quantity, Callable[[Sensors], float]] = {
    Q.CORE_TEMPERATURE_C: lambda s: s.physics.core_c,
    Q.MEMORY_TEMPERATURE_C: lambda s: s.physics.memory_c,
    Q.SLOWDOWN_MARGIN_C: lambda s: s.physics.model.slowdown_c - s.physics.core_c,
    Q.POWER_AVERAGE_W: lambda s: s.average_power_w,
    Q.POWER_INSTANT_W: lambda s: s.instant_power_w,
    Q.POWER_LIMIT_ENFORCED_W: lambda s: s.physics.power_limit_w,
    Q.ENERGY_J: lambda s: s.energy_j,
    Q.SM_CLOCK_MHZ: lambda s: s.clock_mhz,
    Q.GRAPHICS_CLOCK_MHZ: lambda s: s.clock_mhz,
    Q.MEMORY_CLOCK_MHZ: lambda s: s.physics.memory_clock_mhz,
    Q.VIDEO_CLOCK_MHZ: lambda s: 15 * round(0.78 * s.clock_mhz / 15),
    Q.LIMIT_BITS: lambda s: s.physics.bits,
    Q.GPU_UTILISATION: lambda s: s.use()[0],
    Q.MEMORY_UTILISATION: lambda s: s.use()[1],
    Q.ENCODER_UTILISATION: lambda s: 0.0,
    Q.DECODER_UTILISATION: lambda s: 0.0,
    Q.FAN_FRACTION: lambda s: s.physics.fan,
    Q.FAN_RPM: lambda s: s.physics.fan * s.physics.model.fan_max_rpm,
    Q.PSTATE: lambda s: s.pstate,
    Q.PCIE_GENERATION: lambda s: s.pcie_generation,
    Q.PCIE_WIDTH: lambda s: s.facts.pcie_lanes,
    Q.PCIE_REPLAYS: lambda s: 0.0,
    Q.LIMITED_POWER_NS: lambda s: s.physics.totals.power_limited_s * 1e9,
    Q.LIMITED_THERMAL_SOFTWARE_NS: lambda s: s.physics.totals.thermal_software_s * 1e9,
    Q.LIMITED_THERMAL_HARDWARE_NS: lambda s: s.physics.totals.thermal_hardware_s * 1e9,
    Q.LIMITED_POWER_BRAKE_NS: lambda s: 0.0,
    Q.LIMITED_SYNC_BOOST_NS: lambda s: 0.0,
    Q.ECC_CORRECTED: lambda s: 0.0,
    Q.ECC_UNCORRECTED: lambda s: 0.0,
    Q.REMAPPED_ROWS: lambda s: 0.0,
}
