import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gputuner.engine.engine import Engine
from gputuner.engine.stage import WallStage
from gputuner.model.fingerprint import HostFingerprint
from tests.engine.rig import SCRIPT, Bench, Fault, HandFeed, MemoryStore, Simulated


@pytest.fixture(autouse=True)
def plain_spec(monkeypatch: pytest.MonkeyPatch) -> None:
    """A callable is no JSON; the stored spec of these tests is its name."""
    monkeypatch.setattr("gputuner.engine.performance.to_builtins", lambda spec: {"experiment": spec.name})


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    feed = HandFeed()
    stores: list[MemoryStore] = []
    arguments: list[str] = []

    def open_stage() -> WallStage:
        return WallStage(
            feed,
            host=lambda: HostFingerprint(readings={}),
            command=lambda card, cap: [sys.executable, str(SCRIPT), *arguments],
            environment=lambda card, probe: {},
            sampling_hz=2.0,
        )

    def open_store(run_id: str) -> MemoryStore:
        stores.append(MemoryStore(tmp_path / run_id))
        return stores[-1]

    yield Bench(feed, Engine(open_stage, open_store, tmp_path), stores, arguments)
    assert feed.callbacks == [], "a run left its subscription behind"


@pytest.fixture
def simulated(tmp_path: Path) -> Callable[..., Simulated]:
    """Makes an engine over one simulated card, or several of a kind, with scripted faults."""

    def start(*faults: Fault, card: str = "rtx-4090-48g", count: int = 1) -> Simulated:
        return Simulated(tmp_path, [card] * count, faults)

    return start
