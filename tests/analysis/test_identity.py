"""Is it the card that was sold: sheets of the catalogue, cards as they should be, and fakes."""

from dataclasses import replace

import pytest

from gputuner.analysis.identity import CardSeen, bus_bits, identify
from gputuner.catalog import load

SHEETS = {card.id: card for card in load().cards}


def honest(card):
    """What a sound card of a sheet shows."""
    return CardSeen(
        name=card.nvml_name_patterns[0],
        compute_capability=card.compute_capability,
        sm_count=card.sm_count,
        memory_total_bytes=card.memory_total_mib << 20,
        power_default_w=float(card.tdp_w),
        pcie_generation_max=float(card.pcie_gen),
        pcie_width_max=float(card.pcie_lanes),
        l2_bytes=card.l2_mib * 2**20,
        bandwidth=0.9e9 * card.memory_bandwidth_gb_s,
        l2_step_bytes=0.9 * card.l2_mib * 2**20,
        aliased=False,
    )


@pytest.mark.parametrize("card", SHEETS.values(), ids=list(SHEETS))
def test_every_card_of_the_catalogue_is_what_it_is_and_surely(card):
    found = identify(honest(card), card, SHEETS.values())
    assert (found.verdict, found.sureness) == ("as_sold", "measured")
    assert all(check.outcome == "agrees" for check in found.checks)


@pytest.mark.parametrize(("card", "told"), [("rtx-3060-12g", 2359296), ("h200-sxm", 62914560)])
def test_the_l2_that_real_cards_tell_agrees(card, told):
    found = identify(replace(honest(SHEETS[card]), l2_bytes=told), SHEETS[card], SHEETS.values())
    assert {check.name: check.outcome for check in found.checks}["l2"] == "agrees"
    other = identify(replace(honest(SHEETS[card]), l2_bytes=told // 2), SHEETS[card], SHEETS.values())
    assert {check.name: check.outcome for check in other.checks}["l2"] == "differs"


def test_by_the_drivers_words_alone_nothing_is_sure():
    card = SHEETS["rtx-4090-48g"]
    seen = replace(honest(card), bandwidth=None, aliased=None, l2_step_bytes=None)
    assert (identify(seen, card).verdict, identify(seen, card).sureness) == ("as_sold", "likely")
    bare = CardSeen(name=card.nvml_name_patterns[0])
    missing = {check.name: check.missing for check in identify(seen, card).checks if check.outcome == "unknown"}
    assert missing == {"memory_real": "not_tested", "bus_width": "not_measured", "l2_step": "not_measured"}
    short = {check.name: check for check in identify(replace(seen, l2_step_missing="short_time"), card).checks}
    assert (short["l2_step"].outcome, short["l2_step"].missing) == ("unknown", "short_time")
    assert identify(bare, card).sureness == "unsure"


def test_a_chip_under_another_name_is_named_with_what_it_could_be():
    sold, real = SHEETS["rtx-4090"], SHEETS["rtx-4090-d"]
    seen = replace(honest(real), name=sold.nvml_name_patterns[0])
    found = identify(seen, sold, SHEETS.values())
    assert (found.verdict, found.sureness) == ("other_card", "likely")
    assert "rtx-4090-d" in found.candidates
    assert "rtx-4090" not in found.candidates


def test_a_donor_that_was_sold_as_a_mod_has_another_memory():
    sold = SHEETS["rtx-4090-48g"]
    found = identify(honest(SHEETS["rtx-4090"]), sold, SHEETS.values())
    assert (found.verdict, found.sureness) == ("other_memory", "likely")
    assert "rtx-4090" in found.candidates


def test_memory_that_repeats_itself_is_less_memory_and_sure():
    card = SHEETS["rtx-4090-48g"]
    found = identify(replace(honest(card), aliased=True), card)
    assert (found.verdict, found.sureness) == ("less_memory", "measured")


def test_half_a_bus_is_slower_memory():
    card = SHEETS["rtx-3090"]
    found = identify(replace(honest(card), bandwidth=0.46e9 * card.memory_bandwidth_gb_s), card)
    assert found.verdict == "slower_memory"
    assert found.bus_bits == card.bus_width_bits / 2


@pytest.mark.parametrize("bits", [128, 192, 256, 384, 512])
def test_the_width_of_a_bus_follows_from_its_rate(bits):
    assert bus_bits(0.92 * bits * 21e9 / 8, 21.0) == bits
    assert bus_bits(None, 21.0) is None


def test_a_slot_that_limits_the_link_is_no_difference_but_a_wide_one_is():
    card = SHEETS["rtx-3090"]
    assert identify(replace(honest(card), pcie_generation_max=3.0, pcie_width_max=8.0), card).verdict == "as_sold"
    assert identify(replace(honest(card), pcie_generation_max=5.0), card).verdict == "unclear"


def test_without_a_sheet_nothing_is_said():
    found = identify(CardSeen(name="card"), None)
    assert (found.verdict, found.sureness, found.checks) == ("unknown", "unsure", ())
