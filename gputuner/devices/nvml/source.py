# pyright: standard
"""``NvmlSource``: the NVIDIA cards of this machine as a ``CardSource``."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from gputuner.devices.nvml import fast, slow
from gputuner.devices.nvml.binding import INIT_NO_ATTACH, INIT_NO_GPUS, Binding, load
from gputuner.devices.nvml.card import Asker, Card
from gputuner.devices.nvml.errors import error_of
from gputuner.devices.nvml.events import XidWatch
from gputuner.devices.nvml.inventory import Inventory
from gputuner.devices.nvml.processes import ProcessTable
from gputuner.devices.nvml.sleep import is_asleep, pci_cards
from gputuner.devices.nvml.sweep import Sweep, swept
from gputuner.devices.nvml.tick import Tick
from gputuner.devices.packing import Packed
from gputuner.model.cards import CardInfo, CardState, Origin
from gputuner.model.errors import DeviceLost
from gputuner.model.quantities import QUANTITIES, Quantity, Tier
from gputuner.model.readings import Reason, Scalar
from gputuner.model.samples import CardProcesses, Sample, XidSeen

Note = tuple[str, dict[str, Scalar]]
"""Code and values of something a reader must know once."""
_REREAD_NS = 30 * 10**9
_LEARN_AGAIN_NS = 60 * 10**9
"""After this time it is tried again to make a card's calls ready."""
_FAST, _ONCE = Tier.FAST, Tier.ONCE
_BY_TIER = {tier: tuple(q for q, info in QUANTITIES.items() if info.tier is tier) for tier in Tier}


def _unix_us() -> int:
    return time.time_ns() // 1000


