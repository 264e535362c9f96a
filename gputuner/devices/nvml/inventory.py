# pyright: standard
"""The cards of this machine: found once, lost, asleep and found again, always under the same UUID.

States of a card: *ready* (has a handle) → *lost* (a call said so; the handle is dropped at once) → *ready* (found anew
by ``refresh``). *asleep* (the kernel suspended it; no handle) ↔ *ready*. A card whose handle could never be had is
*lost* under the name ``lost-<index>`` until it tells its UUID.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from gputuner.devices.nvml import gpm
from gputuner.devices.nvml.binding import Binding, text
from gputuner.devices.nvml.card import ASK_AGAIN_NS, Card
from gputuner.devices.nvml.errors import LOST, Failed, error_of, reason_of
from gputuner.devices.nvml.identity import identify, names, renewed
from gputuner.devices.nvml.sleep import PciCard, known_identity, pci_cards
from gputuner.model.cards import CardInfo, CardState
from gputuner.model.errors import DeviceLost
from gputuner.model.readings import Reading, Reason

_PASSING = (Reason.ERROR, Reason.NOT_READ)


class Inventory:
    """Handles by UUID, and the last known identity of every card."""

    def __init__(self, sysfs: Path, procfs: Path, on_found: Callable[[Any, str], None]) -> None:
        """``on_found(handle, uuid)`` is told of every new handle."""
        self._sysfs = sysfs
        self._procfs = procfs
        self._on_found = on_found
        self.ready: dict[str, Card] = {}
        self.infos: dict[str, CardInfo] = {}
        self._rejected_before = 0

    @property
    def rejected(self) -> int:
        """Answers rejected as sentinels or impossible, by all cards since the start."""
        return self._rejected_before + sum(card.rejected for card in list(self.ready.values()))

    def all(self) -> tuple[CardInfo, ...]:
        """Every card known, by NVML's index."""
        return tuple(sorted(self.infos.values(), key=lambda info: info.index))

    def sleepers(self) -> tuple[PciCard, ...]:
        """Cards that the kernel has suspended now."""
        return tuple(card for card in pci_cards(self._sysfs) if card.asleep)

    def note_sleepers(self, sleeping: tuple[PciCard, ...]) -> None:
        """Keep what is known of sleeping cards without waking them."""
        indices = {card.pci_bus_id: index for index, card in enumerate(pci_cards(self._sysfs))}
        for card in sleeping:
            known = next((info for info in self.infos.values() if info.pci_bus_id == card.pci_bus_id), None)
            if known is not None:
                self._put_to_bed(known.uuid)
                continue
            uuid, model = known_identity(self._procfs, card.pci_bus_id)
            uuid = uuid or f"asleep-{card.pci_bus_id}"
            self.infos[uuid] = CardInfo(
                uuid=uuid,
                index=indices.get(card.pci_bus_id, len(self.infos)),
                name=model or "NVIDIA",
                pci_bus_id=card.pci_bus_id,
                state=CardState.ASLEEP,
            )

    def _put_to_bed(self, uuid: str) -> None:
        self.infos[uuid] = replace(self.infos[uuid], state=CardState.ASLEEP)
        self._drop(uuid)

    def refresh(self, binding: Binding, t_ns: int) -> None:
        """Look for cards that have no handle yet: new, woken or found again.

        Raises:
            DeviceError: NVML cannot even count the cards.
        """
        sleeping = self.sleepers()
        self.note_sleepers(sleeping)
        if sleeping:
            awake = [card.pci_bus_id for card in pci_cards(self._sysfs) if not card.asleep]
            for bus_id in awake:
                handle = binding.ask("nvmlDeviceGetHandleByPciBusId", bus_id)
                index = None if type(handle) is Failed else binding.ask("nvmlDeviceGetIndex", handle)
                if isinstance(index, int):
                    self._take(binding, index, handle, t_ns)
            return
        count = binding.ask("nvmlDeviceGetCount")
        if type(count) is Failed:
            raise error_of(count.code)
        held = {card.info.index for card in self.ready.values()}
        for index in range(count):
            if index not in held:
                self._take(binding, index, binding.ask("nvmlDeviceGetHandleByIndex", index), t_ns)
        for uuid, info in list(self.infos.items()):
            if info.state is CardState.READY and uuid not in self.ready:
                self.lose(uuid, t_ns)  # it was there before NVML was opened again

    def _take(self, binding: Binding, index: int, handle: Any, t_ns: int) -> None:
        """Make a card of a handle; a failed one is never used."""
        info = handle if type(handle) is Failed else names(binding, handle, index)
        if isinstance(info, Failed):
            self._unreachable(index, info.code, t_ns)
            return
        if info.uuid in self.ready:
            return
        for stale in [uuid for uuid, old in self.infos.items() if _same_place(old, info) and uuid != info.uuid]:
            del self.infos[stale]
        card = Card(binding, handle, info)
        card.once.t_ns = t_ns
        self.infos[info.uuid] = info
        self.ready[info.uuid] = card
        try:
            self._identify(card)
        except DeviceLost:
            self.lose(info.uuid, t_ns)
            return
        self._on_found(handle, info.uuid)

    def _identify(self, card: Card) -> None:
        binding = card.binding
        driver = binding.ask("nvmlSystemGetDriverVersion")
        cuda = binding.first(("nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion"))
        info = identify(
            card.once,
            Reading(reason=reason_of(driver.code)) if type(driver) is Failed else Reading(value=text(driver)),
            Reading(reason=reason_of(cuda.code))
            if type(cuda) is Failed
            else Reading(value=f"{cuda // 1000}.{cuda % 1000 // 10}"),
        )
        self._know(card, info)
        failed = any(reading.reason in _PASSING for reading in info.readings.values())
        card.identified_ns = None if failed else card.once.t_ns

    def _know(self, card: Card, info: CardInfo) -> None:
        if info != card.info:  # else the very object stays: what was made ready for it holds
            card.info = info
        self.infos[card.info.uuid] = card.info

    def reidentify(self, t_ns: int) -> None:
        """Read what may have changed of the ready cards again, and now and then, or after a failure, all of it."""
        for uuid, card in list(self.ready.items()):
            card.once.t_ns = t_ns
            try:
                if card.identified_ns is None or t_ns - card.identified_ns >= ASK_AGAIN_NS:
                    self._identify(card)
                else:
                    self._know(card, renewed(card.once))
            except DeviceLost:
                self.lose(uuid, t_ns)

    def _unreachable(self, index: int, code: int, t_ns: int) -> None:
        known = next((uuid for uuid, info in self.infos.items() if info.index == index), None)
        if known is not None:
            self.lose(known, t_ns)
            return
        reading = {"handle": Reading(reason=reason_of(code))}
        self.infos[f"lost-{index}"] = CardInfo(
            uuid=f"lost-{index}",
            index=index,
            name="NVIDIA",
            state=CardState.LOST,
            lost_since_ns=t_ns,
            readings=reading if code not in LOST else {},
        )

    def lose(self, uuid: str, t_ns: int) -> None:
        """Drop the handle of a card that is gone; since when is kept from the first time."""
        info = self.infos[uuid]
        if info.state is not CardState.LOST:
            self.infos[uuid] = replace(info, state=CardState.LOST, lost_since_ns=t_ns)
        self._drop(uuid)

    def sleep(self, uuid: str) -> None:
        """Drop the handle of a card that the kernel has suspended."""
        self._put_to_bed(uuid)

    def _drop(self, uuid: str) -> None:
        card = self.ready.pop(uuid, None)
        if card is not None:
            self._rejected_before += card.rejected

    def drop_all(self) -> None:
        """Give all handles up, in order, before NVML is shut down."""
        for uuid, card in list(self.ready.items()):
            gpm.close(card.slow)
            self._drop(uuid)


def _same_place(old: CardInfo, new: CardInfo) -> bool:
    """True if ``old`` is a stand-in for the card now found (same index or same address, no UUID of its own)."""
    if not old.uuid.startswith(("lost-", "asleep-")):
        return False
    return old.index == new.index or (old.pci_bus_id is not None and old.pci_bus_id == new.pci_bus_id)
