"""Cards as the driver names them, with what the catalogue knows of them."""

from collections.abc import Mapping
from dataclasses import replace

from gputuner.catalog import load
from gputuner.model.cards import CardInfo
from gputuner.model.samples import CardProcesses
from gputuner.telemetry.feed import Callback, Feed, FeedStatus, Tick, Unsubscribe


def identified(card: CardInfo) -> CardInfo:
    """``card`` with its catalogue entry (mods told apart by memory, relabelled chips by their SM count)."""
    if card.catalog is not None or card.is_cpu:
        return card
    match = load().match(card.name, card.memory_total_bytes, card.sm_count, card.compute_capability)
    return replace(card, catalog=match)


def reference(card: CardInfo) -> Mapping[str, float]:
    """Sheet figures of a card (``peak_fp16`` … in FLOP/s, ``peak_bandwidth`` in bytes/s); empty where unknown."""
    known = card.catalog.catalog_id if card.catalog else None
    return load().reference(known) if known else {}


class IdentifiedFeed:
    """A feed whose cards carry their catalogue entry."""

    def __init__(self, feed: Feed) -> None:
        """Take over ``feed``."""
        self._feed = feed
        self.origin = feed.origin

    def cards(self) -> tuple[CardInfo, ...]:
        """The feed's cards."""
        return tuple(identified(card) for card in self._feed.cards())

    def subscribe(self, callback: Callback) -> Unsubscribe:
        """The feed's ticks."""

        def pass_on(tick: Tick) -> None:
            callback(replace(tick, cards=tuple(map(identified, tick.cards))) if tick.cards else tick)

        return self._feed.subscribe(pass_on)

    def latest(self) -> Tick | None:
        """The feed's last tick with samples."""
        return self._feed.latest()

    def processes(self, card: str) -> CardProcesses | None:
        """The feed's process table."""
        return self._feed.processes(card)

    def status(self) -> FeedStatus:
        """The feed's state."""
        return self._feed.status()

    def close(self) -> None:
        """Close the feed."""
        self._feed.close()
