"""A recording played back: everything arrives, in order, marked as replayed, and ends cleanly."""

import math
import threading

import pytest

from gputuner.devices.replay import Replay
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.errors import StoreError, UsageError
from gputuner.model.events import Event, TelemetrySampled, Warned
from gputuner.model.quantities import Quantity
from gputuner.model.samples import Sample
from gputuner.telemetry.feed import FeedState, Tick
from gputuner.telemetry.replayed import ReplayFeed

S = 1_000_000_000
CARDS = (CardInfo(uuid="a", index=0, name="A"),)


def frame(t_s: float) -> TelemetrySampled:
    t_ns = round(t_s * S)
    sample = Sample(card="a", t_ns=t_ns, values={Quantity.CORE_TEMPERATURE_C: 40.0 + t_s})
    return TelemetrySampled(run_id="r", seq=round(t_s), t_ns=t_ns, samples=(sample,))


def test_at_full_speed_nothing_is_lost_and_the_end_is_told_after_the_last_tick() -> None:
    events: list[Event] = [frame(t) for t in range(500)]
    events.insert(3, Warned(run_id="r", seq=9, t_ns=0, code="x"))
    feed = ReplayFeed(Replay(events, CARDS), speed=math.inf)
    seen: list[Tick] = []
    feed.subscribe(seen.append)
    assert feed.wait_ended(30)
    assert [tick.t_ns // S for tick in seen] == list(range(500))
    assert feed.status().state is FeedState.ENDED
    assert feed.status().dropped_ticks == 0
    assert feed.clock.now_ns() == 499 * S
    assert feed.origin is Origin.REPLAYED
    assert [card.origin for card in feed.cards()] == [Origin.REPLAYED]
    feed.close()
    feed.close()
    assert feed.status().state is FeedState.CLOSED


def test_at_a_finite_speed_frames_come_in_their_order() -> None:
    feed = ReplayFeed(Replay([frame(t) for t in range(20)], CARDS), speed=1000.0)
    seen: list[Tick] = []
    feed.subscribe(seen.append)
    assert feed.wait_ended(30)
    assert [tick.t_ns // S for tick in seen] == list(range(20))
    feed.close()


def test_closing_in_the_middle_ends_at_once() -> None:
    feed = ReplayFeed(Replay([frame(0), frame(1e6)], CARDS))
    first = threading.Event()
    feed.subscribe(lambda _tick: first.set())
    assert first.wait(600)
    feed.close()
    assert feed.wait_ended(0)


def test_an_unread_recording_error_ends_it_with_a_code() -> None:
    def torn() -> object:
        yield frame(0)
        yield frame(1)
        raise StoreError("event_malformed")

    feed = ReplayFeed(Replay(torn(), CARDS), speed=math.inf)  # type: ignore[arg-type]
    feed.subscribe(lambda _tick: None)
    assert feed.wait_ended(30)
    assert feed.status().code == "event_malformed"
    feed.close()


def test_a_speed_of_zero_is_refused() -> None:
    replay = Replay([frame(0)], CARDS)
    for speed in (0.0, -1.0, math.nan):
        with pytest.raises(UsageError):
            ReplayFeed(replay, speed)
