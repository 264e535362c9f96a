"""A feed that reads in a thread: the host's own processor."""

import threading

from gputuner.devices.host import HostSource
from gputuner.model.cards import CPU_CARD, CardInfo, Origin
from gputuner.model.errors import DeviceError
from gputuner.model.quantities import Quantity
from gputuner.telemetry.feed import FeedState, Tick
from gputuner.telemetry.local import LocalFeed


def test_the_processor_is_read_over_and_over() -> None:
    feed = LocalFeed(HostSource(), fast_hz=10.0)
    ticks: list[Tick] = []
    enough = threading.Event()

    def take(tick: Tick) -> None:
        ticks.append(tick)
        if len(ticks) >= 3:
            enough.set()

    feed.subscribe(take)
    assert enough.wait(600)
    assert [card.uuid for card in feed.cards()] == [CPU_CARD]
    assert feed.origin is Origin.MEASURED
    latest = feed.latest()
    assert latest is not None
    values = latest.samples[0].values
    assert 0 <= values[Quantity.GPU_UTILISATION] <= 1
    assert values[Quantity.MEMORY_USED_BYTES] > 0
    status = feed.status()
    assert status.state is FeedState.OK
    assert status.own_cpu_s is not None
    table = feed.processes(CPU_CARD)
    assert table is None or table.processes == ()
    feed.close()
    feed.close()
    assert feed.status().state is FeedState.CLOSED


def test_a_source_that_fails_is_a_state_not_a_crash() -> None:
    asked = threading.Event()

    class Failing(HostSource):
        def cards(self) -> tuple[CardInfo, ...]:
            asked.set()
            raise DeviceError("host_unreadable", "nothing can be read")

    feed = LocalFeed(Failing(), fast_hz=10.0)
    assert asked.wait(600)
    feed.close()
    assert feed.cards() == ()
    assert feed.latest() is None
