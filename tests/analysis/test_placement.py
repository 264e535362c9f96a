"""Who starts where: cases from users, order and passing, and that no decision ever gives memory away twice."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from gputuner.analysis.placement import Candidate, Limits, Line, decide, never_fits
from gputuner.analysis.placement_pairs import Pairs
from gputuner.analysis.placement_room import Resident, Room, margin_bytes
from gputuner.model.jobs import MemoryHolder, Needs

GIB = 2**30
MIB = 2**20


def room(index=0, total=24 * GIB, free=None, residents=(), **more):
    used = sum(each.used_bytes or 0 for each in residents) + more.get("others_bytes", 0)
    return Room(
        uuid=f"GPU-{index}",
        title=f"card {index}",
        index=index,
        total_bytes=total,
        free_bytes=total - used if free is None else free,
        residents=tuple(residents),
        **more,
    )


def job(number, gib=4.0, **needs):
    memory = None if gib is None else int(gib * GIB)
    array = needs.pop("array_id", None)
    return Candidate(id=number, needs=Needs(memory_bytes=memory, **{"share": True, **needs}), array_id=array)


def where(decision):
    return {placement.job: placement.cards for placement in decision.placements}


def test_c071_the_holder_that_idles_is_named_and_others_may_pass():
    holder = MemoryHolder(pid=5120, name="python", memory_bytes=11012 * MIB, idle_s=7200.0)
    full = room(total=11200 * MIB, free=180 * MIB, holders=(holder,), others_bytes=11012 * MIB)
    found = decide(Line([job(1, 6000 / 1024), job(2, 0.0)]), [full])
    assert not found.placements
    reason = found.reasons[1]
    assert reason.code == "memory"
    assert reason.params["holder"] == "python"
    assert reason.params["pid"] == 5120
    assert reason.params["holder_bytes"] == 11012 * MIB
    assert reason.params["idle_s"] == 7200.0
    empty = room(index=1, total=11200 * MIB)
    assert where(decide(Line([job(1, 6000 / 1024)]), [full, empty])) == {1: ("GPU-1",)}


def test_c073_never_fits_is_told_and_a_pinned_job_waits_with_what_others_hold():
    cards = [room(0, 49140 * MIB), room(1, 49140 * MIB, others_bytes=18432 * MIB)]
    refused = never_fits(Needs(memory_bytes=83968 * MIB), cards)
    assert refused is not None
    assert refused.code == "never_memory"
    needs = Needs(memory_bytes=40960 * MIB, pinned=("GPU-1",))
    assert never_fits(needs, cards) is None
    found = decide(Line([Candidate(id=2, needs=needs)]), cards)
    assert not found.placements
    params = found.reasons[2].params
    assert params["others_bytes"] == 18432 * MIB
    assert params["free_bytes"] <= (49140 - 18432) * MIB
    assert params["index"] == 1
    free_again = [cards[0], room(1, 49140 * MIB)]
    assert where(decide(Line([Candidate(id=2, needs=needs)]), free_again)) == {2: ("GPU-1",)}


def test_never_enough_cards():
    assert never_fits(Needs(memory_bytes=1, cards=3), [room(0), room(1)]).code == "never_cards"
    assert never_fits(Needs(cards=2), [room(0), room(1)]) is None


def test_memory_promised_but_not_allocated_yet_is_not_given_again():
    young = Resident(job=9, reserved_bytes=16 * GIB, used_bytes=2 * GIB, share=True)
    found = decide(Line([job(1, 8.0)]), [room(residents=(young,))])
    assert found.reasons[1].code == "memory"
    assert found.reasons[1].params["kept_bytes"] == 14 * GIB


def test_a_pair_is_put_together_only_within_the_limit():
    resident = Resident(job=9, label="edsr", reserved_bytes=4 * GIB, used_bytes=4 * GIB)
    card = room(residents=(resident,))
    pairs = {
        "GPU-0": Pairs(mixes={("bert", "edsr"): {"bert": 1.2, "edsr": 1.4}, ("edsr", "llm"): {"edsr": 1.1, "llm": 2.2}})
    }
    line = Line([job(1, label="bert", share=False)])
    assert where(decide(line, [card], pairs)) == {1: ("GPU-0",)}
    found = decide(Line([job(2, label="llm", share=False)]), [card], pairs)
    assert found.reasons[2].code == "beside_slow"
    assert found.reasons[2].params["slowdown"] == 2.2
    assert where(decide(Line([job(2, label="llm")]), [card], pairs, Limits(slowdown=2.5))) == {2: ("GPU-0",)}


def test_an_unknown_pair_stays_apart_unless_both_may_share():
    card = room(residents=(Resident(job=9, reserved_bytes=GIB, used_bytes=GIB, share=False),))
    assert decide(Line([job(1)]), [card]).reasons[1].code == "beside_unknown"
    assert where(decide(Line([job(1)]), [card], None, Limits(share=True))) == {1: ("GPU-0",)}


def test_three_together_are_judged_by_the_measured_mix_else_by_its_pairs():
    mixes = {("a", "a"): {"a": 1.2}}
    pairs = Pairs(mixes=mixes)
    assert abs(pairs.worst(["a", "a", "a"]) - 1.44) < 1e-9
    assert Pairs(mixes={**mixes, ("a", "a", "a"): {"a": 1.7}}).worst(["a", "a", "a"]) == 1.7
    assert pairs.worst(["a", "b"]) is None
    assert pairs.worst(["a"]) == 1.0


def test_an_unknown_need_gets_a_card_to_itself():
    found = decide(Line([job(1, None), job(2, 1.0)]), [room(0), room(1)])
    assert sorted(where(found).values()) == [("GPU-0",), ("GPU-1",)]
    assert (
        decide(Line([job(1, None)]), [room(residents=(Resident(job=7, reserved_bytes=GIB),))]).reasons[1].code
        == "card_taken"
    )


def test_a_later_job_does_not_starve_the_first_but_passes_where_it_leaves_room():
    running = Resident(job=9, reserved_bytes=16 * GIB, used_bytes=16 * GIB, share=True, ends_in_s=600.0)
    card = room(residents=(running,))
    found = decide(Line([job(1, 20.0), job(2, 5.0), job(3, 1.0)]), [card])
    assert where(found) == {3: ("GPU-0",)}
    assert found.reasons[1].code == "memory"
    assert found.reasons[2].code == "behind"
    short = decide(Line([job(1, 20.0), job(2, 5.0, minutes=5.0)]), [card])
    assert where(short) == {2: ("GPU-0",)}
    long = decide(Line([job(1, 20.0), job(2, 5.0, minutes=50.0)]), [card])
    assert where(long) == {}


def test_who_waits_for_somebody_elses_memory_keeps_nothing():
    held = room(others_bytes=20 * GIB)
    assert where(decide(Line([job(1, 10.0), job(2, 2.0)]), [held])) == {2: ("GPU-0",)}


def test_an_array_is_balanced_over_the_cards():
    found = decide(Line([job(n, 4.0, array_id=1) for n in range(1, 9)]), [room(n) for n in range(4)])
    counts = [sum(cards == (f"GPU-{n}",) for cards in where(found).values()) for n in range(4)]
    assert counts == [2, 2, 2, 2]


def test_several_cards_at_a_time_and_no_half_of_them():
    busy = room(1, residents=(Resident(job=9, reserved_bytes=None, used_bytes=GIB),))
    assert where(decide(Line([job(1, 2.0, cards=2)]), [room(0), busy])) == {}
    assert len(where(decide(Line([job(1, 2.0, cards=2)]), [room(0), busy, room(2)]))[1]) == 2


def test_heat_and_power_leave_room_first():
    hot = room(temperature_c=85.0, start_below_c=83.0)
    assert decide(Line([job(1)]), [hot]).reasons[1].code == "heat"
    resident = Resident(job=9, reserved_bytes=GIB, used_bytes=GIB, share=True)
    drawing = room(residents=(resident,), power_w=445.0, power_limit_w=450.0)
    assert decide(Line([job(1)]), [drawing]).reasons[1].code == "power"
    assert where(decide(Line([job(1)]), [replace(drawing, residents=())])) == {1: ("GPU-0",)}


def test_slots_of_the_processor():
    cpu = Room(uuid="cpu", title="cpu", index=0, total_bytes=16 * GIB, free_bytes=12 * GIB, slots=2)
    found = decide(Line([job(1, None), job(2, None), job(3, None)]), [cpu])
    assert list(where(found)) == [1, 2]
    assert found.reasons[3].code == "slots"


NEEDS = st.builds(
    Needs,
    memory_bytes=st.one_of(st.none(), st.integers(0, 30).map(lambda gib: gib * GIB)),
    cards=st.integers(1, 2),
    minutes=st.one_of(st.none(), st.sampled_from([1.0, 60.0])),
    alone=st.booleans(),
    share=st.booleans(),
    pinned=st.sampled_from([(), (), ("GPU-0",), ("GPU-1", "GPU-2")]),
    label=st.sampled_from(["a", "b", "c"]),
)
PAIRS = Pairs(mixes={("a", "a"): {"a": 1.2}, ("a", "b"): {"a": 1.4, "b": 2.0}})


@st.composite
def rooms(draw):
    found = []
    for index in range(draw(st.integers(1, 3))):
        total = draw(st.sampled_from([8, 24, 48])) * GIB
        left = total
        residents = []
        for number in range(draw(st.integers(0, 2))):
            kept = draw(st.integers(0, left // GIB)) * GIB
            left -= kept
            used = draw(st.one_of(st.none(), st.integers(0, kept // GIB).map(lambda gib: gib * GIB)))
            label, share = draw(st.sampled_from("abc")), draw(st.booleans())
            residents.append(
                Resident(job=1000 + 10 * index + number, label=label, reserved_bytes=kept, used_bytes=used, share=share)
            )
        others = draw(st.integers(0, left // GIB)) * GIB
        free = total - others - sum(each.used_bytes or 0 for each in residents)
        found.append(room(index, total, free, residents, others_bytes=others))
    return found


@settings(max_examples=300, deadline=None)
@given(cards=rooms(), asked=st.lists(NEEDS, max_size=8), share=st.booleans())
def test_no_decision_breaks_a_promise(cards, asked, share):
    candidates = [Candidate(id=number, needs=needs) for number, needs in enumerate(asked, 1)]
    found = decide(Line(candidates), cards, {card.uuid: PAIRS for card in cards}, Limits(share=share))
    needs = {candidate.id: candidate.needs for candidate in candidates}
    assert len(where(found)) == len(found.placements)
    assert set(where(found)) | set(found.reasons) == set(needs)
    assert not set(where(found)) & set(found.reasons)
    for card in cards:
        here = [each for each in found.placements if card.uuid in each.cards]
        if not here:
            continue
        kept = sum(each.held_bytes for each in card.residents) + sum(each.reserved_bytes or 0 for each in here)
        assert kept + card.others_bytes + margin_bytes(card.total_bytes) <= card.total_bytes or kept == 0
        together = len(card.residents) + len(here)
        for placement in here:
            own = needs[placement.job]
            assert not own.pinned or card.uuid in own.pinned
            assert together == 1 or not (own.alone or own.memory_bytes is None)
        if together > 1:
            labels = [each.label for each in card.residents] + [needs[each.job].label for each in here]
            worst = PAIRS.worst(labels)
            may = share or all([*(each.share for each in card.residents), *(needs[each.job].share for each in here)])
            assert may if worst is None else worst <= 1.5
    for placement in found.placements:
        assert len(set(placement.cards)) == needs[placement.job].cards


@settings(max_examples=150, deadline=None)
@given(asked=st.lists(NEEDS, min_size=1, max_size=6))
def test_on_empty_cards_whoever_can_run_at_all_and_is_first_starts(asked):
    cards = [room(index) for index in range(3)]
    candidates = [Candidate(id=number, needs=needs) for number, needs in enumerate(asked, 1)]
    possible = [each for each in candidates if never_fits(each.needs, cards) is None]
    found = decide(Line(candidates), cards)
    assert not possible or possible[0].id in where(found)


@settings(max_examples=150, deadline=None)
@given(cards=rooms(), asked=st.lists(NEEDS, max_size=10))
def test_knowing_what_is_alike_changes_no_decision(cards, asked):
    candidates = [Candidate(id=number, needs=needs) for number, needs in enumerate([*asked, *asked], 1)]
    told_apart = [replace(each, needs=replace(each.needs, label=f"{each.needs.label}{each.id}")) for each in candidates]
    assert where(decide(Line(candidates), cards)) == where(decide(Line(told_apart), cards))


def test_reasons_about_slots_say_that_they_are_of_the_processor():
    slots = room(slots=1, residents=[Resident(job=7, reserved_bytes=GIB)])
    for wanted, code in ((job(1, 1.0), "slots"), (job(1, 1.0, alone=True), "slots")):
        reason = decide(Line([wanted]), [slots]).reasons[1]
        assert (reason.code, reason.params["cpu"]) == (code, True)
    two = room(slots=2, residents=[Resident(job=7, reserved_bytes=GIB)])
    reason = decide(Line([job(1, 1.0, alone=True)]), [two]).reasons[1]
    assert (reason.code, reason.params["cpu"]) == ("card_taken", True)
    refused = never_fits(Needs(memory_bytes=900 * GIB), [slots])
    assert refused is not None
    assert refused.params["cpu"] is True
    assert "cpu" not in room().names
