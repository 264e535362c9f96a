"""The safety watches of every card that a run works on: its own, and those that a trial uses beside it."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from gputuner.engine.peer_watch import ConditionsOf, PeerWatch
from gputuner.engine.safety import SafetyWatch
from gputuner.model.cards import CardInfo
from gputuner.model.steps import PeerSeen, Stopped
from gputuner.telemetry.feed import Tick


class Guard:
    """Judges all of these cards by the same limits; what stops on a further card says which.

    A further card is *followed* from its admission (as a card that the run works on, ``engine.safety``) until no trial
    needs it any more; a load is one on all cards that are followed.
    """

    def __init__(self, own: SafetyWatch) -> None:
        """Guard the run's own card; no further one yet."""
        self._own = own
        self._peers: dict[str, PeerWatch] = {}
        self._pids: set[int] = set()

    def follow(self, cards: Sequence[CardInfo]) -> None:
        """Guard these further cards and no others; those that are followed already go on as they are."""
        kept = {card.uuid: self._peers.get(card.uuid) for card in cards}
        self._peers = {card.uuid: kept[card.uuid] or PeerWatch(self._own.beside(card)) for card in cards}

    def work_starts(self) -> None:
        """The run works on its own card from now on."""
        self._own.work_starts()

    def limit_changes(self, watts: float, t_ns: int) -> None:
        """The run has set the power limit of its own card."""
        self._own.limit_changes(watts, t_ns)

    def load_starts(self, t_ns: int) -> None:
        """Our load begins on all cards."""
        self._own.load_starts(t_ns)
        for peer in self._peers.values():
            peer.load_starts(t_ns)

    def load_ends(self) -> None:
        """Our load is over."""
        for watch in self._watches():
            watch.load_ends()

    def silence_deadline_ns(self) -> int | None:
        """When the first of the cards counts as silent; None while calm."""
        deadlines = [watch.silence_deadline_ns() for watch in self._watches()]
        return min((t_ns for t_ns in deadlines if t_ns is not None), default=None)

    def check_silence(self, t_ns: int) -> Stopped | None:
        """Stop if one of the cards has told nothing for too long."""
        return self._first(lambda watch: watch.check_silence(t_ns))

    def check(self, tick: Tick) -> Stopped | None:
        """Stop if this tick shows danger on one of the cards."""
        self._pids.update(p.pid for table in tick.processes for p in table.processes)
        for peer in self._peers.values():
            peer.take(tick)
        return self._first(lambda watch: watch.check(tick))

    def peers_seen(
        self, conditions_of: ConditionsOf, windows: Sequence[tuple[int, int]], ours: set[int], workers: int
    ) -> list[tuple[PeerSeen, ...]]:
        """What the further cards did in each window (ns), the first of which is the whole trial.

        A window that falls between two readings of a card has what that card did during the whole trial.

        Args:
            conditions_of: conditions out of samples.
            windows: start and end of each.
            ours: process numbers of all workers of the run.
            workers: how many of them see the further cards.
        """
        named = not ours.isdisjoint(self._pids)
        found: list[tuple[PeerSeen, ...]] = [() for _ in windows]
        for peer in self._peers.values():
            shared = peer.shared(ours, workers, named=named)
            seen = [peer.seen(conditions_of, *window, shared=shared) for window in windows]
            told = [each if each.conditions.samples else seen[0] for each in seen]
            found = [(*before, each) for before, each in zip(found, told, strict=True)]
        return found

    def _watches(self) -> list[SafetyWatch]:
        return [self._own, *(peer.safety for peer in self._peers.values())]

    def _first(self, check: Callable[[SafetyWatch], Stopped | None]) -> Stopped | None:
        """Every watch is asked, for each keeps count of what it saw."""
        stopped = check(self._own)
        for peer in self._peers.values():
            found = check(peer.safety)
            stopped = stopped or (replace(found, card=peer.card) if found else None)
        return stopped
