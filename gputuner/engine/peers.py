"""Further cards that a step uses beside the run's own: admitted as idle and locked for as long as steps need them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gputuner.engine import admission
from gputuner.engine.locks import CardLock
from gputuner.model.cards import CardInfo
from gputuner.model.errors import CardBusy, NoCard
from gputuner.model.samples import CardProcesses


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    card: CardInfo
    lock: CardLock | None


class Peers:
    """The cards that are held now.

    A card that the step before held is not asked for its users again: they would be our own worker.
    """

    def __init__(
        self,
        cards: Callable[[], tuple[CardInfo, ...]],
        processes: Callable[[str], CardProcesses | None],
        data_dir: Path | None,
    ) -> None:
        """``data_dir`` None: nothing is locked."""
        self._cards = cards
        self._processes = processes
        self._data_dir = data_dir
        self._held: dict[str, _Held] = {}

    def admit(self, wanted: tuple[str, ...]) -> tuple[CardInfo, ...]:
        """Hold these cards (UUIDs) too; returns them as they stood when they were admitted.

        Raises:
            CardBusy: others compute on one of them, or another gputuner runs on it.
            NoCard: one is not there.
        """
        for uuid in wanted:
            if uuid not in self._held:
                self._held[uuid] = self._admitted(uuid)
        return tuple(self._held[uuid].card for uuid in wanted)

    def keep(self, wanted: tuple[str, ...]) -> None:
        """Let go of all others."""
        for uuid in [held for held in self._held if held not in wanted]:
            lock = self._held.pop(uuid).lock
            if lock is not None:
                lock.release()

    def _admitted(self, uuid: str) -> _Held:
        card = next((card for card in self._cards() if card.uuid == uuid), None)
        if card is None:
            raise NoCard("no_such_card", f"no card {uuid}", card=uuid)
        if not admission.idle(card, self._processes(uuid)):
            raise CardBusy("card_busy", f"{card.name} is in use", card=card.title, processes="")
        return _Held(card=card, lock=None if self._data_dir is None else CardLock(self._data_dir, uuid))
