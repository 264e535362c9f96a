"""Several feeds as one: NVIDIA cards beside the host's own processor, when both were asked for."""

from collections.abc import Sequence

from gputuner.model.cards import CardInfo, Origin
from gputuner.model.samples import CardProcesses
from gputuner.telemetry.feed import Callback, Feed, FeedStatus, Tick, Unsubscribe


class JoinedFeed:
    """Passes on the ticks of its members; the first member speaks for the state."""

    def __init__(self, members: Sequence[Feed]) -> None:
        """Take over ``members`` (at least one); ``close`` closes them."""
        self._members = tuple(members)

    @property
    def origin(self) -> Origin:
        """As the first member says."""
        return self._members[0].origin

    def cards(self) -> tuple[CardInfo, ...]:
        """The cards of all members."""
        return tuple(card for member in self._members for card in member.cards())

    def subscribe(self, callback: Callback) -> Unsubscribe:
        """Ticks of all members, each from its member's thread."""
        ends = [member.subscribe(callback) for member in self._members]

        def unsubscribe() -> None:
            for end in ends:
                end()

        return unsubscribe

    def latest(self) -> Tick | None:
        """The newest samples of all members in one tick."""
        ticks = [tick for tick in (member.latest() for member in self._members) if tick is not None]
        if not ticks:
            return None
        return Tick(t_ns=max(t.t_ns for t in ticks), samples=tuple(s for t in ticks for s in t.samples))

    def processes(self, card: str) -> CardProcesses | None:
        """The process table of a card, from the member that has it."""
        return next((p for p in (member.processes(card) for member in self._members) if p is not None), None)

    def status(self) -> FeedStatus:
        """The first member's."""
        return self._members[0].status()

    def close(self) -> None:
        """Close all members."""
        for member in self._members:
            member.close()
