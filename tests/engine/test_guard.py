"""Further cards are judged like the run's own, for as long as they are followed, and the stop says which card."""

from dataclasses import replace

import pytest

from gputuner.engine.guard import Guard
from gputuner.engine.safety import SILENCE_S, SafetyLimits, SafetyWatch
from gputuner.model.cards import CardState
from gputuner.model.quantities import Quantity as Q
from gputuner.model.samples import CardProcesses, ProcessOnCard, Sample, XidSeen
from gputuner.telemetry.conditions import conditions
from gputuner.telemetry.feed import Tick
from tests.engine.rig import CARD

OTHER, THIRD = (replace(CARD, uuid=f"GPU-{name}", index=n) for n, name in ((1, "other"), (2, "third")))
S = 10**9
OURS, STRANGER = 4711, 7


def sample(card, t_s, **values):
    return Sample(card=card.uuid, t_ns=int(t_s * S), values={Q(name): value for name, value in values.items()})


def tick(t_s, cool=(CARD,), **values):
    """All of ``cool`` at 50 °C, the further card as told."""
    told = [sample(card, t_s, core_temperature_c=50.0) for card in cool]
    return Tick(t_ns=int(t_s * S), samples=(*told, *([sample(OTHER, t_s, **values)] if values else [])))


def table(card, *pids, t_s=1.0):
    users = tuple(ProcessOnCard(pid=pid, name="x", user=None, command=None, memory_bytes=1) for pid in pids)
    return CardProcesses(card=card.uuid, t_ns=int(t_s * S), processes=users)


def guard(*followed, limits=None, loaded=True):
    found = Guard(SafetyWatch(CARD, limits or SafetyLimits()))
    found.work_starts()
    found.follow(followed)
    if loaded:
        found.load_starts(0)
    return found


@pytest.mark.parametrize(
    ("values", "trigger"),
    [
        ({"core_temperature_c": 88.0}, "core_hot"),
        ({"core_temperature_c": 60.0, "memory_temperature_c": 95.0}, "memory_hot"),
    ],
)
def test_heat_of_a_further_card_stops_and_says_which(values, trigger):
    stopped = guard(OTHER).check(tick(1, **values))
    assert stopped is not None
    assert (stopped.trigger, stopped.card) == (trigger, OTHER)
    assert guard().check(tick(1, **values)) is None, "a card on which nothing of ours runs"
    assert guard(THIRD).check(tick(1, cool=(CARD, THIRD), **values)) is None


def test_the_users_limit_is_one_for_all_cards():
    limits = SafetyLimits(core_max_c=70.0)
    assert guard(OTHER, limits=limits).check(tick(1, core_temperature_c=69.0)) is None
    stopped = guard(OTHER, limits=limits).check(tick(1, core_temperature_c=70.0))
    assert stopped is not None
    assert (stopped.trigger, stopped.limit, stopped.card) == ("core_user_limit", 70.0, OTHER)


def test_the_own_card_is_judged_as_before():
    hot = Tick(t_ns=S, samples=(sample(CARD, 1, core_temperature_c=88.0),))
    alone, beside = guard().check(hot), guard(OTHER).check(hot)
    assert alone is not None
    assert alone.card is None
    assert beside == alone


def test_what_lasts_is_counted_on_each_card_even_while_another_stops():
    found = guard(OTHER, THIRD)
    drawn = [
        Tick(t_ns=t * S, samples=tuple(sample(c, t, power_average_w=400.0) for c in (OTHER, THIRD))) for t in (1, 2, 3)
    ]
    assert [found.check(each) for each in drawn[:2]] == [None, None]
    stopped = found.check(drawn[2])
    assert stopped is not None
    assert (stopped.trigger, stopped.card) == ("power_above_limit", OTHER)
    found.follow((THIRD,))
    again = found.check(Tick(t_ns=4 * S, samples=(sample(THIRD, 4, power_average_w=400.0),)))
    assert again is not None
    assert again.card == THIRD


def test_a_further_card_that_tells_nothing_is_silence():
    found = guard(OTHER)
    assert found.check(tick(1, core_temperature_c=50.0)) is None
    assert found.check(tick(2)) is None, "the own card still answers"
    assert found.silence_deadline_ns() == int((1 + SILENCE_S) * S)
    assert found.check_silence(int((1 + SILENCE_S) * S) - 1) is None
    stopped = found.check_silence(int((1 + SILENCE_S) * S))
    assert stopped is not None
    assert (stopped.trigger, stopped.card) == ("telemetry_silent", OTHER)
    assert guard().check_silence(int(SILENCE_S * S)) is not None


