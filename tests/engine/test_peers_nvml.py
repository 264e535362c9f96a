"""A further card through the driver: fake NVML with two cards → shipped collector → engine → worker process."""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gputuner.engine.engine import Engine
from gputuner.engine.options import Options
from gputuner.engine.stage import WallStage
from gputuner.model.events import Event, Outcome, PointMeasured, RunFinished, StepStarted, WorkerExited
from gputuner.model.fingerprint import HostFingerprint
from gputuner.model.points import Point
from gputuner.model.steps import Done, Plan, Report, Watch, Work
from gputuner.telemetry.client import CollectorFeed
from gputuner.telemetry.rates import Rates
from tests.engine.rig import SCRIPT, MemoryStore, Scripted
from tests.fake_nvml.fixtures import FakeNvml
from tests.fake_nvml.scenario import HANG, MIB, Scenario, card, error

TEMPERATURE = "nvmlDeviceGetTemperature"
USERS = "nvmlDeviceGetComputeRunningProcesses"
LOST = {TEMPERATURE: error("GPU_IS_LOST"), "handle": error("GPU_IS_LOST")}


class Pair:
    """An engine over two fake cards, of which the second one's answers may change while a run goes on."""

    def __init__(self, fake: FakeNvml, folder: Path) -> None:
        self.fake = fake
        self.show()
        self.feed = CollectorFeed(
            [sys.executable, "-m", "gputuner", "--collector"],
            Rates(fast_hz=10.0, slow_s=0.2, hang_s=1.0, start_s=30.0),
            environment={**os.environ, **fake.environment()},
            first_pause_s=0.05,
        )
        known = set[str]()
        both = threading.Event()

        def look(tick: Any) -> None:
            known.update(table.card for table in tick.processes)
            if len(known) == 2:
                both.set()

        unsubscribe = self.feed.subscribe(look)
        assert both.wait(30.0), self.feed.status()
        unsubscribe()
        self.store = MemoryStore(folder / "run")
        self.engine = Engine(self._stage, lambda run_id: self.store, folder)

    def _stage(self) -> WallStage:
        return WallStage(
            self.feed,
            host=lambda: HostFingerprint(readings={}),
            command=lambda card, cap: [sys.executable, str(SCRIPT)],
            environment=lambda card, probe: {},
            sampling_hz=10.0,
        )

    def show(self, **calls: Any) -> None:
        """Let the driver answer this for the second card from now on."""
        warm = {TEMPERATURE: 65}
        self.fake.show(Scenario(card(0, **warm), card(1, **warm | calls)), log=False, reload=True)

    def work(self, *, behaviour: str = "ok", peers: bool = True) -> Work:
        others = (self.feed.cards()[1].uuid,) if peers else ()
        return Work(
            label="trial", workload="scripted", params={"behaviour": behaviour}, measure_s=60.0, budget_s=60.0,
            peers=others,
        )  # fmt: skip

    def run(self, make: Callable[[], Plan], change: Callable[[], None] = lambda: None) -> list[Event]:
        """All events; ``change`` happens once the first step has begun."""
        events: list[Event] = []
        for event in self.engine.start(Scripted(make=make), Options(cards=(self.feed.cards()[0].uuid,))):
            events.append(event)
            if isinstance(event, StepStarted) and event.index == 1:
                change()
        return events


@pytest.fixture
def pair(fake_nvml: FakeNvml, tmp_path: Path) -> Iterator[Pair]:
    found = Pair(fake_nvml, tmp_path)
    yield found
    found.feed.close()


@pytest.mark.parametrize(
    ("answers", "trigger"),
    [({TEMPERATURE: 93}, "core_hot"), ({TEMPERATURE: HANG}, "telemetry_silent"), (LOST, "card_lost")],
    ids=["hot", "hung", "lost"],
)
def test_the_further_card_stops_the_load(pair: Pair, answers: dict[str, Any], trigger: str):
    point = Point(id="p", card="c", metric="m", workload="w", params={}, value=1.0, unit="1")

    def make() -> Plan:
        yield Report(points=(point,))
        yield pair.work(behaviour="busy")

    events = pair.run(make, lambda: pair.show(**answers))
    last = events[-1]
    assert isinstance(last, RunFinished)
    assert (last.error_code, last.outcome) == (f"safety_{trigger}", Outcome.STOPPED_FOR_SAFETY)
    assert (last.error_params["card"], last.error_params["card_index"]) == (pair.feed.cards()[1].title, 1)
    assert [e.point for e in pair.store.events if isinstance(e, PointMeasured)] == [point]
    assert len([e for e in events if isinstance(e, WorkerExited)]) == 2, "the worker of one card too"


def test_without_it_a_hot_neighbour_is_no_matter(pair: Pair):
    def make() -> Plan:
        pair.show(**{TEMPERATURE: 93})
        yield Watch(label="watch", duration_s=1.0)
        result = yield pair.work(peers=False)
        assert isinstance(result, Done)

    last = pair.run(make)[-1]
    assert isinstance(last, RunFinished)
    assert last.outcome is Outcome.COMPLETED


@pytest.mark.parametrize(("strangers", "shared"), [(1, False), (2, True)])
def test_processes_beyond_our_one_worker_make_it_shared(pair: Pair, strangers: int, shared: bool):
    """The fake driver never lists our worker under its number, as in a container with numbers of its own."""
    seen: list[Done] = []

    def make() -> Plan:
        for _ in range(2):
            result = yield pair.work()
            assert isinstance(result, Done)
            seen.append(result)
            pair.show(**{USERS: [{"pid": 10**6 + n, "used_bytes": MIB} for n in range(strangers)]})
            yield Watch(label="watch", duration_s=1.5)

    last = pair.run(make)[-1]
    assert isinstance(last, RunFinished)
    assert last.outcome is Outcome.COMPLETED
    assert [[peer.shared for peer in done.peers] for done in seen] == [[False], [shared]]
    assert seen[0].peers[0].card.uuid == pair.feed.cards()[1].uuid
