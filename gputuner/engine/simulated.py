"""Simulated stage: cards, sampler and workers in the engine's thread, on the run's own simulated clock.

Waiting on the inbox moves the clock to the next thing that happens: a worker's message, a sampling tick, or the time
waited for. Nothing sleeps; an experiment of five minutes takes seconds.
"""

import queue
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from gputuner.devices.control_client import Control
from gputuner.devices.protocol import CardSource, Clock
from gputuner.devices.simulated_clock import SimulatedClock
from gputuner.engine import mps_ground
from gputuner.engine.inbox import FromWorker, Inbox, Item, TickArrived, WorkerGone
from gputuner.engine.mps import Mps, SimulatedMps
from gputuner.engine.stage import Worker
from gputuner.model.cards import CardInfo, Origin
from gputuner.model.events import ClockKind
from gputuner.model.fingerprint import HostFingerprint
from gputuner.model.samples import CardProcesses, Sample
from gputuner.model.steps import Runtime, Variables
from gputuner.telemetry.sampler import Sampler


class SimulatedTrials(Protocol):
    """What ``workloads.simulated.SimulatedWorker`` offers: the wire protocol as a discrete-event process."""

    def request(self, message: Mapping[str, object]) -> None:
        """Take one request at the clock's present time."""
        ...

    def next_event_ns(self) -> int | None:
        """When it will next say something; None: not before it is asked."""
        ...

    def step(self, until_ns: int) -> Sequence[tuple[int, Mapping[str, object]]]:
        """All messages up to ``until_ns``, with their times."""
        ...


class _Handle:
    """A simulated worker as the engine sees it."""

    def __init__(self, worker_id: str, trials: SimulatedTrials, inbox: "SimulatedInbox") -> None:
        self.id = worker_id
        self.trials = trials
        self._inbox = inbox

    def send(self, message: Mapping[str, object]) -> None:
        self.trials.request(message)
        if message.get("kind") == "exit":
            self._inbox.end(self.id, 0)

    def terminate(self) -> None:
        self.trials.request({"kind": "exit"})
        self._inbox.end(self.id, -15)

    def kill(self) -> None:
        self.trials.request({"kind": "exit"})
        self._inbox.end(self.id, -9)

    def close(self) -> None:
        pass


class SimulatedInbox:
    """Inbox whose waiting moves a simulated clock."""

    def __init__(self, clock: SimulatedClock, sampler: Sampler, seen: Callable[[TickArrived], None]) -> None:
        """``seen`` is told of every tick before it is delivered."""
        self._clock = clock
        self._sampler = sampler
        self._seen = seen
        self._from_outside: queue.SimpleQueue[Item] = queue.SimpleQueue()
        self._ready: deque[Item] = deque()
        self._workers: dict[str, SimulatedTrials] = {}

    def put(self, item: Item) -> None:
        """Deliver an item from another thread (cancel)."""
        self._from_outside.put(item)

    def add(self, worker_id: str, trials: SimulatedTrials) -> None:
        """Let a worker take part."""
        self._workers[worker_id] = trials

    def end(self, worker_id: str, exit_code: int) -> None:
        """A worker leaves; told once."""
        if self._workers.pop(worker_id, None) is not None:
            self._ready.append(WorkerGone(worker=worker_id, exit_code=exit_code, stderr_tail=""))

    def get(self, until_ns: int) -> Item | None:
        """The next item; moves the clock to it, or to ``until_ns``."""
        while True:
            if not self._from_outside.empty():
                return self._from_outside.get()
            if self._ready:
                return self._ready.popleft()
            next_ns = min([until_ns, self._sampler.next_due_ns, *self._wakes()])
            if next_ns > self._clock.now_ns():
                self._clock.advance_to_ns(next_ns)
            self._collect(self._clock.now_ns())
            if not self._ready and self._clock.now_ns() >= until_ns:
                return None

    def _wakes(self) -> list[int]:
        return [t for t in (w.next_event_ns() for w in self._workers.values()) if t is not None]

    def _collect(self, now_ns: int) -> None:
        for worker_id, trials in list(self._workers.items()):
            for _, message in trials.step(now_ns):
                self._ready.append(FromWorker(worker=worker_id, message=message))
                if message.get("kind") == "failed" and message.get("error") in ("out_of_memory", "sticky"):
                    self.end(worker_id, 5 if message.get("error") == "out_of_memory" else 6)
        tick = self._sampler.due(now_ns)
        if tick is not None:
            arrived = TickArrived(tick=tick)
            self._seen(arrived)
            self._ready.append(arrived)


class SimulatedStage:
    """Cards of the catalogue that only exist as a model; everything they yield is marked simulated."""

    clock_kind = ClockKind.SIMULATED
    origin = Origin.SIMULATED
    open_control: Callable[[], Control] | None = None
    """The way to the settings of its cards."""

    def __init__(
        self,
        clock: SimulatedClock,
        source: CardSource,
        worker: Callable[[str, str, int | None, tuple[str, ...]], SimulatedTrials],
        host: Callable[[], HostFingerprint],
        sampling_hz: float,
    ) -> None:
        """``worker(worker_id, card uuid, memory_cap_bytes, peers)`` makes a worker on cards of ``source``."""
        self.clock: Clock = clock
        self.sampling_hz: float | None = sampling_hz
        self._source = source
        self._worker = worker
        self._host = host
        self._latest: dict[str, Sample] = {}
        self._processes: dict[str, CardProcesses] = {}
        sampler = Sampler(source, fast_hz=sampling_hz, start_ns=clock.now_ns())
        self._inbox = SimulatedInbox(clock, sampler, self._on_tick)
        self.inbox: Inbox = self._inbox

    def source(self, card: CardInfo) -> str:
        """The model."""
        return "simulated"

    def cards(self) -> tuple[CardInfo, ...]:
        """The simulated cards."""
        return self._source.cards()

    def host(self) -> HostFingerprint:
        """The real machine (it is what drives the simulation)."""
        return self._host()

    def processes(self, card: str) -> CardProcesses | None:
        """The card's process table now."""
        return self._processes.get(card) or self._source.processes(card, self.clock.now_ns())

    def latest(self, card: str) -> Sample | None:
        """The last sample."""
        return self._latest.get(card)

    def spawn(
        self,
        worker_id: str,
        card: CardInfo,
        memory_cap_bytes: int | None,
        memory_probe: bool = False,
        runtime: Runtime = "torch",
        peers: tuple[str, ...] = (),
        environment: Variables = (),
    ) -> Worker:
        """Make a simulated worker."""
        trials = self._worker(worker_id, card.uuid, memory_cap_bytes, peers)
        self._inbox.add(worker_id, trials)
        return _Handle(worker_id, trials, self._inbox)

    def mps(self, card: CardInfo, data_dir: Path | None) -> Mps | str:
        """Where such a card could have it."""
        return mps_ground.obstacle(card, HostFingerprint(readings={}), program=None) or SimulatedMps()

    def close(self) -> None:
        """Release the cards."""
        self._source.close()

    def _on_tick(self, arrived: TickArrived) -> None:
        self._latest.update({s.card: s for s in arrived.tick.samples})
        self._processes.update({p.card: p for p in arrived.tick.processes})
