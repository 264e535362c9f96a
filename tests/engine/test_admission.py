"""Who may use a card, and how much of it."""

import json
from pathlib import Path

import pytest

from gputuner.engine.admission import SHARE_MARGIN_BYTES, admit, usable_bytes
from gputuner.model.cards import CardInfo, CardState
from gputuner.model.errors import CardBusy, DeviceError, DeviceLost, ExitCode
from gputuner.model.quantities import Quantity
from gputuner.model.samples import CardProcesses, ProcessOnCard, Sample

CASES = Path(__file__).parents[1] / "data" / "cases"
GIB = 2**30
CARD = CardInfo(uuid="GPU-a", index=0, name="a", memory_total_bytes=80 * GIB)


def sample(free: float) -> Sample:
    return Sample(card="GPU-a", t_ns=0, values={Quantity.MEMORY_FREE_BYTES: free})


def table(*processes: ProcessOnCard, unowned: int | None = 0) -> CardProcesses:
    return CardProcesses(card="GPU-a", t_ns=0, processes=processes, unowned_bytes=unowned)


def process(compute: bool = True) -> ProcessOnCard:
    return ProcessOnCard(pid=7, name="python", user=None, command=None, memory_bytes=GIB, compute=compute)


def test_c031_memory_that_nobody_owns_counts_as_used():
    memory = json.loads((CASES / "c031_nvml_orphan_memory.json").read_text())["devices"][0]["ret"][
        "nvmlDeviceGetMemoryInfo"
    ]
    assert admit(CARD, table(unowned=memory["used"]), share=False) is False, "no process, so it is not busy"
    assert usable_bytes(CARD, sample(memory["free"]), False, None) == memory["free"] == memory["total"] - memory["used"]


def test_c019_free_memory_is_the_field_and_not_total_minus_used():
    reserved = 948122420
    told = Sample(
        card="GPU-a",
        t_ns=0,
        values={Quantity.MEMORY_FREE_BYTES: 41993371648.0, Quantity.MEMORY_USED_BYTES: 8178892.0},
    )
    card = CardInfo(uuid="GPU-a", index=0, name="a", memory_total_bytes=41993371648 + 8178892 + reserved)
    assert usable_bytes(card, told, False, None) == 41993371648


def test_shared_cards_keep_a_margin_and_a_cap_counts():
    assert usable_bytes(CARD, sample(40 * GIB), True, None) == 40 * GIB - max(SHARE_MARGIN_BYTES, int(4 * GIB))
    assert usable_bytes(CARD, sample(40 * GIB), False, 3 * GIB) == 3 * GIB
    assert usable_bytes(CARD, sample(GIB), True, None) == 0, "never negative"
    assert usable_bytes(CARD, None, False, None) == 80 * GIB


def test_a_desktop_does_not_make_a_card_busy():
    assert admit(CARD, table(process(compute=False)), share=False) is False
    assert admit(CARD, table(process()), share=True) is True
    with pytest.raises(CardBusy):
        admit(CARD, table(process()), share=False)


@pytest.mark.parametrize(("state", "kind"), [(CardState.LOST, DeviceLost), (CardState.ASLEEP, DeviceError)])
def test_a_card_that_cannot_be_asked_is_refused(state: CardState, kind: type[DeviceError]):
    card = CardInfo(uuid="GPU-a", index=0, name="a", state=state)
    with pytest.raises(kind) as refused:
        admit(card, None, share=True)
    assert refused.value.exit_code == ExitCode.DEVICE
