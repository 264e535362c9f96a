"""Which cards CUDA will show for a value of ``CUDA_VISIBLE_DEVICES``: pure functions over the cards that NVML knows.

Rules of CUDA (programming guide, environment variables): entries are indices, UUIDs or unique beginnings of UUIDs, or
MIG instances; their order is kept; the first entry that names nothing ends the list; an empty value or ``-1`` hides
every card; of several MIG instances only the first is shown. Indices follow ``CUDA_DEVICE_ORDER``, which is *fastest
first* unless it says ``PCI_BUS_ID``: then they need not be NVML's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gputuner.model.cards import CardInfo, CardState, MigInstance
from gputuner.model.errors import UsageError
from gputuner.model.readings import Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleDevice:
    """One CUDA device: the UUID to hand to a child, the card it sits on, and its MIG instance if it is one.

    Power and temperature belong to ``card``; memory to ``mig`` where that is set.
    """

    uuid: str
    card: CardInfo
    mig: MigInstance | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleNote:
    """Something the user should know about the value: ``code`` and what its sentence needs."""

    code: str
    params: dict[str, Scalar] = field(default_factory=lambda: {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Visibility:
    """The devices that CUDA shows, in its order.

    ``order_known`` False: the indices are CUDA's own (fastest first) and may not be NVML's; choose by UUID.
    """

    devices: tuple[VisibleDevice, ...]
    notes: tuple[VisibleNote, ...] = ()
    order_known: bool = True


def visible(environment: Mapping[str, str], cards: Sequence[CardInfo], cuda_order: Sequence[str] = ()) -> Visibility:
    """The devices that CUDA shows a process with this environment.

    Args:
        environment: the process's variables.
        cards: every card, by NVML's index.
        cuda_order: UUIDs in CUDA's own order, where it is known; indices then follow it.

    Raises:
        UsageError: an entry is the beginning of several UUIDs.
    """
    usable = [card for card in cards if not card.is_cpu]
    by_uuid = {card.uuid: card for card in usable}
    by_bus = environment.get("CUDA_DEVICE_ORDER", "").strip().upper() == "PCI_BUS_ID"
    ordered = usable if by_bus or not cuda_order else [by_uuid[uuid] for uuid in cuda_order if uuid in by_uuid]
    order_known = by_bus or bool(cuda_order) or len({card.name for card in usable}) <= 1
    value = environment.get("CUDA_VISIBLE_DEVICES")
    if value is None:
        shown = [card for card in ordered if card.state is not CardState.LOST]
        return _limited([_device(card) for card in shown], [], order_known)
    return _listed(value, ordered, order_known)


def _listed(value: str, cards: Sequence[CardInfo], order_known: bool) -> Visibility:
    entries = [entry.strip() for entry in value.split(",")]
    if entries[0] in ("", "-1"):
        return Visibility(devices=(), notes=(VisibleNote(code="visible_none", params={"value": value or "''"}),))
    found: list[VisibleDevice] = []
    notes: list[VisibleNote] = []
    counted = False
    for entry in entries:
        device = _resolve(entry, cards)
        if device is None:
            ignored = ",".join(entries[entries.index(entry) :])
            notes.append(VisibleNote(code="visible_stops_at", params={"entry": entry, "ignored": ignored}))
            break
        if any(device.uuid == other.uuid for other in found):
            return Visibility(devices=(), notes=(VisibleNote(code="visible_repeated", params={"entry": entry}),))
        counted = counted or entry.isdecimal()
        found.append(device)
    return _limited(found, notes, order_known or not counted)


def _limited(found: list[VisibleDevice], notes: list[VisibleNote], order_known: bool) -> Visibility:
    """Keep only the first device where MIG instances are among them."""
    if len(found) > 1 and any(device.mig for device in found):
        first = next(device for device in found if device.mig)
        notes.append(VisibleNote(code="visible_one_mig", params={"shown": first.uuid, "named": len(found)}))
        found = [first]
    if not order_known:
        notes.append(VisibleNote(code="visible_order_unknown"))
    return Visibility(devices=tuple(found), notes=tuple(notes), order_known=order_known)


def _device(card: CardInfo) -> VisibleDevice:
    """A card as CUDA shows it: its first MIG instance where it is split."""
    mig = card.mig[0] if card.mig else None
    return VisibleDevice(uuid=mig.uuid if mig else card.uuid, card=card, mig=mig)


def _resolve(entry: str, cards: Sequence[CardInfo]) -> VisibleDevice | None:
    """The device an entry names, or None.

    Raises:
        UsageError: the entry is the beginning of several UUIDs.
    """
    if entry.isdecimal():
        index = int(entry)
        usable = index < len(cards) and cards[index].state is not CardState.LOST
        return _device(cards[index]) if usable else None
    low = entry.lower()
    if low.startswith("mig-"):
        return _matching(entry, [VisibleDevice(uuid=m.uuid, card=c, mig=m) for c in cards for m in c.mig])
    if low.startswith("gpu-"):
        return _matching(entry, [_device(card) for card in cards], of_card=True)
    return None


def _matching(entry: str, devices: Sequence[VisibleDevice], of_card: bool = False) -> VisibleDevice | None:
    low = entry.lower()
    named = [(device.card.uuid if of_card else device.uuid, device) for device in devices]
    matches = [(uuid, device) for uuid, device in named if uuid.lower().startswith(low)]
    exact = [device for uuid, device in matches if uuid.lower() == low]
    if exact or len(matches) == 1:
        return exact[0] if exact else matches[0][1]
    if not matches:
        return None
    names = ", ".join(uuid for uuid, _ in matches)
    raise UsageError(
        "visible_ambiguous",
        f"CUDA_VISIBLE_DEVICES: {entry!r} is the beginning of several UUIDs: {names}",
        entry=entry,
        matches=names,
    )
