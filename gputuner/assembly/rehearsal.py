"""The dry run: the same plan, performed by the simulated worker of the recognised card. Touches nothing."""

from dataclasses import replace
from pathlib import Path

from gputuner.assembly import stages
from gputuner.assembly.knowledge import KNOWLEDGE
from gputuner.assembly.processor import PROCESSOR, processor_catalog
from gputuner.catalog import load
from gputuner.engine.engine import Engine
from gputuner.engine.inbox import Inbox, Item, TickArrived
from gputuner.engine.options import Options
from gputuner.engine.simulated import SimulatedStage
from gputuner.engine.stage import Worker
from gputuner.experiments.protocol import Experiment
from gputuner.model.cards import CardInfo
from gputuner.model.events import StepFinished, StepStarted
from gputuner.model.planned import PlannedStep
from gputuner.model.samples import CardProcesses, Sample
from gputuner.model.steps import Runtime
from gputuner.telemetry.feed import Tick
from gputuner.telemetry.rates import Rates

STAND_IN = "rtx-3060-12g"
"""Plays cards that the catalogue does not know."""


class _Renamed:
    """The simulated stage's inbox, whose ticks are of the real card: a load without telemetry would be stopped."""

    def __init__(self, inbox: Inbox, card: str) -> None:
        self._inbox = inbox
        self._card = card

    def put(self, item: Item) -> None:
        self._inbox.put(item)

    def get(self, until_ns: int) -> Item | None:
        item = self._inbox.get(until_ns)
        if not isinstance(item, TickArrived):
            return item
        return TickArrived(tick=Tick(t_ns=item.tick.t_ns, samples=tuple(self._of(s) for s in item.tick.samples)))

    def _of(self, sample: Sample) -> Sample:
        return replace(sample, card=self._card)


class _Rehearsal:
    """A simulated stage that answers under the real card's name."""

    def __init__(self, stage: SimulatedStage, card: CardInfo) -> None:
        self._stage = stage
        self._card = card
        self._player = stage.cards()[0]
        self.clock, self.clock_kind, self.origin = stage.clock, stage.clock_kind, stage.origin
        self.inbox: Inbox = _Renamed(stage.inbox, card.uuid)
        self.sampling_hz, self.host, self.source = stage.sampling_hz, stage.host, stage.source

    def cards(self) -> tuple[CardInfo, ...]:
        return (self._card,)

    def processes(self, card: str) -> CardProcesses | None:
        return None

    def latest(self, card: str) -> Sample | None:
        found = self._stage.latest(self._player.uuid)
        return replace(found, card=card) if found else None

    def spawn(
        self,
        worker_id: str,
        card: CardInfo,
        memory_cap_bytes: int | None,
        memory_probe: bool = False,
        runtime: Runtime = "torch",
        peers: tuple[str, ...] = (),
    ) -> Worker:
        return self._stage.spawn(worker_id, self._player, memory_cap_bytes)

    def close(self) -> None:
        self._stage.close()


def rehearse(spec: Experiment, card: CardInfo, memory_cap_bytes: int | None) -> tuple[PlannedStep, ...]:
    """The steps of ``spec`` on ``card`` as its model would take them, with the seconds that they would take."""
    catalog = processor_catalog(card) if card.is_cpu else load()
    known = PROCESSOR if card.is_cpu else card.catalog.catalog_id if card.catalog else None
    player = known if known in catalog.ids else STAND_IN

    def open_stage() -> _Rehearsal:
        stage = stages.simulated_stage([str(player)], Rates(), 0, stages.host_of(Path.cwd()), catalog)
        return _Rehearsal(stage, card)

    engine = Engine(open_stage, None, None, KNOWLEDGE)
    run = engine.start(spec, Options(cards=(card.uuid,), share=True, memory_cap_bytes=memory_cap_bytes))
    steps: list[PlannedStep] = []
    started_ns = 0
    for event in run:
        if isinstance(event, StepStarted):
            started_ns = event.t_ns
            steps.append(PlannedStep(label=event.label, params=event.params, expected_s=event.expected_s))
        elif isinstance(event, StepFinished):
            steps[-1] = replace(steps[-1], expected_s=round((event.t_ns - started_ns) / 1e9, 1))
    return tuple(steps)
