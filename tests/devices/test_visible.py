"""CUDA_VISIBLE_DEVICES by CUDA's own rules."""

from dataclasses import replace

import pytest

from gputuner.devices.visible import Visibility, visible
from gputuner.model.cards import CPU_CARD, CardInfo, CardState, MigInstance
from gputuner.model.errors import UsageError

A = CardInfo(uuid="GPU-00001000-aaaa-bbbb-cccc-000000005000", index=0, name="A")
B = CardInfo(uuid="GPU-00001111-aaaa-bbbb-cccc-000000005001", index=1, name="B")
CARDS = (A, B)


def shown(value: str | None, cards: tuple[CardInfo, ...] = CARDS, **more: str) -> Visibility:
    return visible({**more, **({} if value is None else {"CUDA_VISIBLE_DEVICES": value})}, cards)


def codes(found: Visibility) -> list[str]:
    return [note.code for note in found.notes]


def uuids(found: Visibility) -> list[str]:
    return [device.uuid for device in found.devices]


@pytest.mark.parametrize("value", ["", "-1", " ", "-1,0"])
def test_empty_or_minus_one_hides_all(value: str) -> None:
    found = shown(value)
    assert found.devices == ()
    assert codes(found) == ["visible_none"]


@pytest.mark.parametrize("bad", ["9", "junk", "GPU-dead", "MIG-dead", "1.5", "NoDevFiles"])
def test_the_first_bad_entry_ends_the_list(bad: str) -> None:
    found = shown(f"0,{bad},1", CUDA_DEVICE_ORDER="PCI_BUS_ID")
    assert uuids(found) == [A.uuid]
    assert found.notes[0].code == "visible_stops_at"
    assert found.notes[0].params == {"entry": bad, "ignored": f"{bad},1"}


def test_blanks_and_case_do_not_matter() -> None:
    assert uuids(shown(f" {B.uuid.lower()} , {A.uuid.upper()} ")) == [B.uuid, A.uuid]


def test_a_card_named_twice_shows_none() -> None:
    found = shown(f"0,{A.uuid}", CUDA_DEVICE_ORDER="PCI_BUS_ID")
    assert found.devices == ()
    assert codes(found) == ["visible_repeated"]


def test_indices_are_known_only_by_bus_order_or_among_equal_cards() -> None:
    assert not shown("1").order_known
    assert shown("1", CUDA_DEVICE_ORDER="PCI_BUS_ID").order_known
    assert shown("1", (A, replace(B, name="A"))).order_known
    assert shown(A.uuid).order_known


def test_unset_shows_all_but_lost_cards_and_never_the_processor() -> None:
    cpu = CardInfo(uuid=CPU_CARD, index=0, name="CPU")
    lost = replace(B, state=CardState.LOST)
    found = shown(None, (A, lost, cpu), CUDA_DEVICE_ORDER="PCI_BUS_ID")
    assert uuids(found) == [A.uuid]


def test_an_ambiguous_beginning_is_quoted() -> None:
    with pytest.raises(UsageError) as caught:
        shown("GPU-00001")
    assert caught.value.params["entry"] == "GPU-00001"
    assert "'GPU-00001'" in str(caught.value)


def test_a_split_card_shows_its_first_instance() -> None:
    instance = MigInstance(uuid="MIG-1", profile="3g.40gb", memory_total_bytes=1, memory_used_bytes=0)
    split = replace(A, mig=(instance, replace(instance, uuid="MIG-2")))
    found = shown("0", (split,))
    assert [(device.uuid, device.card.uuid) for device in found.devices] == [("MIG-1", A.uuid)]
