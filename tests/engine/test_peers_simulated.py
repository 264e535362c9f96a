"""Work on two simulated cards: the further one carries the load too, is watched for safety, and tells what it did."""

from collections.abc import Callable

import pytest

from gputuner.language.errors import error
from gputuner.model.events import Event, Outcome, PointMeasured, RunFinished, StepFinished
from gputuner.model.points import Point
from gputuner.model.samples import ProcessOnCard
from gputuner.model.steps import Done, Plan, Report, Settle, Work
from tests.engine.rig import Fault, Scripted, Simulated

SERVER = "h200-sxm"
Start = Callable[..., Simulated]
STRANGER = ProcessOnCard(pid=7, name="python", user=None, command="train.py", memory_bytes=2**30)
POINT = Point(id="p", card="c", metric="m", workload="w", params={}, value=1.0, unit="1")


def work(found: Simulated, *, peers: bool = True, seconds: float = 60.0, copy: bool = False) -> Work:
    """A product, which heats the core, or a copy, which heats the memory more: on the first card, or on all."""
    others = tuple(card.uuid for card in found.cards.models[1:]) if peers else ()
    return Work(
        label="copy" if copy else "matmul",
        workload="copy" if copy else "matmul",
        params={"bytes": 2**30} if copy else {"precision": "bf16", "n": 8192},
        measure_s=seconds,
        budget_s=2 * seconds,
        peers=others,
    )


def run(found: Simulated, step: Work, **limits: float) -> list[Event]:
    def make() -> Plan:
        yield Report(points=(POINT,))
        yield step

    return found.run(Scripted(make=make), **limits)


def finished(events: list[Event]) -> RunFinished:
    last = events[-1]
    assert isinstance(last, RunFinished)
    return last


@pytest.mark.parametrize(
    ("fault", "trigger", "card"),
    [
        ((20.0, "overheat", {"card": 1, "air_c": 95}), "core_hot", "rtx-4090-48g"),
        ((20.0, "overheat", {"card": 1, "air_c": 66}), "memory_hot", SERVER),
        ((20.0, "xid", {"card": 1, "xid": 48}), "xid", SERVER),
        ((20.0, "lost", {"card": 1}), "card_lost", SERVER),
        ((40.0, "fan_stopped", {"card": 1}), "fan_stopped", "rtx-4090-48g"),
        ((20.0, "power_glitch", {"card": 1, "power_w": 600, "duration_s": 10}), "power_above_limit", "rtx-4090-48g"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_danger_on_the_further_card_stops_the_trial(simulated: Start, fault: Fault, trigger: str, card: str):
    found = simulated(fault, card=card, count=2)
    events = run(found, work(found, seconds=300.0, copy=trigger == "memory_hot"))
    last = finished(events)
    assert (last.error_code, last.outcome) == (f"safety_{trigger}", Outcome.STOPPED_FOR_SAFETY)
    peer = found.cards.models[1]
    assert (last.error_params["card"], last.error_params["card_index"]) == (peer.info.title, 1)
    assert [e.result for e in events if isinstance(e, StepFinished)] == ["stopped"]
    assert [e.point for e in found.stores[0].events if isinstance(e, PointMeasured)] == [POINT]
    assert found.stores[0].closed
    for model in found.cards.models:
        assert model.physics.loads == {}, "the load is off"
        assert model.memory_bytes()[0] == 0, "no worker is left"
    sentence = error(f"safety_{trigger}", last.error_params)
    assert sentence.startswith("Stopped")
    assert f"[1] {peer.info.title}" in sentence


@pytest.mark.parametrize(
    "fault", [(10.0, "overheat", {"card": 1, "air_c": 95}), (10.0, "xid", {"card": 1, "xid": 48})], ids=["hot", "xid"]
)
def test_a_card_on_which_nothing_of_ours_runs_stops_nothing(simulated: Start, fault: Fault):
    found = simulated(fault, count=2)
    last = finished(run(found, work(found, peers=False)))
    assert last.outcome is Outcome.COMPLETED
    assert last.error_params == {}


def test_the_own_card_stops_a_trial_on_two_without_a_further_one_being_named(simulated: Start):
    found = simulated((20.0, "overheat", {"card": 0, "air_c": 95}), count=2)
    last = finished(run(found, work(found)))
    assert last.error_code == "safety_core_hot"
    assert "card" not in last.error_params
    assert "[" not in error("safety_core_hot", last.error_params)


def test_the_users_limit_holds_for_the_further_card(simulated: Start):
    found = simulated((20.0, "overheat", {"card": 1, "air_c": 95}), count=2)
    last = finished(run(found, work(found), core_max_c=72.0))
    assert last.error_code == "safety_core_user_limit"
    assert last.error_params["card_index"] == 1
    assert 72.0 <= float(last.error_params["value"]) < 76.0


def outcomes(found: Simulated, *steps: Work | Settle | Callable[[], None]) -> list[Done]:
    """What the steps of one run gave; something to call is called between two."""
    gave: list[Done] = []

    def make() -> Plan:
        for step in steps:
            if isinstance(step, (Work, Settle)):
                result = yield step
                assert isinstance(result, Done)
                gave.append(result)
            else:
                step()

    assert finished(found.run(Scripted(make=make))).outcome is Outcome.COMPLETED
    return gave


def test_the_further_card_tells_how_it_ran(simulated: Start):
    found = simulated(card=SERVER, count=3)
    (both,) = outcomes(found, work(found))
    own = both.conditions
    assert own is not None
    assert [peer.card.uuid for peer in both.peers] == [card.uuid for card in found.cards.models[1:]]
    for peer in both.peers:
        assert peer.shared is False
        assert peer.conditions.samples == own.samples > 100
        assert peer.conditions.sm_clock_mhz == pytest.approx(own.sm_clock_mhz, rel=0.05)
        assert peer.conditions.power_w == pytest.approx(own.power_w, rel=0.05)
        start_c, end_c = peer.conditions.core_temperature_start_c, peer.conditions.core_temperature_end_c
        assert peer.core_temperature_max_c is not None
        assert start_c is not None
        assert end_c is not None
        assert peer.core_temperature_max_c >= max(start_c, end_c) > 45.0


def test_a_work_of_one_card_has_no_peers(simulated: Start):
    found = simulated(count=2)
    alone, both, after = outcomes(found, *(work(found, peers=peers, seconds=3.0) for peers in (False, True, False)))
    assert [len(done.peers) for done in (alone, both, after)] == [0, 1, 0]


def test_another_process_on_the_further_card_is_told(simulated: Start):
    found = simulated(count=2)
    peer = found.cards.models[1]
    used = work(found, seconds=12.0)
    rest = Settle(label="settle", at_most_s=12.0)
    alone, with_stranger, _, after = outcomes(
        found,
        used,
        lambda: peer.set_process("stranger", STRANGER),
        used,
        lambda: peer.set_process("stranger", None),
        rest,
        used,
    )
    assert [done.peers[0].shared for done in (alone, with_stranger, after)] == [False, True, False]


def test_another_process_on_the_own_card_is_no_matter_of_the_further_one(simulated: Start):
    found = simulated(count=2)
    own = found.cards.models[0]
    used = work(found, seconds=12.0)
    _, done = outcomes(found, used, lambda: own.set_process("stranger", STRANGER), used)
    assert done.peers[0].shared is False
