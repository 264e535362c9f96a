"""--gpu SEL."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gputuner.devices.selection import select
from gputuner.model.cards import CPU_CARD, CardInfo
from gputuner.model.errors import UsageError

A = CardInfo(uuid="GPU-1f3a0000-aaaa-bbbb-cccc-000000000000", index=0, name="A", pci_bus_id="0000:01:00.0")
B = CardInfo(uuid="GPU-1f3b0000-aaaa-bbbb-cccc-000000000001", index=1, name="B", pci_bus_id="0000:0a:00.0")
CPU = CardInfo(uuid=CPU_CARD, index=0, name="CPU")


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (B.uuid, (B,)),
        (B.uuid.upper(), (B,)),
        ("GPU-1f3b", (B,)),
        ("1f3a", (A,)),
        ("0", (A,)),
        ("1", (B,)),
        ("0000:0A:00.0", (B,)),
        ("00000000:0A:00.0", (B,)),
        ("0a:00.0", (B,)),
        ("1:00", (A,)),
        ("all", (A, B)),
        ("cpu", (CPU,)),
        ("1, 0", (B, A)),
        ("1,GPU-1f3b,all", (B, A)),
        ("cpu,0", (CPU, A)),
    ],
)
def test_forms(selector: str, expected: tuple[CardInfo, ...]) -> None:
    assert select(selector, (A, B, CPU)) == tuple(card.uuid for card in expected)


def test_all_is_the_processor_where_there_is_nothing_else() -> None:
    assert select("all", (CPU,)) == (CPU_CARD,)
    assert select("all", ()) == ()


@pytest.mark.parametrize("selector", ["GPU-1f3", "gpu-", "GPU-1F3"])
def test_an_ambiguous_beginning_is_quoted(selector: str) -> None:
    with pytest.raises(UsageError) as caught:
        select(selector, (A, B, CPU))
    assert caught.value.code == "selection_ambiguous"
    assert repr(selector) in str(caught.value)
    assert A.uuid in str(caught.value.params["cards"])


@pytest.mark.parametrize("selector", ["7", "GPU-ffff", "0000:02:00.0", "rtx", "dead", "-1", "1f3", "\uff10", "0_1"])
def test_unknown_names_what_there_is(selector: str) -> None:
    with pytest.raises(UsageError) as caught:
        select(selector, (A, B))
    assert caught.value.code == "no_such_card"
    assert B.uuid in str(caught.value.params["known"])


@pytest.mark.parametrize("selector", ["", " ", "0,", ",1", "0,,1"])
def test_an_empty_entry_is_a_usage_error(selector: str) -> None:
    with pytest.raises(UsageError) as caught:
        select(selector, (A, B))
    assert caught.value.code == "selection_empty"


@given(st.text(max_size=30))
def test_any_text_gives_known_cards_or_a_usage_error(selector: str) -> None:
    try:
        chosen = select(selector, (A, B, CPU))
    except UsageError:
        return
    assert chosen
    assert set(chosen) <= {A.uuid, B.uuid, CPU_CARD}
    assert len(set(chosen)) == len(chosen)
