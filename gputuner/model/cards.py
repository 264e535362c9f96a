"""Who a card is and within which bounds it works: what does not change from tick to tick."""

from dataclasses import dataclass, field
from enum import StrEnum

from gputuner.model.readings import Reading

CPU_CARD = "cpu"
"""The ``uuid`` of the card that stands for the host's own processor."""


class Origin(StrEnum):
    """Where numbers come from; shown and stored with every one of them."""

    MEASURED = "measured"
    SIMULATED = "simulated"
    REPLAYED = "replayed"


class CardState(StrEnum):
    """Whether a card can be asked."""

    READY = "ready"
    ASLEEP = "asleep"
    LOST = "lost"


class Support(StrEnum):
    """How a chip offers a feature."""

    NATIVE = "native"
    EMULATED = "emulated"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True, kw_only=True)
class MigInstance:
    """One MIG instance of a card."""

    uuid: str
    profile: str | None
    memory_total_bytes: int | None
    memory_used_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogMatch:
    """What the catalogue says of a card.

    ``modded`` True: a known memory mod. ``catalog_id`` None: the name is unknown or no memory window fits
    (``note`` then is ``unknown_name``, ``unknown_variant`` or ``sm_count_differs``).
    """

    catalog_id: str | None
    name: str | None
    modded: bool = False
    base_name: str | None = None
    passive: bool = False
    """True: a board without a fan of its own; what it shows as one says nothing."""
    memory_limit_c: float | None = None
    """Temperature up to which the memory is specified, in degC."""
    note: str | None = None
    architecture: str | None = None
    features: dict[str, Support] = field(default_factory=lambda: {})
    """Keys: bf16, tf32, fp16_tensor, fp8, sparsity_2_4, async_copy, nvlink."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CardInfo:
    """Identity, limits and link of one card. ``readings`` holds every once-read value or its reason by name.

    Names in ``readings`` (unit): ``power_limit_default_w``, ``power_limit_requested_w``, ``power_limit_enforced_w``,
    ``power_limit_min_w``, ``power_limit_max_w`` (W); ``slowdown_c``, ``shutdown_c``, ``memory_max_c``, ``target_c``
    (degC, absolute); ``sm_clock_max_mhz``, ``graphics_clock_max_mhz``, ``memory_clock_max_mhz``,
    ``video_clock_max_mhz`` (MHz); ``pcie_generation_max``, ``pcie_width_max``, ``pcie_generation``, ``pcie_width``;
    ``bar1_total_bytes`` (bytes); ``fan_count``; ``ecc_enabled``, ``row_remap_failed``, ``persistence``,
    ``mig_enabled``, ``display_active`` (bool); ``compute_mode`` (``default``, ``exclusive_process``,
    ``exclusive_thread`` or ``prohibited``); ``vbios``, ``driver``, ``cuda_driver`` (text); ``l2_bytes``,
    ``compute_capability`` (text).
    """

    uuid: str
    index: int
    name: str
    pci_bus_id: str | None = None
    state: CardState = CardState.READY
    origin: Origin = Origin.MEASURED
    memory_total_bytes: int | None = None
    sm_count: int | None = None
    compute_capability: str | None = None
    catalog: CatalogMatch | None = None
    readings: dict[str, Reading] = field(default_factory=lambda: {})
    mig: tuple[MigInstance, ...] = ()
    lost_since_ns: int | None = None

    @property
    def is_cpu(self) -> bool:
        """True for the card that stands for the host's own processor."""
        return self.uuid == CPU_CARD

    @property
    def title(self) -> str:
        """Name for people: the catalogue's where it knows the card (it tells mods apart), else the driver's."""
        return self.catalog.name if self.catalog and self.catalog.name else self.name

    @property
    def fanless(self) -> bool:
        """True where no fan is the card's own: by the catalogue, or because the driver counts none."""
        return (self.catalog is not None and self.catalog.passive) or self.number("fan_count") == 0

    def number(self, name: str) -> float | None:
        """The once-read value ``name`` as a number, or None where it is missing or not a number."""
        reading = self.readings.get(name)
        value = reading.value if reading else None
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
