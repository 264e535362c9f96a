"""Each run tells who read its telemetry."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gputuner.devices.replay import Replay
from gputuner.engine.engine import Engine
from gputuner.engine.options import Options
from gputuner.engine.replayed import ReplayedStage
from gputuner.experiments.record import Record
from gputuner.model.cards import CPU_CARD
from gputuner.model.events import Event, RunStarted
from gputuner.telemetry.replayed import ReplayFeed
from tests.engine.rig import CARD, Bench, MemoryStore, Simulated


def source(events: list[Event]) -> str:
    (started,) = [event for event in events if isinstance(event, RunStarted)]
    return started.source


@pytest.mark.parametrize(("uuid", "expected"), [(CARD.uuid, "nvml"), (CPU_CARD, "host")])
def test_a_real_card_is_read_by_nvml_and_the_processor_by_the_host(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, uuid: str, expected: str
):
    card = replace(CARD, uuid=uuid)
    monkeypatch.setattr(bench.feed, "cards", lambda: (card,))
    run = bench.engine.start(Record(), Options(cards=(uuid,)))
    run.cancel()
    assert source(list(run)) == expected


def test_a_simulated_card_is_told_by_its_model(simulated: Callable[..., Simulated]):
    assert source(simulated().run(Record(duration_s=3.0))) == "simulated"


@pytest.mark.parametrize("name", ["nvml", "gputemps"])
def test_a_replay_keeps_the_recorded_source(simulated: Callable[..., Simulated], tmp_path: Path, name: str):
    recorded = simulated().run(Record(duration_s=3.0))
    assert isinstance(recorded[0], RunStarted)
    feed = ReplayFeed(Replay([replace(recorded[0], source=name), *recorded[1:]]), math.inf)
    stores: list[MemoryStore] = []

    def store(run_id: str) -> MemoryStore:
        stores.append(MemoryStore(tmp_path / run_id))
        return stores[-1]

    engine = Engine(lambda: ReplayedStage(feed), store, tmp_path)
    events = list(engine.start(Record(), Options(cards=(feed.cards()[0].uuid,))))
    feed.close()
    assert source(events) == name
