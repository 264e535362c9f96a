"""A feed over a real collector process with a scripted source, and a way to wait for what it tells."""

import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gputuner.telemetry.client import CollectorFeed
from gputuner.telemetry.feed import Feed, FeedStatus, Tick
from gputuner.telemetry.rates import Rates

LONG_S = 600.0
"""Patience of a test: far longer than anything here takes."""
HANG_S = {"hang": 0.6, "hang at start": 0.6, "hang one": 3.0, "hang slow": 3.0}
"""Where nothing hangs, or others must be seen not to, nothing may seem to that only waits for a core."""
SCRIPT = Path(__file__).with_name("scripted_source.py")


class Listener:
    """Collects what a feed tells and waits for a condition over it."""

    def __init__(self, feed: Feed) -> None:
        self.feed = feed
        self.ticks: list[Tick] = []
        self._news = threading.Condition()
        self.unsubscribe = feed.subscribe(self._take)

    def _take(self, tick: Tick) -> None:
        with self._news:
            self.ticks.append(tick)
            self._news.notify_all()

    def until(self, condition: Callable[[list[Tick]], bool]) -> list[Tick]:
        """The ticks once ``condition`` holds over them."""
        with self._news:
            assert self._news.wait_for(lambda: condition(self.ticks), LONG_S), self.feed.status()
            return list(self.ticks)

    def until_status(self, condition: Callable[[FeedStatus], bool]) -> FeedStatus:
        """The status once ``condition`` holds of it."""
        with self._news:
            for _ in range(round(LONG_S / 0.02)):
                status = self.feed.status()
                if condition(status):
                    return status
                self._news.wait(0.02)
        raise AssertionError(self.feed.status())


@pytest.fixture
def collect(tmp_path: Path) -> Iterator[Callable[..., Listener]]:
    """Starts a collector process in a mode of the scripted source."""
    listeners: list[Listener] = []

    def start(mode: str, **rates: float) -> Listener:
        command = [sys.executable, str(SCRIPT), mode, str(tmp_path / "flag")]
        hang_s = HANG_S.get(mode, LONG_S)
        given = {"fast_hz": 10.0, "slow_s": 0.5, "hang_s": hang_s, "start_s": LONG_S, **rates}
        listeners.append(Listener(CollectorFeed(command, Rates(**given), first_pause_s=0.05)))
        return listeners[-1]

    yield start
    for listener in listeners:
        listener.feed.close()
