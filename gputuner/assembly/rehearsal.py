"""The dry run: the same plan, performed by the simulated worker of the recognised card. Touches nothing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import cast

from gputuner.assembly import stages
from gputuner.assembly.control import PretendedControl
from gputuner.assembly.knowledge import KNOWLEDGE
from gputuner.assembly.processor import PROCESSOR, processor_catalog
from gputuner.assembly.rehearsal_health import by_stages, played
from gputuner.catalog import load
from gputuner.devices.control_client import Control
from gputuner.engine.engine import Engine
from gputuner.engine.inbox import Inbox, Item, TickArrived
from gputuner.engine.mps import Mps
from gputuner.engine.options import Options
from gputuner.engine.simulated import SimulatedStage
from gputuner.engine.stage import Worker
from gputuner.experiments.contention import Contend
from gputuner.experiments.cooling import Cooling
from gputuner.experiments.health import Health
from gputuner.experiments.power import Power
from gputuner.experiments.protocol import Experiment
from gputuner.experiments.subject import STAND_IN as STAND_IN_TRAINING
from gputuner.experiments.subject import own_recipe
from gputuner.model.cards import CardInfo
from gputuner.model.events import StepFinished, StepStarted, Warned
from gputuner.model.planned import PlannedStep, Rehearsed
from gputuner.model.samples import CardProcesses, Sample
from gputuner.model.steps import Runtime, Variables
from gputuner.telemetry.feed import Tick
from gputuner.telemetry.rates import Rates

STAND_IN = "rtx-3060-12g"
"""Plays cards that the catalogue does not know."""
LEFT_OUT = frozenset({"benchmark_unavailable", "benchmark_skipped", "benchmark_gap"})
"""Warnings that hold for the real run too: of what will not be done, and why."""


class _Renamed:
    """The simulated stage's inbox, whose ticks are of the real cards: a load without telemetry would be stopped."""

    def __init__(self, inbox: Inbox, names: Mapping[str, str]) -> None:
        """``names``: UUID of the real card by that of its player."""
        self._inbox = inbox
        self._names = names

    def put(self, item: Item) -> None:
        self._inbox.put(item)

    def get(self, until_ns: int) -> Item | None:
        item = self._inbox.get(until_ns)
        if not isinstance(item, TickArrived):
            return item
        return TickArrived(tick=Tick(t_ns=item.tick.t_ns, samples=tuple(self._of(s) for s in item.tick.samples)))

    def _of(self, sample: Sample) -> Sample:
        return replace(sample, card=self._names[sample.card])


class _Rehearsal:
    """A simulated stage that answers under the real cards' names."""

    def __init__(self, stage: SimulatedStage, cards: Sequence[CardInfo]) -> None:
        self._stage = stage
        self._cards = tuple(cards)
        self._players = {card.uuid: player for card, player in zip(cards, stage.cards(), strict=True)}
        self.clock, self.clock_kind, self.origin = stage.clock, stage.clock_kind, stage.origin
        names = {player.uuid: uuid for uuid, player in self._players.items()}
        self.inbox: Inbox = _Renamed(stage.inbox, names)
        self.sampling_hz, self.host, self.source = stage.sampling_hz, stage.host, stage.source
        self.open_control: Callable[[], Control] | None = PretendedControl

    def cards(self) -> tuple[CardInfo, ...]:
        return self._cards

    def processes(self, card: str) -> CardProcesses | None:
        return None

    def latest(self, card: str) -> Sample | None:
        found = self._stage.latest(self._players[card].uuid)
        return replace(found, card=card) if found else None

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
        beside = tuple(self._players[peer].uuid for peer in peers)
        return self._stage.spawn(worker_id, self._players[card.uuid], memory_cap_bytes, peers=beside)

    def mps(self, card: CardInfo, data_dir: Path | None) -> Mps | str:
        return self._stage.mps(card, data_dir)

    def close(self) -> None:
        self._stage.close()


def rehearse(
    spec: Experiment, card: CardInfo, memory_cap_bytes: int | None, beside: Sequence[CardInfo] = ()
) -> Rehearsed:
    """The steps of ``spec`` on ``card`` as its model would take them, and what it would say.

    The user's own training is not run: a built-in one takes its place. ``beside``: further cards that it may use.
    """
    asked = spec
    if isinstance(spec, Health):
        spec = played(spec)
    elif isinstance(spec, Contend | Power):
        spec = spec.rehearsed(STAND_IN_TRAINING)
    elif isinstance(spec, Cooling) and spec.recipe:
        spec = replace(spec, load=STAND_IN_TRAINING)
    elif own_recipe(spec) and is_dataclass(spec):
        spec = cast(Experiment, replace(spec, recipe="", workload=STAND_IN_TRAINING))
    cards = (card, *beside)
    catalog = processor_catalog(card) if card.is_cpu else load()

    def open_stage() -> _Rehearsal:
        players = [_player(each, catalog.ids) for each in cards]
        return _Rehearsal(stages.simulated_stage(players, Rates(), 0, stages.host_of(Path.cwd()), catalog), cards)

    engine = Engine(open_stage, None, None, KNOWLEDGE)
    others = tuple(each.uuid for each in beside)
    options = Options(cards=(card.uuid,), share=True, memory_cap_bytes=memory_cap_bytes, beside=others)
    steps: list[PlannedStep] = []
    warned: list[Warned] = []
    started_ns = 0
    for event in engine.start(spec, options):
        match event:
            case StepStarted():
                started_ns = event.t_ns
                steps.append(PlannedStep(label=event.label, params=event.params, expected_s=event.expected_s))
            case StepFinished():
                steps[-1] = replace(steps[-1], expected_s=round((event.t_ns - started_ns) / 1e9, 1))
            case Warned() if event.code in LEFT_OUT:
                warned.append(event)
            case _:
                pass
    told = by_stages(asked, steps) if isinstance(asked, Health) else tuple(steps)
    return Rehearsed(steps=told, warned=tuple(warned))


def _player(card: CardInfo, known: Sequence[str]) -> str:
    """The model that plays ``card``."""
    wanted = PROCESSOR if card.is_cpu else card.catalog.catalog_id if card.catalog else None
    return str(wanted) if wanted in known else STAND_IN
