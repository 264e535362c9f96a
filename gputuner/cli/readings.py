"""Watch the feed for a moment: the newest of every quantity of every card, and a queue of ticks."""

import queue
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager

from gputuner.model.cards import CardInfo, CardState
from gputuner.model.quantities import QUANTITIES, Quantity, Tier
from gputuner.model.readings import Reading, Reason
from gputuner.model.samples import Sample
from gputuner.telemetry.feed import Feed, FeedState, Tick

SETTLE_S = 8.0
"""Longest wait for the first slow readings."""
_OVER = frozenset({FeedState.ABSENT, FeedState.MISMATCH, FeedState.CLOSED, FeedState.ENDED})


class Latest:
    """The newest reading of each quantity by card; a quantity that was never due stays ``not_read``."""

    def __init__(self) -> None:
        """Know nothing."""
        self._readings: dict[str, dict[Quantity, Reading]] = {}

    def take(self, samples: Iterable[Sample]) -> None:
        """Learn from a tick."""
        for sample in samples:
            known = self._readings.setdefault(sample.card, {})
            for quantity, value in sample.values.items():
                known[quantity] = Reading(value=value, unit=QUANTITIES[quantity].unit)
            for quantity, reason in sample.missing.items():
                known[quantity] = Reading(unit=QUANTITIES[quantity].unit, reason=reason)

    def of(self, card: CardInfo) -> dict[Quantity, Reading]:
        """Every quantity of a card: its newest reading, or why there is none."""
        known = self._readings.get(card.uuid, {})
        return {quantity: known.get(quantity) or _never_read(card, quantity) for quantity in Quantity}

    def complete(self, cards: Iterable[CardInfo]) -> bool:
        """True if the slow readings of all cards that can be asked have come, and what needs two looks too."""
        return all(self._is_whole(card) for card in cards if card.state is CardState.READY)

    def _is_whole(self, card: CardInfo) -> bool:
        known = self._readings.get(card.uuid, {})
        utilisation = known.get(Quantity.GPU_UTILISATION)
        slow = any(QUANTITIES[quantity].tier is Tier.SLOW for quantity in known)
        return slow and utilisation is not None and utilisation.reason is not Reason.NOT_READ


@contextmanager
def ticks(feed: Feed) -> Generator["queue.SimpleQueue[Tick]"]:
    """A queue that receives the feed's ticks while the context is open, the newest one before it first."""
    waiting: queue.SimpleQueue[Tick] = queue.SimpleQueue()
    before = feed.latest()
    if before is not None:
        waiting.put(before)
    stop = feed.subscribe(waiting.put)
    try:
        yield waiting
    finally:
        stop()


def read_all(feed: Feed, cards: Iterable[CardInfo], clock: Callable[[], float] = time.monotonic) -> Latest:
    """The readings of all cards, as soon as the slow ones have come or after ``SETTLE_S``."""
    wanted = tuple(cards)
    latest = Latest()
    until_s = clock() + SETTLE_S
    with ticks(feed) as waiting:
        while not latest.complete(wanted) and clock() < until_s:
            try:
                latest.take(waiting.get(timeout=0.25).samples)
            except queue.Empty:
                if feed.status().state in _OVER:
                    break
    return latest


def _never_read(card: CardInfo, quantity: Quantity) -> Reading:
    states = {CardState.ASLEEP: Reason.ASLEEP, CardState.LOST: Reason.LOST}
    return Reading(unit=QUANTITIES[quantity].unit, reason=states.get(card.state, Reason.NOT_READ))
