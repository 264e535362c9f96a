"""Which telemetry feed the program lives on: NVIDIA cards, the host's processor, simulated cards, or a recording."""

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from gputuner.assembly.children import child_command
from gputuner.assembly.identified import IdentifiedFeed
from gputuner.telemetry.client import CollectorFeed
from gputuner.telemetry.feed import Feed, FeedState, FeedStatus
from gputuner.telemetry.rates import Rates
from gputuner.telemetry.replayed import ReplayFeed

FIRST_ANSWER_S = 30.0
"""The collector's first answer; a driver that is loaded anew takes seconds, eight cards a few more."""
FIRST_RESTARTS = 1
"""Starts after the first that the first answer may take; a collector that dies again will go on dying."""
LOOK_S = 0.02


def collector_command() -> list[str]:
    """The command line of the collector."""
    return [*child_command(), "--collector"]


def interpreter_forbidden(status: FeedStatus) -> bool:
    """True if the collector could not start because this user may not run the Python that runs now."""
    return status.code == "telemetry_collector_not_started" and not os.access(sys.executable, os.X_OK)


def nvidia_feed(rates: Rates) -> Feed:
    """NVML in its own process; returns once it has answered, or can not."""
    feed = CollectorFeed(collector_command(), rates)
    _await_cards(feed)
    return IdentifiedFeed(feed)


def host_feed(rates: Rates) -> Feed:
    """The host's own processor as the card ``cpu``."""
    from gputuner.devices.host import HostSource
    from gputuner.telemetry.local import LocalFeed

    feed = LocalFeed(HostSource(), fast_hz=rates.fast_hz, slow_s=rates.slow_s)
    _await_cards(feed)
    return feed


def simulated_feed(ids: Sequence[str], rates: Rates, *, demo: bool = True) -> Feed:
    """Simulated cards at wall pace; ``demo``: with a demonstration load on each, for whoever only looks."""
    from gputuner.devices.simulated import DemoLoad, SimulatedCards, WallDrivenClock
    from gputuner.telemetry.local import LocalFeed

    cards = SimulatedCards(ids, WallDrivenClock())
    if demo:
        cards.attach(DemoLoad)
    feed = LocalFeed(cards, fast_hz=rates.fast_hz, slow_s=rates.slow_s, clock=cards.clock.now_ns)
    _await_cards(feed)
    return feed


def replay_feed(path: Path, speed: float = 1.0) -> ReplayFeed:
    """A stored session played back.

    Raises:
        StoreError: the file is no session, or holds no telemetry.
    """
    from gputuner.devices.replay import Replay
    from gputuner.sessions.reader import SessionReader

    reader = SessionReader(path)
    return ReplayFeed(Replay(reader.events({"run_started", "telemetry_sampled"})), speed)


def _awaits_cards(feed: Feed) -> bool:
    """True until the collector has said that it cannot, that there is no card, or which there are.

    One that dies before that is given one more start, which the feed makes by itself.
    """
    status = feed.status()
    match status.state:
        case FeedState.OK:
            return not status.code and not feed.cards()
        case FeedState.RESTARTING:
            return 0 < status.restarts <= FIRST_RESTARTS and not feed.cards()
        case _:
            return status.state is FeedState.STARTING


def _await_cards(feed: Feed) -> None:
    until_s = time.monotonic() + FIRST_ANSWER_S
    while _awaits_cards(feed) and time.monotonic() < until_s:
        time.sleep(LOOK_S)
