"""Replayed stage: a recording is watched as if live. It has no workers; its clock is the recording's."""

import time
from pathlib import Path

from gputuner.engine.inbox import FeedEnded, Inbox, Item, TickArrived, WallInbox
from gputuner.engine.mps import Mps
from gputuner.engine.stage import Worker
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.errors import UsageError
from gputuner.model.events import ClockKind
from gputuner.model.fingerprint import HostFingerprint
from gputuner.model.samples import CardProcesses, Sample
from gputuner.model.steps import Runtime, Variables
from gputuner.telemetry.feed import Tick
from gputuner.telemetry.replayed import ReplayFeed

LOOK_NS = 100_000_000


class ReplayInbox:
    """Waits on the recording's clock; after its end there is only ``FeedEnded``."""

    def __init__(self, feed: ReplayFeed) -> None:
        """Wait on ``feed``."""
        self._feed = feed
        self._items = WallInbox()

    def put(self, item: Item) -> None:
        """Deliver an item; callable from any thread."""
        self._items.put(item)

    def get(self, until_ns: int) -> Item | None:
        """The next item, None at ``until_ns``, or ``FeedEnded`` once the recording is over."""
        while True:
            ended = self._feed.wait_ended(0)
            item = self._items.get(time.monotonic_ns() + (0 if ended else LOOK_NS))
            if item is not None:
                return item
            if ended:
                return FeedEnded()
            if self._feed.clock.now_ns() >= until_ns:
                return None


class ReplayedStage:
    """The cards of one recording."""

    clock_kind = ClockKind.WALL
    origin = Origin.REPLAYED

    def __init__(self, feed: ReplayFeed) -> None:
        """Start playing."""
        self.clock = feed.clock
        self.inbox: Inbox = ReplayInbox(feed)
        self.sampling_hz: float | None = None
        self._feed = feed
        self._latest: dict[str, Sample] = {}
        self._unsubscribe = feed.subscribe(self._on_tick)

    def source(self, card: CardInfo) -> str:
        """As recorded."""
        return self._feed.source

    def cards(self) -> tuple[CardInfo, ...]:
        """The recorded cards."""
        return self._feed.cards()

    def host(self) -> HostFingerprint:
        """The machine of the recording is not known here."""
        return HostFingerprint(readings={})

    def processes(self, card: str) -> CardProcesses | None:
        """The recorded process table."""
        return self._feed.processes(card)

    def latest(self, card: str) -> Sample | None:
        """The last sample."""
        return self._latest.get(card)

    def spawn(
        self,
        worker_id: str,
        card: CardInfo,
        memory_cap_bytes: int | None,
        memory_probe: bool = False,
        runtime: Runtime = "torch",
        peers: tuple[str, ...] = (),
        environment: Variables = (),
    ) -> Worker:
        """A recording cannot be asked anything.

        Raises:
            UsageError: always.
        """
        raise UsageError("replay_no_experiment", "a replayed card cannot run an experiment")

    def mps(self, card: CardInfo, data_dir: Path | None) -> Mps | str:
        """A recording has none."""
        return "processor"

    def close(self) -> None:
        """Stop listening."""
        self._unsubscribe()

    def _on_tick(self, tick: Tick) -> None:
        self._latest.update({s.card: s for s in tick.samples})
        self.inbox.put(TickArrived(tick=tick))
