"""What makes two results comparable, or says why they are not."""

from dataclasses import dataclass, field

from gputuner.model.readings import Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFingerprint:
    """The machine around the card. Each entry of ``readings`` is a value or a reason.

    Names: ``cpu``, ``cores_physical``, ``cores_logical``, ``smt``, ``governor``, ``cgroup_quota_cores``,
    ``numa_nodes``, ``memory_total_bytes``, ``memory_available_bytes``, ``load_1m``, ``virtual_machine``, ``wsl``,
    ``container``, ``iommu``, ``os``, ``kernel``, ``python``, ``gputuner``, ``disk_free_bytes``,
    ``cpu_temperature_c``, ``rapl_readable``, ``boot_id``.
    """

    readings: dict[str, Reading]


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchFingerprint:
    """The torch that is measured (from the worker's ``ready`` message)."""

    python: str
    version: str
    cuda: str | None = None
    cudnn: str | None = None
    arch_list: tuple[str, ...] = ()
    interpreter: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CardFingerprint:
    """One card: hash of its UUID, and identity, limits, link and users as readings (names as in ``CardInfo``).

    Further names: ``other_processes`` (count), ``display_active``, ``time_slice_policy``, ``clock_locked``,
    ``clock_offset_mhz``.
    """

    uuid_hash: str
    name: str
    readings: dict[str, Reading]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """Host, torch and cards at the start of a run."""

    host: HostFingerprint
    cards: tuple[CardFingerprint, ...] = ()
    torch: TorchFingerprint | None = None
    sampling_hz: float | None = None
    extra: dict[str, Reading] = field(default_factory=lambda: {})