class NvmlSource:
    """NVIDIA cards through NVML; initialised once, never per tick.

    Fast readings, slow readings with processes, ``cards()`` and ``xids()`` may each be asked from a thread of their
    own; ``reopen`` and ``close`` only while no other call is out.

    Nothing wakes a sleeping card: while every card sleeps NVML is not even initialised, and ``cards()`` opens it
    when one has woken.
    """

    def __init__(
        self,
        *,
        sysfs: Path = Path("/sys"),
        procfs: Path = Path("/proc"),
        unix_us: Callable[[], int] = _unix_us,
        now_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        """Load the binding and open NVML.

        Raises:
            DeviceError: no binding, no library, no driver, a mismatch of the two, or no permission.
        """
        self._sysfs = sysfs
        self._unix_us = unix_us
        self._now_ns = now_ns
        self._binding: Binding = load()
        self._xids: XidWatch | None = None
        self._open = False
        self._read_ns = 0
        self._notes: dict[tuple[str, str], Note] = {}
        self._tables: dict[str, ProcessTable] = {}
        self._can_sleep: dict[str, str] = {}
        self._trouble: dict[str, int] = {}
        self._sweep: Sweep | None = None
        self._inventory = Inventory(sysfs, procfs, self._found)
        if not self._binding.official:
            self._notes["nvml_impostor", ""] = ("nvml_impostor", {"path": self._binding.file})
        self.reopen()

    @property
    def origin(self) -> Origin:
        """Measured."""
        return Origin.MEASURED

    @property
    def rejected(self) -> int:
        """Values rejected so far because they were sentinels or impossible."""
        return self._inventory.rejected

    @property
    def notes(self) -> tuple[Note, ...]:
        """Codes and values of what a reader must know, each once and in the order found."""
        return tuple(self._notes.values())

    def trouble(self, card: str) -> str | None:
        """Error code of a failure in the card's last sample that points at the driver rather than at one reading."""
        code = self._trouble.get(card)
        return None if code is None else error_of(code).code

    def asking(self, card: str, tier: Tier) -> str | None:
        """NVML function that a reading of this card is in now, None if it is in none; from any thread."""
        found = self._inventory.ready.get(card)
        return None if found is None else (found.fast if tier is _FAST else found.slow).asking

    def reopen(self) -> None:
        """Initialise NVML (again): new handles, nothing remembered of what was refused.

        Raises:
            DeviceError: NVML does not start.
        """
        self.close()
        self._binding.forget()
        pci = pci_cards(self._sysfs)
        sleeping = tuple(card for card in pci if card.asleep)
        self._inventory.note_sleepers(sleeping)
        if pci and len(sleeping) == len(pci):
            return
        self._binding.start(INIT_NO_GPUS | (INIT_NO_ATTACH if sleeping else 0))
        self._open = True
        self._xids = XidWatch(self._binding)
        self._can_sleep = {card.pci_bus_id: card.pci_bus_id for card in pci if card.may_sleep}
        self._read_ns = self._now_ns()
        self._inventory.refresh(self._binding, self._read_ns)

    def _found(self, handle: Any, uuid: str) -> None:
        if self._xids is not None:
            self._xids.add(handle, uuid)

    def cards(self) -> tuple[CardInfo, ...]:
        """All cards; looks for lost, sleeping and new ones, and reads limits again when half a minute has passed.

        Raises:
            DeviceError: NVML does not answer at all.
        """
        if not self._open:
            self.reopen()
            return self._inventory.all()
        now = self._now_ns()
        self._inventory.refresh(self._binding, now)
        if now - self._read_ns >= _REREAD_NS:
            self._read_ns = now
            self._inventory.reidentify(now)
        return self._inventory.all()

    def sample(self, card: str, tier: Tier, t_ns: int) -> Sample:
        """One tier of one card.

        A failure that points at the driver and leaves nothing read is raised; one among values that were read is
        ``Reason.ERROR`` there, and ``trouble`` names it.

        Raises:
            DeviceLost: the card is gone, now or before.
            DeviceError: the driver answers nothing but errors.
        """
        read = self.read(card, tier, t_ns)
        if isinstance(read, Sample):
            return read
        found = self._inventory.ready[card]
        asker = found.fast if tier is _FAST else found.slow
        return asker.direct.unpacked(asker, read)

    def read(self, card: str, tier: Tier, t_ns: int) -> Packed | Sample:
        """One tier of one card, packed as soon as all of it is asked by calls made ready.

        Raises:
            DeviceLost: the card is gone, now or before.
            DeviceError: the driver answers nothing but errors.
        """
        found = self._inventory.ready.get(card)
        if found is None or self._can_sleep:
            found = self._reach(card)
        if found is None:
            return Sample(card=card, t_ns=t_ns, values={}, missing=dict.fromkeys(_BY_TIER[tier], Reason.ASLEEP))
        if tier is _ONCE:
            return Sample(card=card, t_ns=t_ns, values={})
        asker = found.fast if tier is _FAST else found.slow
        direct = asker.direct
        try:
            if direct is not None:
                packed = direct.read(asker, t_ns)
                if packed is not None:
                    return self._completed(asker, direct.unpacked(asker, packed)) if direct.apart else packed
            return self._ordinary(asker, tier, t_ns)
        except DeviceLost:
            self._inventory.lose(card, t_ns)
            raise

    def sweep(self, cards: Sequence[str], t_ns: int) -> Sweep | None:
        """The fast tier of these cards and a look for XID errors in one go.

        None unless all of it is asked by calls made ready. Good until the next call of ``cards`` or ``reopen``, or an
        answer that was not foreseen; the same object as long as nothing has changed. Cards that may sleep are looked
        at one by one, before each reading.
        """
        found = [self._inventory.ready.get(card) for card in cards]
        askers = tuple(card.fast for card in found if card is not None)
        if self._can_sleep or not askers or len(askers) < len(found):
            return None
        directs = tuple(asker.direct for asker in askers)
        if not all(
            direct is not None and direct.holds(asker, t_ns) for direct, asker in zip(directs, askers, strict=True)
        ):
            return None
        if self._sweep is None or self._sweep.directs != directs:
            self._sweep = swept(askers, self._xids, self._now_ns)
        return self._sweep

    def _ordinary(self, asker: Asker, tier: Tier, t_ns: int) -> Sample:
        """One tick the ordinary way, after which its calls are made ready."""
        module: ModuleType = fast if tier is _FAST else slow
        asker.t_ns, asker.trouble, asker.direct = t_ns, None, None
        tick = self._judged(module.read(asker))
        if t_ns >= asker.learn_ns:
            asker.direct = module.ready(asker, tick)
            asker.learn_ns = t_ns + (_LEARN_AGAIN_NS if asker.direct is None else 0)
        return Sample(card=asker.card.info.uuid, t_ns=t_ns, values=tick.values, missing=tick.missing)

    def _completed(self, asker: Asker, sample: Sample) -> Sample:
        """A slow reading with what the calls made ready do not tell."""
        asker.t_ns, asker.trouble = sample.t_ns, None
        tick = Tick(asker, sample.values, sample.missing)
        slow.rest(asker, tick)
        self._judged(tick)
        return sample

    def _judged(self, tick: Tick) -> Tick:
        """The tick, with better reasons.

        Raises:
            DeviceError: the driver answered nothing but errors.
        """
        card, trouble = tick.asker.card.info.uuid, tick.asker.trouble
        if trouble is None:
            self._trouble.pop(card, None)
        else:
            self._trouble[card] = trouble
            if not tick.values:
                raise error_of(trouble, card)
        missing = tick.missing
        if tick.asker.card.mig_enabled:
            for quantity in (Quantity.GPU_UTILISATION, Quantity.MEMORY_UTILISATION):
                if missing.get(quantity) is Reason.NOT_SUPPORTED:
                    missing[quantity] = Reason.NOT_WITH_MIG
        if missing.get(Quantity.MEMORY_RESERVED_BYTES) is Reason.DRIVER_TOO_OLD:
            key = ("nvml_memory_includes_reserved", card)
            self._notes.setdefault(key, (key[0], {"card": card}))
        return tick

    def _reach(self, card: str) -> Card | None:
        """The card, or None while it sleeps.

        Raises:
            DeviceLost: it is lost, or there is no such card.
        """
        found = self._inventory.ready.get(card)
        if found is None:
            info = self._inventory.infos.get(card)
            if info is not None and info.state is CardState.ASLEEP:
                return None
            raise DeviceLost("nvml_gpu_lost", "the card has fallen off the bus", card=card)
        bus_id = found.info.pci_bus_id
        if bus_id in self._can_sleep and is_asleep(self._sysfs, bus_id):
            self._inventory.sleep(card)
            return None
        return found

    def processes(self, card: str, t_ns: int) -> CardProcesses:
        """The processes on a card.

        Raises:
            DeviceLost: the card is gone, now or before.
        """
        found = self._reach(card)
        if found is None:
            return CardProcesses(card=card, t_ns=t_ns, processes=(), reason=Reason.ASLEEP)
        found.slow.t_ns = t_ns
        table = self._tables.get(card)
        if table is None:
            table = self._tables[card] = ProcessTable()
        try:
            return table.read(found.slow, t_ns, self._unix_us())
        except DeviceLost:
            self._inventory.lose(card, t_ns)
            raise

    def xids(self) -> tuple[XidSeen, ...]:
        """XID errors since the last call; never waits."""
        return self._xids.poll(self._now_ns()) if self._xids is not None else ()

    def close(self) -> None:
        """Release NVML; idempotent."""
        if not self._open:
            return
        self._open = False
        if self._xids is not None:
            self._xids.close()
        self._xids = None
        self._inventory.drop_all()
        self._binding.stop()
