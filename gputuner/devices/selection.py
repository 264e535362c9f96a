"""``--gpu SEL`` → UUIDs: full UUID, unique beginning of one, PCI bus id, display index, ``cpu``, ``all``, commas."""

import re
from collections.abc import Sequence

from gputuner.model.cards import CPU_CARD, CardInfo
from gputuner.model.errors import UsageError

ALL = "all"
_BUS_ID = re.compile(r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{1,2}:[0-9a-f]{1,2}(?:\.[0-7])?")
_HEX_START = re.compile(r"[0-9a-f]{4,8}(?:-[0-9a-f-]*)?")
"""The beginning of a UUID without its ``GPU-``; at least four digits, so that an index is never one."""


def select(selector: str, cards: Sequence[CardInfo]) -> tuple[str, ...]:
    """UUIDs that ``selector`` names, in its order, each once.

    ``all`` means every NVIDIA card, or the host's processor where there is none. ``cpu`` is never chosen otherwise
    unless it is named.

    Raises:
        UsageError: an entry is empty, names nothing, or is the beginning of several UUIDs (quoted).
    """
    chosen: dict[str, None] = {}
    for entry in selector.split(","):
        chosen.update(dict.fromkeys(_entry(entry.strip(), cards)))
    return tuple(chosen)


def _entry(entry: str, cards: Sequence[CardInfo]) -> tuple[str, ...]:
    low = entry.lower()
    if not entry:
        raise UsageError("selection_empty", "no card is named: --gpu takes a UUID, bus id, index, cpu or all")
    if low == CPU_CARD:
        return (CPU_CARD,)
    if low == ALL:
        return _all(cards)
    exact = [card.uuid for card in cards if card.uuid.lower() == low]
    if exact:
        return (exact[0],)
    if low.isascii() and low.isdecimal() and len(low) <= 3:
        return _one(entry, [card for card in cards if card.index == int(low) and not card.is_cpu], cards)
    if _BUS_ID.fullmatch(low):
        return _one(entry, [card for card in cards if _same_bus(low, card.pci_bus_id)], cards)
    start = low if low.startswith("gpu-") else f"gpu-{low}" if _HEX_START.fullmatch(low) else low
    return _one(entry, [card for card in cards if card.uuid.lower().startswith(start)], cards)


def _all(cards: Sequence[CardInfo]) -> tuple[str, ...]:
    found = tuple(card.uuid for card in cards if not card.is_cpu)
    return found or tuple(card.uuid for card in cards)


def _one(entry: str, matches: Sequence[CardInfo], cards: Sequence[CardInfo]) -> tuple[str, ...]:
    if len(matches) == 1:
        return (matches[0].uuid,)
    if matches:
        names = ", ".join(card.uuid for card in matches)
        raise UsageError(
            "selection_ambiguous", f"--gpu {entry!r} means several cards: {names}", selection=entry, cards=names
        )
    known = ", ".join(f"{card.index}: {card.title} ({card.uuid})" for card in cards)
    raise UsageError(
        "no_such_card",
        f"--gpu {entry!r} names no card; there are: {known or 'none'}",
        card=entry,
        known=known,
    )


def _same_bus(wanted: str, bus_id: str | None) -> bool:
    """True if two PCI addresses are one; domain (0) and function (0) may be left out."""
    return bus_id is not None and _address(wanted) == _address(bus_id.lower())


def _address(bus_id: str) -> tuple[int, int, int, int]:
    rest, _, function = bus_id.partition(".")
    parts = [int(part, 16) for part in rest.split(":")]
    domain, bus, device = [0, *parts][-3:]
    return domain, bus, device, int(function or "0")
