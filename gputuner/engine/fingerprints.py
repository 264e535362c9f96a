"""The fingerprint of a run's start, from what the cards and the host answered."""

import hashlib

from gputuner.model.cards import CardInfo
from gputuner.model.fingerprint import CardFingerprint, Fingerprint, HostFingerprint
from gputuner.model.readings import Reading, Reason
from gputuner.model.samples import CardProcesses

KEPT = (
    "vbios",
    "driver",
    "cuda_driver",
    "power_limit_requested_w",
    "power_limit_enforced_w",
    "power_limit_default_w",
    "power_limit_max_w",
    "pcie_generation",
    "pcie_width",
    "pcie_generation_max",
    "pcie_width_max",
    "bar1_total_bytes",
    "ecc_enabled",
    "persistence",
    "display_active",
    "mig_enabled",
    "clock_locked",
    "clock_offset_mhz",
    "time_slice_policy",
)


def card_fingerprint(card: CardInfo, processes: CardProcesses | None) -> CardFingerprint:
    """Identity, limits, link and users of one card; the UUID only as a hash."""
    missing = Reading(reason=Reason.NOT_SUPPORTED)
    readings = {name: card.readings.get(name, missing) for name in KEPT}
    if processes is None or processes.reason:
        readings["other_processes"] = Reading(reason=processes.reason if processes else Reason.NOT_READ)
    else:
        readings["other_processes"] = Reading(value=len(processes.processes))
    digest = hashlib.sha256(card.uuid.encode()).hexdigest()[:16]
    return CardFingerprint(uuid_hash=digest, name=card.name, readings=readings)


def fingerprint(
    host: HostFingerprint, cards: tuple[tuple[CardInfo, CardProcesses | None], ...], sampling_hz: float | None
) -> Fingerprint:
    """Host and cards; torch is told by its own event once the worker answers."""
    return Fingerprint(
        host=host, cards=tuple(card_fingerprint(card, users) for card, users in cards), sampling_hz=sampling_hz
    )
