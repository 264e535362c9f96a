"""Kinds of workers on one card: on the processor memory and rates are asked of different ones, never both at once."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gputuner.engine.engine import Engine
from gputuner.engine.options import Options
from gputuner.engine.stage import WallStage
from gputuner.model.cards import CPU_CARD, CardInfo
from gputuner.model.events import Event, Outcome, RunFinished, StepStarted, WorkerExited
from gputuner.model.fingerprint import HostFingerprint
from gputuner.model.samples import CardProcesses
from gputuner.model.steps import Done, OutOfMemory, Plan, StepResult, Together, Work
from tests.engine.rig import CARD, SCRIPT, HandFeed, MemoryStore, Scripted

PROCESSOR = CardInfo(uuid=CPU_CARD, index=0, name="Test processor", memory_total_bytes=16 * 2**30)


class OneCard(HandFeed):
    def __init__(self, card: CardInfo) -> None:
        super().__init__()
        self.card = card
        self.users = {card.uuid: CardProcesses(card=card.uuid, t_ns=0, processes=())}

    def cards(self) -> tuple[CardInfo, ...]:
        return (self.card,)


def work(probe: bool, behaviour: str = "ok", **params: int) -> Work:
    size = "batch" if params else None
    return Work(
        label="trial", workload="scripted", params={"behaviour": behaviour, **params}, measure_s=0.1, budget_s=1.0,
        memory_probe=probe, size_param=size,
    )  # fmt: skip


def perform(
    folder: Path, card: CardInfo, steps: list[Work | Together]
) -> tuple[list[str], list[Event], list[StepResult]]:
    """Kinds of the workers in the order started, what the run told, and the outcome of each step."""
    kinds: list[str] = []
    seen: list[StepResult] = []

    def environment(card: CardInfo, probe: bool) -> dict[str, str]:
        kinds.append("memory" if probe else "rate")
        return {}

    def plan() -> Plan:
        for step in steps:
            seen.append((yield step))  # noqa: PERF401  a comprehension cannot yield

    def stage() -> WallStage:
        host = HostFingerprint(readings={})
        return WallStage(OneCard(card), lambda: host, lambda card, cap: [sys.executable, str(SCRIPT)], environment, 2.0)

    engine = Engine(stage, lambda run_id: MemoryStore(folder / run_id), folder)
    events = list(engine.start(Scripted(make=plan), Options(cards=(card.uuid,))))
    assert isinstance(events[-1], RunFinished)
    assert events[-1].outcome is Outcome.COMPLETED
    return kinds, events, seen


def pids(results: list[StepResult]) -> list[int]:
    return [int(trial.notes["pid"]) for result in results if isinstance(result, Done) for trial in result.trials]


def test_the_processor_has_one_kind_of_worker_at_a_time(tmp_path: Path):
    kinds, events, seen = perform(tmp_path, PROCESSOR, [work(False), work(True), work(True), work(False)])
    assert kinds == ["rate", "memory", "rate"]
    first, second, third, fourth = pids(seen)
    assert second == third
    assert len({first, second, fourth}) == 3
    told = [type(e) for e in events if isinstance(e, StepStarted | WorkerExited)]
    assert told == [StepStarted, StepStarted, WorkerExited, StepStarted, StepStarted, WorkerExited, WorkerExited]
    assert [e.why for e in events if isinstance(e, WorkerExited)] == ["finished"] * 3


def test_two_at_once_give_way_to_one_memory_probe(tmp_path: Path):
    pair = Together(label="pair", works=(work(False), work(False)))
    kinds, _events, seen = perform(tmp_path, PROCESSOR, [pair, work(True)])
    assert kinds == ["rate", "rate", "memory"]
    assert len(set(pids(seen))) == 3


def test_half_of_a_crashed_size_is_tried_in_the_same_kind(tmp_path: Path):
    crash = work(True, "crash_above", batch=64, works_to=40)
    kinds, _events, seen = perform(tmp_path, PROCESSOR, [crash])
    assert kinds == ["rate", "memory", "memory"]
    assert isinstance(seen[0], OutOfMemory)
    assert seen[0].size_limit


@pytest.mark.parametrize("card", [CARD, replace(CARD, uuid="MIG-1")])
def test_a_card_has_one_kind(tmp_path: Path, card: CardInfo):
    kinds, _events, seen = perform(tmp_path, card, [work(False), work(True), work(False)])
    assert kinds == ["rate"]
    assert len(set(pids(seen))) == 1


def test_variables_of_its_own_need_a_process_of_their_own(tmp_path: Path):
    grown = replace(work(False), environment=(("GPUTUNER_TEST_VARIABLE", "grown"),))
    _kinds, _events, seen = perform(tmp_path, CARD, [work(False), grown, grown, work(False)])
    first, second, third, fourth = pids(seen)
    assert second == third
    assert len({first, second, fourth}) == 3
    notes = [trial.notes.get("variable") for result in seen if isinstance(result, Done) for trial in result.trials]
    assert notes == ["", "grown", "grown", ""]
