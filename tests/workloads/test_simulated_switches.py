"""Switches on simulated cards: what follows from the card's facts, and a clear no to the rest."""

import pytest

from gputuner.catalog import load
from gputuner.devices.simulated import SimulatedCards, SimulatedClock
from gputuner.workloads.bodies.switches import Switches
from gputuner.workloads.simulated_costs.cost import UnsupportedOnChipError
from gputuner.workloads.simulated_costs.shelf import settings_of
from gputuner.workloads.specs import ResNet50Spec
from gputuner.workloads.specs_training import BertSpec, EdsrSpec, GptSpec, LlmSpec

CATALOG = load()


def cost(card_id, spec):
    cards = SimulatedCards([card_id], SimulatedClock(), catalog=CATALOG)
    card = cards.card(cards.cards()[0].uuid)
    (setting,) = settings_of(card, spec.workload, spec.params())
    return card, setting.cost


def test_fp16_accumulation_follows_the_sheet():
    """GeForce cards of Ampere and Ada have twice the rate with FP16 accumulation, data centre parts the same."""
    for card_id, factor in (("rtx-4090", 0.5), ("a100-pcie-40g", 1.0)):
        plain = cost(card_id, GptSpec(batch=4, precision="fp16"))[1].load.compute_cycles
        narrow = cost(card_id, GptSpec(batch=4, precision="fp16", switches=Switches(fp16_accumulate=True)))[1]
        assert narrow.load.compute_cycles == pytest.approx(factor * plain, rel=0.02)


def test_convolutions_gain_nothing_from_it():
    switches = Switches(fp16_accumulate=True)
    plain = cost("rtx-4090-48g", EdsrSpec(batch=4, precision="fp16"))[1].load
    assert cost("rtx-4090-48g", EdsrSpec(batch=4, precision="fp16", switches=switches))[1].load == plain


def test_a_captured_step_is_launched_once():
    load = cost("rtx-4090-48g", BertSpec(batch=1, switches=Switches(cuda_graph=True)))[1].load
    assert load.host_s < 1e-4


def test_checkpointing_computes_a_forward_pass_more_and_keeps_the_inputs_of_layers():
    """24 layers of 37 bytes per token and unit of width become 24 of 2 and one of 37."""
    (_, plain), (_, again) = (
        cost("rtx-4090-48g", BertSpec(batch=64, switches=Switches(checkpointing=on or None))) for on in (False, True)
    )
    assert again.load.compute_cycles == pytest.approx(plain.load.compute_cycles * 4 / 3)
    fixed = BertSpec(batch=64).memory().fixed_bytes
    kept = (again.allocated_bytes - fixed) / (plain.allocated_bytes - fixed)
    assert kept == pytest.approx((24 * 2 + 37) / (24 * 37), rel=0.01)


def test_what_is_checkpointed_by_itself_stays_as_it_is():
    plain = cost("rtx-4090-48g", LlmSpec(batch=1))[1]
    assert cost("rtx-4090-48g", LlmSpec(batch=1, switches=Switches(checkpointing=True)))[1].load == plain.load


@pytest.mark.parametrize(
    "switches",
    [Switches(sdpa="flash"), Switches(optimizer_kind="fused"), Switches(autotune=True),
     Switches(expandable_segments=True), Switches(checkpointing=True), Switches(fp16_accumulate=True)],
    ids=lambda switches: " ".join(switches.params()),
)  # fmt: skip
def test_what_no_sheet_tells_is_refused(switches):
    with pytest.raises(UnsupportedOnChipError):
        cost("rtx-4090-48g", ResNet50Spec(batch=4, precision="bf16", switches=switches))
