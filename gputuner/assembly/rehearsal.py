"""The dry run: the same plan, performed by the simulated worker of the recognised card. Touches nothing."""

from dataclasses import replace
from pathlib import Path

from gputuner.assembly import stages
from gputuner.assembly.knowledge import KNOWLEDGE
from gputuner.catalog import load
from gputuner.engine.engine import Engine
from gputuner.engine.options import Options
from gputuner.engine.simulated import SimulatedStage
from gputuner.engine.stage import Worker
from gputuner.experiments.protocol import Experiment
from gputuner.model.cards import CardInfo
from gputuner.model.events import StepStarted
from gputuner.model.planned import PlannedStep
from gputuner.model.samples import CardProcesses, Sample
from gputuner.telemetry.rates import Rates

STAND_IN = "rtx-3060-12g"
"""Plays cards that the catalogue does not know, and the host's processor."""


class _Rehearsal:
    """A simulated stage that answers under the real card's name."""

    def __init__(self, stage: SimulatedStage, card: CardInfo) -> None:
        self._stage = stage
        self._card = card
        self._player = stage.cards()[0]
        self.clock, self.clock_kind, self.origin = stage.clock, stage.clock_kind, stage.origin
        self.inbox, self.sampling_hz, self.host, self.source = stage.inbox, stage.sampling_hz, stage.host, stage.source

    def cards(self) -> tuple[CardInfo, ...]:
        return (self._card,)

    def processes(self, card: str) -> CardProcesses | None:
        return None

    def latest(self, card: str) -> Sample | None:
        found = self._stage.latest(self._player.uuid)
        return replace(found, card=card) if found else None

    def spawn(self, worker_id: str, card: CardInfo, memory_cap_bytes: int | None, memory_probe: bool = False) -> Worker:
        return self._stage.spawn(worker_id, self._player, memory_cap_bytes)

    def close(self) -> None:
        self._stage.close()


def rehearse(spec: Experiment, card: CardInfo, memory_cap_bytes: int | None) -> tuple[PlannedStep, ...]:
    """The steps of ``spec`` on ``card``, as its model would take them."""
    known = card.catalog.catalog_id if card.catalog else None
    player = known if known in load().ids else STAND_IN

    def open_stage() -> _Rehearsal:
        stage = stages.simulated_stage([str(player)], Rates(), 0, stages.host_of(Path.cwd()))
        return _Rehearsal(stage, card)

    engine = Engine(open_stage, None, None, KNOWLEDGE)
    run = engine.start(spec, Options(cards=(card.uuid,), share=True, memory_cap_bytes=memory_cap_bytes))
    return tuple(
        PlannedStep(label=event.label, params=event.params, expected_s=event.expected_s)
        for event in run
        if isinstance(event, StepStarted)
    )
