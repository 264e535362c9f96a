# pyright: standard
"""Who a card is: the once-read facts of ``CardInfo``, each a value or a reason."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gputuner.devices.nvml import plausible
from gputuner.devices.nvml.binding import Binding, text
from gputuner.devices.nvml.card import Asker
from gputuner.devices.nvml.errors import Failed, reason_of
from gputuner.devices.nvml.mig import instances
from gputuner.devices.nvml.plausible import Kind
from gputuner.model.cards import CardInfo, CardState
from gputuner.model.readings import Reading, Reason, Scalar

_THRESHOLDS = {"shutdown_c": 0, "slowdown_c": 1, "memory_max_c": 2, "target_c": 5}
"""``nvmlTemperatureThresholds_t``: shutdown, slowdown, memory maximum, current acoustic target."""
_OFFSETS = {"shutdown_c": 193, "slowdown_c": 194}
"""Fields NVML_FI_DEV_TEMPERATURE_*_TLIMIT: degrees of T.Limit at which it happens (0 or below)."""
_LIMITS = {
    "power_limit_min_w": 187,
    "power_limit_max_w": 188,
    "power_limit_default_w": 189,
    "power_limit_enforced_w": 190,
    "power_limit_requested_w": 192,
}
_CLOCKS = {"graphics_clock_max_mhz": 0, "sm_clock_max_mhz": 1, "memory_clock_max_mhz": 2, "video_clock_max_mhz": 3}
_PLAIN: dict[str, tuple[str, ...]] = {
    "pcie_generation_max": ("nvmlDeviceGetMaxPcieLinkGeneration",),
    "pcie_width_max": ("nvmlDeviceGetMaxPcieLinkWidth",),
}
_LINK_NOW: dict[str, tuple[str, ...]] = {
    "pcie_generation": ("nvmlDeviceGetCurrPcieLinkGeneration",),
    "pcie_width": ("nvmlDeviceGetCurrPcieLinkWidth",),
}
_REMAP_FAILED = 145
"""Field NVML_FI_DEV_REMAPPED_FAILURE: a row of the memory could not be replaced by a spare one, ever."""
_CORES_PER_SM = {(6, 0): 64, (7, 0): 64, (7, 2): 64, (7, 5): 64, (8, 0): 64}
"""FP32 lanes per SM by compute capability where it is not 128 (CUDA C++ programming guide, arithmetic throughput)."""


def reading(answer: Any, unit: str, kind: Kind, asker: Asker) -> Reading:
    """A number as a reading, checked and converted."""
    if type(answer) is Failed:
        return Reading(unit=unit, reason=reason_of(answer.code))
    value = kind.accept(answer)
    if value is None:
        asker.rejected += 1
        return Reading(unit=unit, reason=Reason.IMPLAUSIBLE)
    return Reading(value=round(value, 3) if isinstance(value, float) else value, unit=unit)


def _told(answer: Any, convert: Callable[[Any], Scalar]) -> Reading:
    """An answer that is not a checked number (text, switch) as a reading."""
    return Reading(reason=reason_of(answer.code)) if type(answer) is Failed else Reading(value=convert(answer))


def identify(asker: Asker, driver: Reading, cuda_driver: Reading) -> CardInfo:
    """Everything that does not change from tick to tick.

    Raises:
        DeviceLost: the card is gone.
    """
    readings: dict[str, Reading] = {"driver": driver, "cuda_driver": cuda_driver}
    capability = asker.ask("nvmlDeviceGetCudaComputeCapability")
    readings["compute_capability"] = _told(capability, lambda pair: f"{pair[0]}.{pair[1]}")
    readings |= _changing(asker)
    for name, clock in _CLOCKS.items():
        readings[name] = reading(asker.ask("nvmlDeviceGetMaxClockInfo", clock), "MHz", plausible.MEGAHERTZ, asker)
    readings |= _small(asker, _PLAIN)
    bar1 = asker.ask("nvmlDeviceGetBAR1MemoryInfo")
    total = bar1 if type(bar1) is Failed else bar1.bar1Total
    readings["bar1_total_bytes"] = reading(total, "bytes", plausible.BYTES, asker)
    readings["fan_count"] = _fans(asker)
    readings["vbios"] = _told(asker.ask("nvmlDeviceGetVbiosVersion"), text)
    readings["l2_bytes"] = Reading(unit="bytes", reason=Reason.NOT_SUPPORTED)
    memory = asker.first(("nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetMemoryInfo"))
    return CardInfo(
        uuid=asker.card.info.uuid,
        index=asker.card.info.index,
        name=asker.card.info.name,
        pci_bus_id=asker.card.info.pci_bus_id,
        state=CardState.READY,
        memory_total_bytes=None if type(memory) is Failed else int(memory.total),
        sm_count=_sm_count(asker, capability),
        compute_capability=None if type(capability) is Failed else f"{capability[0]}.{capability[1]}",
        readings=readings,
        mig=instances(asker) if readings["mig_enabled"].value else (),
    )


def renewed(asker: Asker) -> CardInfo:
    """The card's identity with what may change while it is in use: limits, thresholds, switches, the link now, MIG.

    Raises:
        DeviceLost: the card is gone.
    """
    info = asker.card.info
    readings = {name: found for name, found in _changing(asker).items() if found != info.readings.get(name)}
    mig = instances(asker) if (readings.get("mig_enabled") or info.readings["mig_enabled"]).value else ()
    if not readings and mig == info.mig:
        return info
    return replace(info, readings={**info.readings, **readings}, mig=mig)


def _changing(asker: Asker) -> dict[str, Reading]:
    failed = asker.fields((_REMAP_FAILED,))[_REMAP_FAILED]
    told = {"row_remap_failed": _told(failed, bool)}
    return _power_limits(asker) | _temperatures(asker) | _switches(asker) | _small(asker, _LINK_NOW) | told


def _small(asker: Asker, asked: dict[str, tuple[str, ...]]) -> dict[str, Reading]:
    return {name: reading(asker.first(calls), "", plausible.SMALL, asker) for name, calls in asked.items()}


def names(binding: Binding, handle: Any, index: int) -> CardInfo | Failed:
    """The least that names a card: UUID, name and bus address, or why even that failed."""
    uuid = binding.ask("nvmlDeviceGetUUID", handle)
    if type(uuid) is Failed:
        return uuid
    name = binding.ask("nvmlDeviceGetName", handle)
    pci = binding.first(("nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo"), handle)
    return CardInfo(
        uuid=text(uuid),
        index=index,
        name="NVIDIA" if type(name) is Failed else text(name),
        pci_bus_id=None if type(pci) is Failed else short_bus_id(text(pci.busId)),
    )


def short_bus_id(bus_id: str) -> str:
    """A PCI address as the kernel writes it: ``00000000:0A:00.0`` → ``0000:0a:00.0``."""
    domain, _, rest = bus_id.lower().partition(":")
    return f"{domain[-4:]}:{rest}"


def _power_limits(asker: Asker) -> dict[str, Reading]:
    fields = asker.fields(tuple(_LIMITS.values()))
    answers: dict[str, Any] = {name: fields[field] for name, field in _LIMITS.items()}
    older = {
        "power_limit_default_w": "nvmlDeviceGetPowerManagementDefaultLimit",
        "power_limit_enforced_w": "nvmlDeviceGetEnforcedPowerLimit",
        "power_limit_requested_w": "nvmlDeviceGetPowerManagementLimit",
    }
    for name, call in older.items():
        if type(answers[name]) is Failed:
            answers[name] = asker.ask(call)
    if type(answers["power_limit_min_w"]) is Failed or type(answers["power_limit_max_w"]) is Failed:
        pair = asker.ask("nvmlDeviceGetPowerManagementLimitConstraints")
        low, high = (pair, pair) if type(pair) is Failed else pair
        answers["power_limit_min_w"], answers["power_limit_max_w"] = low, high
    return {name: _limit(answer, asker) for name, answer in answers.items()}


def _limit(answer: Any, asker: Asker) -> Reading:
    """A power limit; some cards report 0 for what they do not know."""
    if answer == 0:
        return Reading(unit="W", reason=Reason.NOT_SUPPORTED)
    return reading(answer, "W", plausible.LIMIT_MILLIWATT, asker)


def _temperatures(asker: Asker) -> dict[str, Reading]:
    """Absolute thresholds in °C.

    Where the absolute call has stopped answering (newer cards), T.Limit gives them: with margin m now at core
    temperature T, an event at T.Limit offset o happens at T + m − o. (H200: 33 °C, margin 54, offsets −2 and −8 give
    89 and 95 °C, which is what its absolute call says.)
    """
    out: dict[str, Reading] = {}
    for name, threshold in _THRESHOLDS.items():
        answer = asker.ask("nvmlDeviceGetTemperatureThreshold", threshold)
        out[name] = reading(answer, "degC", plausible.TEMPERATURE, asker)
    missing = {name: field for name, field in _OFFSETS.items() if out[name].value is None}
    if missing:
        core = asker.first(("nvmlDeviceGetTemperatureV", "nvmlDeviceGetTemperature"), 0)
        margin = asker.ask("nvmlDeviceGetMarginTemperature")
        offsets = asker.fields(tuple(missing.values()))
        for name, field in missing.items():
            if not any(type(answer) is Failed for answer in (core, margin, offsets[field])):
                out[name] = reading(core + margin - offsets[field], "degC", plausible.TEMPERATURE, asker)
    return out


def _switches(asker: Asker) -> dict[str, Reading]:
    mig = asker.ask("nvmlDeviceGetMigMode")
    ecc = asker.ask("nvmlDeviceGetEccMode")
    return {
        "ecc_enabled": _told(ecc, lambda pair: bool(pair[0])),
        "persistence": _told(asker.ask("nvmlDeviceGetPersistenceMode"), bool),
        "mig_enabled": _told(mig, lambda pair: bool(pair[0])),
        "display_active": _told(asker.ask("nvmlDeviceGetDisplayActive"), bool),
        "compute_mode": _told(asker.ask("nvmlDeviceGetComputeMode"), _compute_mode),
    }


def _compute_mode(code: int) -> str:
    known = ("default", "exclusive_thread", "prohibited", "exclusive_process")
    return known[code] if 0 <= code < len(known) else f"unknown_{code}"


def _fans(asker: Asker) -> Reading:
    count = asker.ask("nvmlDeviceGetNumFans")
    if type(count) is Failed and type(asker.ask("nvmlDeviceGetFanSpeed")) is not Failed:
        count = 1  # a driver that cannot count them answers for the only one it knows
    found = reading(count, "", plausible.SMALL, asker)
    asker.card.fan_count = int(found.value) if isinstance(found.value, (int, float)) else None
    return found


def _sm_count(asker: Asker, capability: Any) -> int | None:
    """Streaming multiprocessors: CUDA cores over lanes per SM (exact on MIG-capable cards from their attributes)."""
    cores = asker.ask("nvmlDeviceGetNumGpuCores")
    if type(cores) is Failed or type(capability) is Failed or not 0 < cores < 10**6:
        return None
    lanes = _CORES_PER_SM.get((capability[0], capability[1]), 128)
    return cores // lanes if cores % lanes == 0 else None
