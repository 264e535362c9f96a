"""Identity and limits of a simulated card, as a driver would tell them."""

import hashlib

from gputuner.catalog import Catalog
from gputuner.catalog.facts import CardFacts
from gputuner.devices.simulated_models import SimulatedModel
from gputuner.devices.simulated_sensors import ecc_on
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.readings import Reading, Reason, Scalar

DRIVER = "580.95.05"
CUDA_DRIVER = "13.0"
"""The newest CUDA that the simulated driver offers (the branch that still serves Pascal and Volta)."""


def simulated_uuid(card_id: str, index: int) -> str:
    """A UUID that is the same in every run and cannot be mistaken for a real one."""
    digest = hashlib.sha256(f"{card_id} {index}".encode()).hexdigest()
    return f"GPU-51501a7e-{digest[:4]}-{digest[4:8]}-{digest[8:12]}-{digest[12:24]}"


def card_info(
    catalog: Catalog,
    facts: CardFacts,
    model: SimulatedModel,
    index: int,
    power_limit_w: float,
    compute_mode: str = "default",
) -> CardInfo:
    """Identity, limits and link of one simulated card; ``compute_mode`` as NVML's cards tell it."""
    total = facts.memory_total_mib * 2**20
    return CardInfo(
        uuid=simulated_uuid(facts.id, index),
        index=index,
        name=facts.nvml_name_patterns[0],
        pci_bus_id=f"00000000:{index + 1:02X}:00.0",
        origin=Origin.SIMULATED,
        memory_total_bytes=total,
        sm_count=facts.sm_count,
        compute_capability=facts.compute_capability,
        catalog=catalog.match(facts.nvml_name_patterns[0], total, facts.sm_count, facts.compute_capability),
        readings={
            **_readings(facts, model, index, power_limit_w),
            "compute_mode": Reading(value=compute_mode, unit=""),
        },
    )


def _readings(facts: CardFacts, model: SimulatedModel, index: int, power_limit_w: float) -> dict[str, Reading]:
    consumer = facts.card_class in {"geforce", "titan"}
    has_memory_limit = facts.memory_type.startswith("HBM")
    found: dict[str, tuple[Scalar | None, str]] = {
        "power_limit_default_w": (model.power_limit_default_w, "W"),
        "power_limit_requested_w": (power_limit_w, "W"),
        "power_limit_enforced_w": (power_limit_w, "W"),
        "power_limit_min_w": (model.power_limit_min_w, "W"),
        "power_limit_max_w": (model.power_limit_max_w, "W"),
        "slowdown_c": (model.slowdown_c, "degC"),
        "shutdown_c": (model.shutdown_c, "degC"),
        "memory_max_c": (model.memory_limit_c if has_memory_limit else None, "degC"),
        "target_c": (model.target_c if consumer else None, "degC"),
        "sm_clock_max_mhz": (model.clock_reported_max_mhz, "MHz"),
        "graphics_clock_max_mhz": (model.clock_reported_max_mhz, "MHz"),
        "memory_clock_max_mhz": (model.memory_clock_mhz, "MHz"),
        "video_clock_max_mhz": (15 * round(0.78 * model.clock_reported_max_mhz / 15), "MHz"),
        "pcie_generation_max": (facts.pcie_gen, ""),
        "pcie_width_max": (facts.pcie_lanes, ""),
        "pcie_generation": (facts.pcie_gen if facts.passive else 1, ""),
        "pcie_width": (facts.pcie_lanes, ""),
        "bar1_total_bytes": (_bar1(facts), "bytes"),
        "fan_count": (None if facts.passive else 1 if model.fan_max_rpm > 4000 else 2, ""),
        "ecc_enabled": (ecc_on(facts) if facts.ecc != "none" else None, ""),
        "row_remap_failed": (False if facts.chip in {"GA100", "GH100", "GB100"} else None, ""),
        "persistence": (facts.passive, ""),
        "mig_enabled": (False if facts.chip in {"GA100", "GH100", "GB100"} else None, ""),
        "display_active": (False, ""),
        "vbios": (f"simulated-{facts.chip}-{index}", ""),
        "driver": (DRIVER, ""),
        "cuda_driver": (CUDA_DRIVER, ""),
        "l2_bytes": (None, "bytes"),  # NVML has no call for it
        "compute_capability": (facts.compute_capability, ""),
    }
    return {name: _reading(value, unit) for name, (value, unit) in found.items()}


def _bar1(facts: CardFacts) -> int:
    """256 MiB on older consumer cards, else the next power of two above the memory (resizable BAR)."""
    if facts.architecture in {"Pascal", "Turing", "Volta"} and not facts.passive:
        return 256 * 2**20
    return 2 ** (facts.memory_total_mib - 1).bit_length() * 2**20


def _reading(value: Scalar | None, unit: str) -> Reading:
    return Reading(reason=Reason.NOT_SUPPORTED) if value is None else Reading(value=value, unit=unit)
