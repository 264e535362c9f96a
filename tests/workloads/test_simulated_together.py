"""Further simulated cards do what the first one does, from the trial's first load to the worker's end."""

import pytest

from gputuner.devices.simulated import SimulatedCards, SimulatedClock
from gputuner.workloads.simulated import SimulatedWorker
from gputuner.workloads.simulated_together import SimulatedTogether

S = 10**9
TRIAL = {
    "kind": "trial", "id": "t1", "workload": "peer_transfer", "params": {"sizes": "1048576 268435456"},
    "measure_s": 3.0, "budget_s": 30.0, "warmup_s": None, "seed": 0,
}  # fmt: skip


class Bench:
    """A worker on the first two of three cards, lived through event by event."""

    def __init__(self):
        self.clock = SimulatedClock()
        self.cards = SimulatedCards(["rtx-4090"] * 3, self.clock, seed=1)
        self.own, self.peer, self.third = self.cards.models
        alone = SimulatedWorker(self.own, 1, "w1")
        self.worker = SimulatedTogether(alone, "w1", self.own, [self.peer])
        self.loads = []

    def run(self):
        said = []
        while (t_ns := self.worker.next_event_ns()) is not None:
            self.clock.advance_to_ns(t_ns)
            said += [message for _, message in self.worker.step(t_ns)]
            self.loads.append([card.physics.loads.get("w1") for card in self.cards.models])
        return said


@pytest.fixture
def bench():
    found = Bench()
    found.run()
    return found


def test_the_load_is_on_both_cards_and_on_no_third(bench):
    bench.worker.request(TRIAL)
    said = bench.run()
    result = next(message for message in said if message["kind"] == "result")
    assert [part["params"]["direction"] for part in result["parts"]] == ["to_peer", "from_peer", "both"] * 2
    assert {own == peer for own, peer, _ in bench.loads} == {True}
    assert len({peer for _, peer, _ in bench.loads if peer}) >= 4, "each setting has a load of its own"
    assert {third for *_, third in bench.loads} == {None}
    assert bench.loads[-1] == [None] * 3


def test_the_worker_stands_in_both_process_tables_until_it_ends(bench):
    def pids():
        now_ns = bench.clock.now_ns()
        return [[p.pid for p in bench.cards.processes(card.uuid, now_ns).processes] for card in bench.cards.models]

    assert pids() == [[], [], []]
    bench.worker.request(TRIAL)
    bench.run()
    own, peer, third = pids()
    assert (len(own), third) == (1, [])
    assert peer == own
    bench.worker.request({"kind": "exit"})
    assert pids() == [[], [], []]
    assert bench.peer.memory_bytes()[0] == 0


def test_the_further_card_is_loaded_at_the_same_time(bench):
    started_ns = bench.clock.now_ns()
    bench.worker.request(TRIAL)
    bench.run()
    assert bench.peer.now_ns == pytest.approx(bench.own.now_ns, abs=S)
    assert bench.peer.iterations("w1") == pytest.approx(bench.own.iterations("w1"), rel=0.02)
    assert bench.own.iterations("w1") > (bench.own.now_ns - started_ns) / S
