"""Whether a run may use a card, and how much of its memory."""

from gputuner.model.cards import CardInfo, CardState
from gputuner.model.errors import CardBusy, DeviceError, DeviceLost
from gputuner.model.quantities import Quantity
from gputuner.model.samples import CardProcesses, ProcessOnCard, Sample

SHARE_MARGIN_BYTES = 512 * 2**20
SHARE_MARGIN_FRACTION = 0.05


def foreign_compute(processes: CardProcesses | None) -> tuple[ProcessOnCard, ...]:
    """The compute processes of others on the card (none of ours runs yet)."""
    return tuple(p for p in processes.processes if p.compute) if processes else ()


def idle(card: CardInfo, processes: CardProcesses | None) -> bool:
    """True if a card answers and nobody is known to compute on it; the host's processor is no such card."""
    return card.state is CardState.READY and not card.is_cpu and not foreign_compute(processes)


def admit(card: CardInfo, processes: CardProcesses | None, share: bool) -> bool:
    """True if the card is shared with others; False if it is ours alone.

    Raises:
        CardBusy: others compute on it and ``share`` was not given.
        DeviceLost: the card is gone.
        DeviceError: the card sleeps.
    """
    if card.state is CardState.LOST:
        raise DeviceLost("card_lost", f"{card.name} does not answer", card=card.title)
    if card.state is CardState.ASLEEP:
        raise DeviceError("card_asleep", f"{card.name} sleeps", card=card.title)
    others = foreign_compute(processes)
    if others and not share:
        names = ", ".join(f"{p.name or p.command or '?'} (pid {p.pid})" for p in others[:4])
        raise CardBusy("card_busy", f"{card.name} is in use by {names}", card=card.title, processes=names)
    return bool(others)


def usable_bytes(card: CardInfo, sample: Sample | None, shared: bool, cap_bytes: int | None) -> int | None:
    """Memory that probes may use in all; None where the card tells neither free nor total memory."""
    free = sample.values.get(Quantity.MEMORY_FREE_BYTES) if sample else None
    if free is None:
        free = float(card.memory_total_bytes) if card.memory_total_bytes else None
    if free is not None and shared:
        free -= max(SHARE_MARGIN_BYTES, SHARE_MARGIN_FRACTION * (card.memory_total_bytes or 0))
    bounds = [b for b in (free, cap_bytes) if b is not None]
    return max(0, int(min(bounds))) if bounds else None
