"""``CUDA_VISIBLE_DEVICES`` of whoever started us: experiments keep to it, telemetry shows every card.

A scheduler hands out cards by this variable; a worker gets its card by UUID and would pass it over.
"""

from collections.abc import Mapping, Sequence

from gputuner.devices.visible import Visibility, VisibleDevice, visible
from gputuner.model.cards import CardInfo
from gputuner.model.errors import NoCard
from gputuner.model.steps import Warn

VARIABLE = "CUDA_VISIBLE_DEVICES"


class Seen:
    """What an environment shows of the cards."""

    def __init__(self, environment: Mapping[str, str], cards: Sequence[CardInfo]) -> None:
        """Read the variable.

        Raises:
            UsageError: an entry is the beginning of several UUIDs.
        """
        self._limited = VARIABLE in environment and any(not card.is_cpu for card in cards)
        self._value = environment.get(VARIABLE, "")
        self._visibility = visible(environment, cards) if self._limited else Visibility(devices=())

    def device(self, card: CardInfo) -> VisibleDevice | None:
        """The CUDA device on a card; None if it is hidden."""
        if not self._limited or card.is_cpu:
            mig = card.mig[0] if card.mig else None
            return VisibleDevice(uuid=mig.uuid if mig else card.uuid, card=card, mig=mig)
        return next((device for device in self._visibility.devices if device.card.uuid == card.uuid), None)

    def shown(self, cards: Sequence[CardInfo]) -> tuple[CardInfo, ...]:
        """The cards that are not hidden."""
        return tuple(card for card in cards if self.device(card) is not None)

    def require(self, cards: Sequence[CardInfo]) -> None:
        """Refuse hidden cards.

        Raises:
            NoCard: one is hidden; says by what.
        """
        hidden = next((card for card in cards if self.device(card) is None), None)
        if hidden is None:
            return
        for note in self._visibility.notes:
            if note.code in ("visible_none", "visible_repeated", "visible_stops_at"):
                raise NoCard(note.code, f"{VARIABLE}={self._value}", **note.params)
        raise NoCard("card_hidden", f"{VARIABLE}={self._value}", card=hidden.title, value=self._value)

    def notes(self) -> tuple[Warn, ...]:
        """What a reader of a run should know about the variable."""
        return tuple(Warn(code=note.code, params=note.params) for note in self._visibility.notes)


def instance_free_bytes(device: VisibleDevice | None) -> int | None:
    """Memory left in a MIG instance; None for a whole card, or where it is not told."""
    mig = device.mig if device else None
    if mig is None or mig.memory_total_bytes is None:
        return None
    return max(0, mig.memory_total_bytes - (mig.memory_used_bytes or 0))
