"""A stored stream of events fed back: which frame comes when, at any speed.

``telemetry.replayed.ReplayFeed`` plays it at wall pace; iterating gives all frames at once. Times stay those of the
recording, so that every derived quantity is the same as it was; what is shown is marked as replayed.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from gputuner.model.cards import CardInfo, CardState, Origin
from gputuner.model.errors import StoreError
from gputuner.model.events import Event, RunStarted, TelemetrySampled


class Replay:
    """The telemetry of one recorded run.

    Only ``RunStarted`` (cards) and ``TelemetrySampled`` count; other events are passed over. It can be iterated once.
    """

    origin = Origin.REPLAYED

    def __init__(self, events: Iterable[Event], cards: Iterable[CardInfo] = ()) -> None:
        """Read up to the first frame.

        Args:
            events: the stream, in order of time; taken from lazily.
            cards: the cards, where the stream has no ``RunStarted``.

        Raises:
            StoreError: the stream holds no telemetry (code ``replay_empty``).
        """
        self.source = "nvml"
        """Who read the telemetry, as the recording says."""
        self._events = iter(events)
        self._cards = {card.uuid: _replayed(card) for card in cards}
        first = self._next()
        if first is None:
            raise StoreError("replay_empty", "there is no telemetry in this recording")
        self._first = first
        for sample in first.samples:
            if sample.card not in self._cards:
                self._cards[sample.card] = CardInfo(
                    uuid=sample.card, index=len(self._cards), name=sample.card, origin=Origin.REPLAYED
                )

    @property
    def start_ns(self) -> int:
        """Time of the first frame, on the recording's clock."""
        return self._first.t_ns

    def cards(self) -> tuple[CardInfo, ...]:
        """The recorded cards, marked as replayed."""
        return tuple(sorted(self._cards.values(), key=lambda card: card.index))

    def __iter__(self) -> Iterator[TelemetrySampled]:
        """Every frame, in order of time; ends with the recording."""
        frame: TelemetrySampled | None = self._first
        last_ns = self._first.t_ns
        while frame is not None:
            if frame.t_ns >= last_ns:  # a frame from the past would make gaps of negative length
                last_ns = frame.t_ns
                yield frame
            frame = self._next()

    def _next(self) -> TelemetrySampled | None:
        for event in self._events:
            if isinstance(event, RunStarted):
                self.source = event.source
                self._cards.update((card.uuid, _replayed(card)) for card in event.cards)
            elif isinstance(event, TelemetrySampled):
                return replace(event, cards=tuple(replace(card, origin=Origin.REPLAYED) for card in event.cards))
        return None


def _replayed(card: CardInfo) -> CardInfo:
    """The card as at the start: ready, whatever became of it later, and marked as replayed."""
    state = CardState.READY if card.state is CardState.LOST and card.lost_since_ns is not None else card.state
    return replace(card, origin=Origin.REPLAYED, state=state)
