"""Simulated cards behind the protocol of all cards: a physical model on its own clock, never the default."""

from collections.abc import Callable, Iterable, Sequence

from gputuner.catalog import Catalog, load
from gputuner.devices.simulated_card import SimulatedCard
from gputuner.devices.simulated_clock import CardClock, SimulatedClock, WallDrivenClock
from gputuner.devices.simulated_demo import DemoLoad
from gputuner.devices.simulated_faults import Fault, Scripted, faults_from
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.errors import DeviceLost
from gputuner.model.quantities import Tier
from gputuner.model.samples import CardProcesses, Sample, XidSeen

__all__ = ["DemoLoad", "Fault", "SimulatedCard", "SimulatedCards", "SimulatedClock", "WallDrivenClock"]


class SimulatedCards:
    """A set of simulated cards (``CardSource``); they are integrated up to the time at which they are asked."""

    def __init__(
        self,
        ids: Sequence[str],
        clock: CardClock | None = None,
        seed: int = 0,
        faults: Iterable[Scripted | Fault] = (),
        catalog: Catalog | None = None,
    ) -> None:
        """Cards by id of the catalogue, in order of their index; the same seed gives the same run.

        Raises:
            UsageError: an id or a fault is unknown.
        """
        self.clock = clock or SimulatedClock()
        script = faults_from(faults)
        start_ns = self.clock.now_ns()
        known = catalog or load()
        self._cards = tuple(
            SimulatedCard(known, card_id, index, start_ns, seed, [f for f in script if f.card == index])
            for index, card_id in enumerate(ids)
        )
        self._by_uuid = {card.uuid: card for card in self._cards}
        self._demos: list[DemoLoad] = []

    @property
    def origin(self) -> Origin:
        """Always simulated."""
        return Origin.SIMULATED

    @property
    def models(self) -> tuple[SimulatedCard, ...]:
        """The cards themselves, for simulated workers."""
        return self._cards

    @property
    def rejected(self) -> int:
        """Impossible values that were not passed on."""
        return sum(card.rejected for card in self._cards)

    def card(self, uuid: str) -> SimulatedCard:
        """One card by UUID.

        Raises:
            DeviceLost: no such card.
        """
        if uuid not in self._by_uuid:
            raise DeviceLost("card_lost", f"no card {uuid}", card=uuid)
        return self._by_uuid[uuid]

    def attach(self, make: Callable[[SimulatedCard], DemoLoad]) -> None:
        """Let a scripted load live on every card, e.g. ``cards.attach(DemoLoad)``."""
        self._demos.extend(make(card) for card in self._cards)

    def advance_to(self, t_ns: int) -> None:
        """Integrate all cards, and the scripted loads on them, up to ``t_ns``."""
        for demo in self._demos:
            demo.advance_to(t_ns)
        for card in self._cards:
            card.advance_to(t_ns)

    def cards(self) -> tuple[CardInfo, ...]:
        """All cards with identity, limits and state."""
        self.advance_to(self.clock.now_ns())
        return tuple(card.present_info() for card in self._cards)

    def sample(self, card: str, tier: Tier, t_ns: int) -> Sample:
        """Read one tier of one card at ``t_ns``; a scripted hung call moves the clock on first.

        Raises:
            DeviceLost: the card is gone.
        """
        self.advance_to(t_ns)
        asked = self.card(card)
        self._hang(asked)
        return asked.sample(tier, t_ns)

    def processes(self, card: str, t_ns: int) -> CardProcesses:
        """The process table of one card.

        Raises:
            DeviceLost: the card is gone.
        """
        self.advance_to(t_ns)
        asked = self.card(card)
        self._hang(asked)
        return asked.processes(t_ns)

    def _hang(self, card: SimulatedCard) -> None:
        seconds = card.hang()
        if seconds is not None:
            self.clock.advance_to_ns(self.clock.now_ns() + int(seconds * 1e9))

    def xids(self) -> tuple[XidSeen, ...]:
        """XID errors since the last call."""
        seen = tuple(x for card in self._cards for x in card.xids)
        for card in self._cards:
            card.xids.clear()
        return seen

    def close(self) -> None:
        """Let go of the clock; idempotent."""
        self.clock.close()
