# pyright: standard
"""Which cards the kernel has put to sleep, read from sysfs without waking them (hybrid laptops).

Even initialising NVML wakes a sleeping card and keeps it awake for a while, so this is looked at first.
"""

from dataclasses import dataclass
from pathlib import Path

_NVIDIA = "0x10de"
_DISPLAY = "0x03"
"""PCI base class of display controllers (VGA and 3D)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PciCard:
    """An NVIDIA card as the kernel sees it: its address, and whether it may sleep and does."""

    pci_bus_id: str
    may_sleep: bool
    asleep: bool


def _line(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


def pci_cards(sysfs: Path) -> tuple[PciCard, ...]:
    """The NVIDIA display controllers under ``sysfs``, by address; empty where there is no sysfs."""
    root = sysfs / "bus" / "pci" / "devices"
    try:
        folders = sorted(root.iterdir())
    except OSError:
        return ()
    return tuple(
        PciCard(
            pci_bus_id=folder.name.lower(),
            may_sleep=_line(folder / "power" / "control") == "auto",
            asleep=is_asleep(sysfs, folder.name),
        )
        for folder in folders
        if _line(folder / "vendor") == _NVIDIA and _line(folder / "class").startswith(_DISPLAY)
    )


def is_asleep(sysfs: Path, pci_bus_id: str) -> bool:
    """True if the kernel has suspended the card at this address."""
    status = _line(sysfs / "bus" / "pci" / "devices" / pci_bus_id / "power" / "runtime_status")
    return status in ("suspended", "suspending")


def known_identity(procfs: Path, pci_bus_id: str) -> tuple[str | None, str | None]:
    """UUID and model that the kernel module remembers of a card, each None where it does not."""
    uuid = model = None
    for line in _line(procfs / "driver" / "nvidia" / "gpus" / pci_bus_id / "information").splitlines():
        name, _, value = line.partition(":")
        value = value.strip()
        if name.strip() == "GPU UUID" and value.startswith("GPU-") and "?" not in value:
            uuid = value
        elif name.strip() == "Model" and value:
            model = value
    return uuid, model
