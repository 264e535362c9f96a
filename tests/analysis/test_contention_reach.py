"""How much of a card's peak a probe reaches alone."""

from dataclasses import replace

import pytest

from gputuner.analysis.contention_reach import reached
from gputuner.model.cards import CardInfo
from gputuner.model.points import Conditions
from gputuner.model.steps import Trial

SEEN = Conditions(duration_s=2.0, samples=4, sm_clock_mhz=1755.0, pcie_generation=5.0, pcie_width=16.0)
SHEET = {"peak_bandwidth": 4.8e12}


@pytest.fixture
def card() -> CardInfo:
    return CardInfo(uuid="GPU-1", index=0, name="NVIDIA H200", sm_count=132, compute_capability="9.0")


def trial(work, seconds, **notes):
    return Trial(iteration_s=(seconds,) * 5, t0_ns=0, t1_ns=int(5e9 * seconds), work=work, notes=notes)


def test_half_of_the_half_precision_peak(card):
    """132 SMs × 4096 FLOP at 1755 MHz: 949 TFLOPS; half of it done."""
    peak = 132 * 4096 * 1755e6
    told = reached("tensor", trial({"flop": 1e9}, 2e9 / peak, format="bfloat16"), card, SHEET, SEEN)
    assert told == pytest.approx(0.5)


def test_plain_products_are_held_against_fp32(card):
    peak = 132 * 256 * 1755e6
    for probe in ("sm", "slices"):
        told = reached(probe, trial({"flop": 1e9}, 1e9 / peak, format="float32"), card, SHEET, SEEN)
        assert told == pytest.approx(1.0)


def test_streams_against_the_sheet_and_copies_against_both_ways_of_the_link(card):
    assert reached("dram", trial({"bytes": 4.8e9}, 1e-3 / 0.9), card, SHEET, SEEN) == pytest.approx(0.9)
    one_way = 16 * 3.9385e9
    told = reached("pcie", trial({"bytes": 2 * one_way * 1e-3}, 2e-3), card, SHEET, SEEN)
    assert told == pytest.approx(0.5)


def test_without_a_known_peak_nothing_is_told(card):
    assert reached("l2", trial({"bytes": 1e9}, 1e-3), card, SHEET, SEEN) is None
    assert reached("dram", trial({"bytes": 1e9}, 1e-3), card, {}, SEEN) is None
    assert reached("sm", trial({"flop": 1e9}, 1e-3), card, SHEET, replace(SEEN, sm_clock_mhz=None)) is None
    assert reached("sm", trial({"passes": 1.0}, 1e-3), card, SHEET, SEEN) is None
    assert reached("sm", trial({"flop": 1e9}, 1e-3), card, SHEET, None) is None
