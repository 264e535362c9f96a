import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gputuner.engine import mps_ground
from gputuner.engine.engine import Engine
from gputuner.engine.mps import OwnMps
from gputuner.engine.stage import WallStage
from gputuner.model.fingerprint import HostFingerprint
from tests.engine.mps_rig import CHILD, Lab, install
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


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder whose path is as short as a user's own is."""
    with tempfile.TemporaryDirectory(prefix="mps") as folder:
        yield Path(folder)


@pytest.fixture(name="lab")
def mps_lab(place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    """An engine whose daemon of MPS is a stand-in; nothing of it may be left in the end."""
    monkeypatch.setattr(mps_ground, "USUAL_PIPE", str(place / "no users daemon"))
    monkeypatch.delenv("CUDA_MPS_PIPE_DIRECTORY", raising=False)
    program = install(place)
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
            mps=lambda card, data_dir: OwnMps(card.uuid, data_dir, CHILD, program),
        )

    def open_store(run_id: str) -> MemoryStore:
        stores.append(MemoryStore(place / run_id))
        return stores[-1]

    made = Lab(feed, Engine(open_stage, open_store, place), stores, arguments)
    made.folder = place
    yield made
    assert made.left == []
