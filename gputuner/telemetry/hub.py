"""Hands ticks to subscribers from its own thread, so that a slow one never delays whoever reads the cards."""

import logging
import threading
from collections import deque

from gputuner.model.cards import CardInfo, CardState
from gputuner.model.samples import CardProcesses
from gputuner.telemetry.feed import Callback, Tick, Unsubscribe, joined

_log = logging.getLogger(__name__)


class Hub:
    """Subscribers of a feed, and the last things seen.

    At most ``pending`` ticks wait; when a subscriber is slower than that the oldest loses its samples (counted), while
    its gaps, XIDs and card changes travel on with the next tick.
    """

    def __init__(self, name: str, pending: int = 64) -> None:
        """Start no thread yet; the first subscriber does."""
        self._name = name
        self._most = pending
        self._pending: deque[Tick] = deque()
        self._callbacks: list[Callback] = []
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = self._busy = False
        self._latest: Tick | None = None
        self._cards: dict[str, CardInfo] = {}
        self._processes: dict[str, CardProcesses] = {}
        self.dropped = 0

    def subscribe(self, callback: Callback) -> Unsubscribe:
        """Add a subscriber; returns the function that removes it (idempotent)."""
        with self._changed:
            self._callbacks = [*self._callbacks, callback]
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._serve, name=f"{self._name}-hub", daemon=True)
                self._thread.start()

        def unsubscribe() -> None:
            with self._changed:
                self._callbacks = [known for known in self._callbacks if known is not callback]

        return unsubscribe

    def publish(self, tick: Tick, wait: bool = False) -> None:
        """Remember a tick and pass it on; ``wait``: rather wait for room than drop (replay)."""
        with self._changed:
            if wait:
                self._changed.wait_for(lambda: len(self._pending) < self._most or self._closed)
            if self._closed:
                return
            self._remember(tick)
            if not self._callbacks:
                return
            if len(self._pending) >= self._most:
                oldest = self._pending.popleft()
                self.dropped += 1
                if self._pending:
                    self._pending[0] = joined(oldest, self._pending[0])
                else:
                    tick = joined(oldest, tick)
            self._pending.append(tick)
            self._changed.notify_all()

    def _remember(self, tick: Tick) -> None:
        if tick.samples:
            self._latest = tick
        for card in tick.cards:
            for other in list(self._cards.values()):
                if other.index == card.index and other.state is CardState.LOST:
                    del self._cards[other.uuid]  # it came back, now with its UUID
            self._cards[card.uuid] = card
        for table in tick.processes:
            self._processes[table.card] = table

    def cards(self) -> tuple[CardInfo, ...]:
        """Cards seen so far, by display index."""
        with self._changed:
            return tuple(sorted(self._cards.values(), key=lambda card: card.index))

    def latest(self) -> Tick | None:
        """The last tick with samples."""
        return self._latest

    def processes(self, card: str) -> CardProcesses | None:
        """The last process table of a card."""
        return self._processes.get(card)

    def drain(self) -> None:
        """Wait until every pending tick was handed out (end of a replay)."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or not (self._pending or self._busy))

    def close(self) -> None:
        """Stop; after it returned no callback runs (unless called from one)."""
        with self._changed:
            self._closed = True
            self._pending.clear()
            self._changed.notify_all()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _serve(self) -> None:
        while True:
            with self._changed:
                self._busy = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._pending or self._closed)
                if self._closed:
                    return
                tick = self._pending.popleft()
                callbacks = self._callbacks
                self._busy = True
                self._changed.notify_all()
            for callback in callbacks:
                try:
                    callback(tick)
                except Exception:
                    _log.exception("a subscriber of %s failed", self._name)
