"""Further cards of a step: seen by its worker, admitted as idle, locked meanwhile; a copy that hangs is ended."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gputuner.engine import trials
from gputuner.engine.engine import Engine
from gputuner.engine.locks import CardLock
from gputuner.engine.options import Options
from gputuner.engine.peers import Peers
from gputuner.engine.stage import WallStage
from gputuner.model.cards import CardState
from gputuner.model.errors import CardBusy, NoCard
from gputuner.model.events import Event, WorkerExited
from gputuner.model.fingerprint import HostFingerprint
from gputuner.model.samples import CardProcesses, ProcessOnCard
from gputuner.model.steps import Done, Lost, Plan, StepResult, UserCodeFailed, Work
from gputuner.workloads.launch import with_peers, worker_environment
from tests.engine.rig import CARD, SCRIPT, HandFeed, MemoryStore, Scripted

OTHER, THIRD = (replace(CARD, uuid=f"GPU-{name}", index=n) for n, name in ((1, "other"), (2, "third")))
STRANGER = ProcessOnCard(pid=7, name="python", user=None, command="train.py", memory_bytes=1)
SPY = """
import os, runpy, sys
with open(sys.argv[1], "a") as file:
    print(os.environ["CUDA_VISIBLE_DEVICES"], file=file)
sys.argv = sys.argv[2:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def users(card, *processes):
    return CardProcesses(card=card.uuid, t_ns=0, processes=processes)


class TwoMore(HandFeed):
    def __init__(self) -> None:
        super().__init__()
        self.users |= {card.uuid: users(card) for card in (OTHER, THIRD)}

    def cards(self):
        return (CARD, OTHER, THIRD)


def work(*peers: str, behaviour: str = "ok", budget_s: float = 5.0) -> Work:
    return Work(
        label="trial", workload="scripted", params={"behaviour": behaviour}, measure_s=0.1, budget_s=budget_s,
        peers=peers,
    )  # fmt: skip


def perform(folder: Path, steps: list[Work], feed: HandFeed | None = None):
    """What each worker could see in the order started, events, outcomes, and which cards were locked at each step."""
    fed, seen, locked = feed or TwoMore(), list[StepResult](), list[set[str]]()
    spied = folder / "seen.txt"

    def stage() -> WallStage:
        return WallStage(
            fed,
            host=lambda: HostFingerprint(readings={}),
            command=lambda card, cap: [sys.executable, "-c", SPY, str(spied), str(SCRIPT)],
            environment=lambda card, probe: worker_environment(card.uuid, {}),
            sampling_hz=2.0,
        )

    def plan() -> Plan:
        for step in steps:
            seen.append((yield step))
            locked.append({card.uuid for card in (OTHER, THIRD) if is_locked(folder, card.uuid)})

    engine = Engine(stage, lambda run_id: MemoryStore(folder / run_id), folder)
    events: list[Event] = list(engine.start(Scripted(make=plan), Options(cards=(CARD.uuid,))))
    return spied.read_text().split(), events, seen, locked


def is_locked(folder: Path, uuid: str) -> bool:
    try:
        CardLock(folder, uuid).release()
    except CardBusy:
        return True
    return False


def test_further_cards_stand_behind_the_own_one():
    own = worker_environment("GPU-1", {"HOME": "/home/anna"})
    assert with_peers(own, ("GPU-2", "GPU-3"))["CUDA_VISIBLE_DEVICES"] == "GPU-1,GPU-2,GPU-3"
    assert with_peers(own, ()) == own


def test_the_worker_sees_its_peers_and_the_next_one_does_not(tmp_path):
    steps = [work(), work(OTHER.uuid), work(OTHER.uuid), work(OTHER.uuid, THIRD.uuid), work()]
    visible, events, seen, locked = perform(tmp_path, steps)
    assert all(isinstance(result, Done) for result in seen)
    both = f"{CARD.uuid},{OTHER.uuid}"
    assert visible == [CARD.uuid, both, f"{both},{THIRD.uuid}"]
    assert locked == [set(), {OTHER.uuid}, {OTHER.uuid}, {OTHER.uuid, THIRD.uuid}, set()]
    assert [e.why for e in events if isinstance(e, WorkerExited)] == ["finished"] * 3


def test_cards_are_let_go_when_the_run_ends(tmp_path):
    _, _, _, locked = perform(tmp_path, [work(OTHER.uuid)])
    assert locked == [{OTHER.uuid}]
    assert not is_locked(tmp_path, OTHER.uuid)


def test_a_card_in_use_is_not_taken(tmp_path):
    feed = TwoMore()
    feed.users[OTHER.uuid] = users(OTHER, STRANGER)
    visible, _, (refused, after), locked = perform(tmp_path, [work(OTHER.uuid), work()], feed)
    assert isinstance(refused, UserCodeFailed)
    assert refused.reason == "peer_busy"
    assert isinstance(after, Done)
    assert visible == [CARD.uuid]
    assert locked == [set(), set()]


def test_a_card_of_another_gputuner_is_not_taken(tmp_path):
    lock = CardLock(tmp_path, OTHER.uuid)
    _, _, (refused,), _ = perform(tmp_path, [work(OTHER.uuid)])
    lock.release()
    assert isinstance(refused, UserCodeFailed)
    assert refused.reason == "peer_busy"


def test_a_copy_that_hangs_is_ended_by_the_engine(tmp_path, monkeypatch):
    monkeypatch.setattr(trials, "OVERRUN", -0.9)  # half a second for a budget of five, instead of fifteen
    visible, events, (hung, after), locked = perform(tmp_path, [work(OTHER.uuid, behaviour="busy"), work()])
    assert isinstance(hung, Lost)
    assert hung.hung is True
    assert isinstance(after, Done)
    assert next(e.why for e in events if isinstance(e, WorkerExited)) == "killed"
    assert len(visible) == 2
    assert locked[-1] == set()


def test_the_users_of_a_card_that_is_held_are_not_asked_again():
    present = {OTHER.uuid: users(OTHER), THIRD.uuid: users(THIRD)}
    peers = Peers(lambda: (CARD, OTHER, THIRD), present.get, None)
    assert peers.admit((OTHER.uuid,)) == (OTHER,)
    present[OTHER.uuid] = users(OTHER, STRANGER)  # our own worker shows up
    assert peers.admit((OTHER.uuid, THIRD.uuid)) == (OTHER, THIRD)
    peers.keep((THIRD.uuid,))
    with pytest.raises(CardBusy):
        peers.admit((OTHER.uuid,))


@pytest.mark.parametrize(
    ("cards", "error"), [((CARD,), NoCard), ((CARD, replace(OTHER, state=CardState.LOST)), CardBusy)]
)
def test_a_card_that_is_not_there_or_lost_is_not_taken(cards, error):
    with pytest.raises(error):
        Peers(lambda: cards, lambda _: None, None).admit((OTHER.uuid,))
