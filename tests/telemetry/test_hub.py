"""Handing out ticks: a slow subscriber never blocks, a failing one harms nobody."""

import logging
import threading

import pytest

from gputuner.model.cards import CardInfo
from gputuner.model.quantities import Quantity
from gputuner.model.readings import Reason
from gputuner.model.samples import Gap, Sample, XidSeen
from gputuner.telemetry.feed import Tick, merged
from gputuner.telemetry.hub import Hub


def tick(t_ns: int, **more: object) -> Tick:
    sample = Sample(card="a", t_ns=t_ns, values={Quantity.CORE_TEMPERATURE_C: 50.0})
    return Tick(t_ns=t_ns, samples=(sample,), **more)  # type: ignore[arg-type]


def test_a_blocked_subscriber_blocks_nobody_and_loses_only_samples() -> None:
    hub = Hub("test", pending=4)
    gate, inside = threading.Event(), threading.Event()
    seen: list[Tick] = []

    def slow(given: Tick) -> None:
        seen.append(given)
        inside.set()
        gate.wait(600)

    hub.subscribe(slow)
    hub.publish(tick(0))
    assert inside.wait(600)
    gap = Gap(card="a", t0_ns=0, t1_ns=1, reason=Reason.ERROR)
    hub.publish(tick(1, gaps=(gap,), xids=(XidSeen(card="a", t_ns=1, xid=79),)))
    for t in range(2, 20):
        hub.publish(tick(t))
    assert hub.dropped == 15
    gate.set()
    hub.drain()
    assert [t.t_ns for t in seen] == [0, 16, 17, 18, 19]
    assert seen[1].gaps == (gap,)
    assert [x.xid for x in seen[1].xids] == [79]
    hub.close()


def test_waiting_instead_of_dropping() -> None:
    hub = Hub("test", pending=2)
    seen: list[int] = []
    hub.subscribe(lambda given: seen.append(given.t_ns))
    for t in range(200):
        hub.publish(tick(t), wait=True)
    hub.drain()
    assert seen == list(range(200))
    hub.close()


def test_a_subscriber_that_raises_is_logged_and_the_others_are_served(caplog: pytest.LogCaptureFixture) -> None:
    hub = Hub("test")
    seen: list[int] = []

    def bad(_tick: Tick) -> None:
        raise RuntimeError("bad subscriber")

    hub.subscribe(bad)
    hub.subscribe(lambda given: seen.append(given.t_ns))
    with caplog.at_level(logging.ERROR):
        hub.publish(tick(1))
        hub.drain()
    assert seen == [1]
    assert "bad subscriber" in caplog.text
    hub.close()


def test_after_unsubscribing_and_closing_nothing_is_called() -> None:
    hub = Hub("test")
    seen: list[int] = []
    unsubscribe = hub.subscribe(lambda given: seen.append(given.t_ns))
    hub.publish(tick(1))
    hub.drain()
    unsubscribe()
    unsubscribe()
    hub.publish(tick(2))
    hub.drain()
    hub.close()
    hub.publish(tick(3))
    assert seen == [1]
    assert hub.latest() == tick(2)


def test_closing_from_a_callback_does_not_lock_up() -> None:
    hub = Hub("test")
    done = threading.Event()

    def close(_tick: Tick) -> None:
        hub.close()
        done.set()

    hub.subscribe(close)
    hub.publish(tick(1))
    assert done.wait(600)


def test_cards_are_kept_by_place() -> None:
    hub = Hub("test")
    cards = (CardInfo(uuid="b", index=1, name="B"), CardInfo(uuid="a", index=0, name="A"))
    hub.publish(Tick(t_ns=0, cards=cards))
    assert [card.uuid for card in hub.cards()] == ["a", "b"]


def test_tiers_read_together_make_one_row() -> None:
    fast = Sample(
        card="a", t_ns=5, values={Quantity.CORE_TEMPERATURE_C: 50.0}, missing={Quantity.ENERGY_J: Reason.ERROR}
    )
    slow = Sample(card="a", t_ns=6, values={Quantity.FAN_FRACTION: 0.5})
    (row,) = merged([fast, slow])
    assert (row.t_ns, len(row.values), len(row.missing)) == (5, 2, 1)


def test_readings_of_the_same_tier_stay_apart_and_in_order() -> None:
    def fast(t_ns: int) -> Sample:
        return Sample(card="a", t_ns=t_ns, values={Quantity.CORE_TEMPERATURE_C: 50.0})

    slow = Sample(card="a", t_ns=7, values={Quantity.FAN_FRACTION: 0.5})
    rows = merged([slow, fast(6), fast(1)])
    assert [(row.t_ns, len(row.values)) for row in rows] == [(1, 1), (6, 2)]
    late = Sample(card="a", t_ns=400_000_000, values={Quantity.FAN_FRACTION: 0.5})
    assert len(merged([fast(1), late])) == 2