@pytest.mark.parametrize(
    "danger",
    [
        Tick(t_ns=S, xids=(XidSeen(card=OTHER.uuid, t_ns=S, xid=48),)),
        Tick(t_ns=S, cards=(replace(OTHER, state=CardState.LOST, lost_since_ns=S),)),
    ],
    ids=["xid", "lost"],
)
def test_a_broken_card_stops_between_loads_too_but_not_once_it_is_let_go(danger):
    between = guard(OTHER, loaded=False)
    stopped = between.check(danger)
    assert stopped is not None
    assert stopped.card is not None
    assert stopped.card.uuid == OTHER.uuid
    over = guard(OTHER)
    over.load_ends()
    over.follow(())
    assert over.check(danger) is None


def test_heat_between_loads_is_no_matter():
    found = guard(OTHER)
    found.load_ends()
    assert found.check(tick(1, core_temperature_c=88.0)) is None
    assert found.silence_deadline_ns() is None


def shared(found, ours=frozenset({OURS}), workers=1):
    ((seen,),) = found.peers_seen(conditions, [(0, 10 * S)], set(ours), workers)
    return seen.shared


def test_a_process_that_is_not_ours_makes_the_card_shared():
    found = guard(OTHER)
    found.check(Tick(t_ns=S, processes=(table(CARD, OURS), table(OTHER, OURS))))
    assert shared(found) is False
    found.check(Tick(t_ns=2 * S, processes=(table(OTHER, OURS, STRANGER),)))
    assert shared(found) is True
    found.check(Tick(t_ns=3 * S, processes=(table(OTHER, OURS),)))
    assert shared(found) is True, "it was there during this load"
    found.load_starts(4 * S)
    assert shared(found) is False


def test_a_stranger_who_was_there_right_before_the_load_counts():
    found = guard(OTHER, loaded=False)
    found.check(Tick(t_ns=S, processes=(table(CARD, OURS), table(OTHER, STRANGER))))
    found.load_starts(2 * S)
    assert shared(found) is True


def test_users_of_the_own_card_and_of_others_are_not_those_of_the_further_card():
    found = guard(OTHER)
    found.check(Tick(t_ns=S, processes=(table(CARD, OURS, STRANGER), table(THIRD, STRANGER), table(OTHER, OURS))))
    assert shared(found) is False


def test_a_desktop_is_no_user():
    window = ProcessOnCard(pid=9, name="Xorg", user=None, command=None, memory_bytes=1, compute=False)
    found = guard(OTHER)
    found.check(Tick(t_ns=S, processes=(table(CARD, OURS), replace(table(OTHER), processes=(window,)))))
    assert shared(found) is False


def test_where_the_driver_numbers_processes_otherwise_one_for_each_worker_is_ours():
    found = guard(OTHER)
    found.check(Tick(t_ns=S, processes=(table(CARD, 90001), table(OTHER, 90001))))
    assert shared(found) is False
    found.check(Tick(t_ns=2 * S, processes=(table(OTHER, 90001, 90002),)))
    assert shared(found, workers=2) is False
    assert shared(found) is True


def test_each_window_has_what_the_card_did_in_it():
    found = guard(OTHER, THIRD)
    for t_s, core_c, clock_mhz in ((1, 50.0, 1500.0), (2, 61.0, 1400.0), (3, 60.0, 1300.0), (8, 80.0, 300.0)):
        seen = sample(OTHER, t_s, core_temperature_c=core_c, sm_clock_mhz=clock_mhz)
        found.check(Tick(t_ns=t_s * S, samples=(sample(CARD, t_s, core_temperature_c=70.0), seen)))
    windows = [(S, 3 * S), (2 * S, 3 * S), (3 * S + 1, 3 * S + 2)]
    whole, part, between = found.peers_seen(conditions, windows, {OURS}, 1)
    assert [peer.card for peer in whole] == [OTHER, THIRD]
    assert [each[0].core_temperature_max_c for each in (whole, part, between)] == [61.0, 61.0, 61.0]
    assert [each[0].conditions.sm_clock_mhz for each in (whole, part, between)] == [1400.0, 1350.0, 1400.0]
    assert (whole[1].conditions.samples, whole[1].core_temperature_max_c) == (0, None)


def test_a_run_on_one_card_has_no_further_ones():
    assert guard().peers_seen(conditions, [(0, S), (0, 1)], {OURS}, 1) == [(), ()]
