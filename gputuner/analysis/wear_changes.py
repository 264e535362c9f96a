"""What of a card changed between its sessions, and what its error counters grew by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from gputuner.model.cards import CardInfo
from gputuner.model.quantities import Quantity
from gputuner.model.readings import Scalar

ROW_REMAP_FAILED = "row_remap_failed"
"""Reading of a card: whether it failed to replace a row of its memory, ever."""
WATCHED: tuple[str, ...] = (
    "vbios",
    "driver",
    "power_limit_default_w",
    "power_limit_max_w",
    "power_limit_enforced_w",
    "pcie_generation_max",
    "pcie_width_max",
    "pcie_width",
    "ecc_enabled",
    ROW_REMAP_FAILED,
)
"""Readings of a card that are compared from session to session, each held against the last one that was read."""
NAME, MEMORY, SLOT, HOST = "name", "memory_total_bytes", "pci_bus_id", "host"
ERROR_COUNTERS: tuple[Quantity, ...] = (
    Quantity.ECC_CORRECTED,
    Quantity.ECC_UNCORRECTED,
    Quantity.REMAPPED_ROWS,
    Quantity.PCIE_REPLAYS,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A reading that was ``before`` in one session and ``after`` in ``session_id``, which began at ``unix_s``."""

    name: str
    before: Scalar
    after: Scalar
    unix_s: float
    session_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """An error counter: its first and last reading, and what it grew by; where it fell it began anew."""

    quantity: Quantity
    first: float
    last: float
    grown: float


def changes(sessions: Sequence[tuple[str, float, CardInfo, str | None]]) -> tuple[Changed, ...]:
    """Every change, in the order of time.

    Args:
        sessions: id, begin (unix s), card as found and name of the computer, in the order of time.
    """
    last: dict[str, Scalar] = {}
    found: list[Changed] = []
    for session_id, unix_s, card, host in sessions:
        for name, value in _told(card, host).items():
            before = last.get(name)
            if before is not None and before != value:
                found.append(Changed(name=name, before=before, after=value, unix_s=unix_s, session_id=session_id))
            last[name] = value
    return tuple(found)


def _told(card: CardInfo, host: str | None) -> dict[str, Scalar]:
    own: dict[str, Scalar | None] = {
        NAME: card.name,
        MEMORY: card.memory_total_bytes,
        SLOT: card.pci_bus_id,
        HOST: host,
    }
    told = {name: value for name, value in own.items() if value is not None}
    for name in WATCHED:
        reading = card.readings.get(name)
        if reading is not None and reading.value is not None:
            told[name] = reading.value
    return told


def counted(readings: Mapping[Quantity, Sequence[tuple[float, float]]]) -> tuple[Counted, ...]:
    """Error counters over all sessions; ``readings``: unix time in s and value, in any order."""
    found: list[Counted] = []
    for quantity in ERROR_COUNTERS:
        values = [value for _, value in sorted(readings.get(quantity, ()))]
        if values:
            grown = sum(b - a if b >= a else b for a, b in pairwise(values))
            found.append(Counted(quantity=quantity, first=values[0], last=values[-1], grown=grown))
    return tuple(found)
