"""What the engine's tests stand on: a hand-fed feed, a store in memory, scripted worker processes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from gputuner.devices.simulated import SimulatedCards, SimulatedClock
from gputuner.engine.engine import Engine
from gputuner.engine.options import Options
from gputuner.engine.safety import SafetyLimits
from gputuner.engine.simulated import SimulatedStage
from gputuner.experiments.protocol import Experiment
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.events import Event
from gputuner.model.fingerprint import HostFingerprint
from gputuner.model.readings import Reading
from gputuner.model.samples import CardProcesses
from gputuner.model.steps import Plan, StepResult, Together, Work
from gputuner.telemetry.feed import Tick
from gputuner.workloads.simulated import SimulatedWorker
from gputuner.workloads.simulated_streams import SimulatedStreams
from gputuner.workloads.simulated_together import SimulatedTogether

Fault = tuple[float, str, dict[str, float | str]]
SCRIPT = Path(__file__).with_name("scripted_worker.py")
CARD = CardInfo(
    uuid="GPU-test",
    index=0,
    name="Test card",
    memory_total_bytes=24 * 2**30,
    readings={
        "slowdown_c": Reading(value=90.0, unit="degC"),
        "memory_max_c": Reading(value=100.0, unit="degC"),
        "power_limit_enforced_w": Reading(value=350.0, unit="W"),
    },
)


class HandFeed:
    """A feed whose ticks the test hands in."""

    origin = Origin.MEASURED

    def __init__(self) -> None:
        self.callbacks: list[Callable[[Tick], None]] = []
        self.users: dict[str, CardProcesses] = {CARD.uuid: CardProcesses(card=CARD.uuid, t_ns=0, processes=())}

    def cards(self) -> tuple[CardInfo, ...]:
        return (CARD,)

    def subscribe(self, callback: Callable[[Tick], None]) -> Callable[[], None]:
        self.callbacks.append(callback)
        return lambda: self.callbacks.remove(callback)

    def push(self, tick: Tick) -> None:
        for callback in list(self.callbacks):
            callback(tick)

    def latest(self) -> Tick | None:
        return None

    def processes(self, card: str) -> CardProcesses | None:
        return self.users.get(card)


class MemoryStore:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.events: list[Event] = []
        self.closed = False

    def write(self, event: Event) -> None:
        self.events.append(event)

    def tick(self) -> None:
        assert not self.closed

    def flush(self) -> None:
        assert not self.closed

    def close(self) -> None:
        self.closed = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Scripted:
    """An experiment whose plan the test gives."""

    name: ClassVar[str] = "scripted"
    needs_worker: ClassVar[bool] = True
    make: Callable[[], Plan] = field(repr=False)
    bounded: bool = True

    def plan(self, context: object) -> Plan:
        return self.make()

    def expected_s(self) -> float:
        return 60.0

    def limited(self) -> bool:
        return self.bounded


@dataclass
class Bench:
    """An engine over scripted worker processes and a hand-fed feed."""

    feed: HandFeed
    engine: Engine
    stores: list[MemoryStore]
    arguments: list[str]

    def start(self, make: Callable[[], Plan], **options: object):
        return self.engine.start(Scripted(make=make), Options(cards=(CARD.uuid,), **options))


class Simulated:
    """An engine over simulated cards with scripted faults; runs are of the first card."""

    def __init__(self, folder: Path, cards: Iterable[str], faults: Iterable[Fault]) -> None:
        self.clock = SimulatedClock()
        self.cards = SimulatedCards([*cards], self.clock, seed=3, faults=tuple(faults))
        self.model = self.cards.models[0]
        self.stores: list[MemoryStore] = []
        self.worker = SimulatedWorker
        self.engine = Engine(self._stage, self._store, folder)

    def _stage(self) -> SimulatedStage:
        return SimulatedStage(self.clock, self.cards, self._worker, lambda: HostFingerprint(readings={}), 2.0)

    def _worker(
        self, worker_id: str, uuid: str, cap_bytes: int | None, peers: tuple[str, ...]
    ) -> SimulatedStreams | SimulatedTogether:
        own = self.cards.card(uuid)
        alone = self.worker(own, 3, worker_id, memory_cap_bytes=cap_bytes)
        if peers:
            return SimulatedTogether(alone, worker_id, own, [self.cards.card(peer) for peer in peers])
        return SimulatedStreams(alone, worker_id, own, 3)

    def _store(self, run_id: str) -> MemoryStore:
        self.stores.append(MemoryStore(Path(run_id)))
        return self.stores[-1]

    def run(self, spec: Experiment, **limits: float) -> list[Event]:
        options = Options(cards=(self.model.uuid,), safety=SafetyLimits(**limits))
        return list(self.engine.start(spec, options))


def work(behaviour: str = "ok", **fields: object) -> Work:
    params = {"behaviour": behaviour, **fields.pop("params", {})}
    return Work(label="trial", workload="scripted", params=params, measure_s=0.1, budget_s=1.0, **fields)


def outcomes_of(steps: list[Work | Together]) -> tuple[Callable[[], Plan], list[StepResult]]:
    seen: list[StepResult] = []

    def make() -> Plan:
        for step in steps:
            seen.append((yield step))  # noqa: PERF401  a comprehension cannot yield

    return make, seen
