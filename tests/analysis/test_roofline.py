"""Peak rates against published figures."""

import pytest

from gputuner.analysis.roofline import (
    above_peak,
    attainable,
    card_peak_at_clock,
    dram_peak,
    flop_per_sm_clock,
    lacks_tensor_cores,
    peak_at_clock,
    sparse_speedup,
)


@pytest.mark.parametrize(
    ("name", "capability", "sms", "precision", "clock_hz", "published"),
    [
        ("NVIDIA GeForce RTX 4090", "8.9", 128, "fp16", 2.52e9, 165.2e12),
        ("NVIDIA GeForce RTX 4090", "8.9", 128, "fp32", 2.52e9, 82.6e12),
        ("NVIDIA GeForce RTX 3090", "8.6", 82, "tf32", 1.695e9, 35.6e12),
        ("NVIDIA H100 80GB HBM3", "9.0", 132, "bf16", 1.83e9, 989e12),
        ("NVIDIA GeForce RTX 5090", "12.0", 170, "bf16", 2.407e9, 209.5e12),
        ("NVIDIA A100-SXM4-40GB", "8.0", 108, "fp16", 1.41e9, 312e12),
        ("NVIDIA A100-SXM4-40GB", "8.0", 108, "fp32", 1.41e9, 19.5e12),
        ("NVIDIA RTX A6000", "8.6", 84, "fp16", 1.8e9, 154.8e12),
        ("NVIDIA GeForce RTX 2080 Ti", "7.5", 68, "fp32", 1.545e9, 13.45e12),
        ("NVIDIA TITAN V", "7.0", 80, "fp16", 1.455e9, 119.2e12),
    ],
)
def test_published_peaks(name, capability, sms, precision, clock_hz, published):
    told = card_peak_at_clock(
        name=name, capability=capability, sm_count=sms, precision=precision, clock_hz=clock_hz, sheet=published
    )
    assert told == pytest.approx(published, rel=0.003)


def test_formats_that_turing_lacks():
    assert flop_per_sm_clock("7.5", "bf16", half_rate=True) is None
    assert flop_per_sm_clock("7.5", "tf32", half_rate=True) is None
    assert flop_per_sm_clock("6.1", "fp16", half_rate=False) is None


def test_a_capped_export_part_gets_no_peak_at_clock():
    """An H20 has Hopper's SMs but a sheet of 148 TFLOP/s: the formula would say four times that."""
    told = card_peak_at_clock(
        name="NVIDIA H20", capability="9.0", sm_count=78, precision="bf16", clock_hz=1.9e9, clock_max_hz=1.98e9,
        sheet=148e12,
    )  # fmt: skip
    assert told is None


def test_boost_above_nominal_is_judged_by_the_clock_it_ran():
    """C-060: 15876 GFLOP/s on a card whose nominal peak is 13.4: at 1890 MHz it is 97 % of peak."""
    assert 15876e9 / peak_at_clock(68, 128, 1.89e9) == pytest.approx(0.965, abs=0.005)


@pytest.mark.parametrize(
    ("name", "lacks"),
    [
        ("NVIDIA GeForce GTX 1660 Ti", True),
        ("NVIDIA GeForce GTX 1650", True),
        ("NVIDIA GeForce MX450", True),
        ("NVIDIA T400 4GB", True),
        ("NVIDIA T1000 8GB", True),
        ("Quadro T2000", True),
        ("NVIDIA GeForce RTX 2080 Ti", False),
        ("Quadro RTX 5000", False),
        ("GRID RTX6000-12Q", False),
        ("NVIDIA TITAN RTX", False),
        ("Tesla T4", False),
        ("GRID T4-16Q", False),
        ("NVIDIA T4G", False),
    ],
)
def test_turing_without_tensor_cores_has_no_tensor_peak(name, lacks):
    assert lacks_tensor_cores(name, "7.5") is lacks
    assert lacks_tensor_cores(name, "8.6") is False
    for precision in ("fp16", "int8"):
        told = card_peak_at_clock(
            name=name, capability="7.5", sm_count=22, precision=precision, clock_hz=1.785e9, accumulate="fp16"
        )
        assert (told is None) is lacks
    plain = card_peak_at_clock(name=name, capability="7.5", sm_count=22, precision="fp32", clock_hz=1.785e9)
    assert plain == pytest.approx(5.03e12, rel=0.002), "a GTX 1660 has 1408 cores at 1785 MHz"


def test_a_share_above_the_peak_is_a_measuring_error():
    """At its own clock no card exceeds the peak; above the sheet it boosts."""
    assert above_peak({"fraction_of_peak_at_clock": 1.06})
    assert not above_peak({"fraction_of_peak_at_clock": 1.04, "fraction_of_sheet": 1.25, "fraction_of_link": 1.0})
    assert above_peak({"fraction_of_link": 1.06})
    assert above_peak({"fraction_of_sheet": 1.31})
    assert not above_peak({"fraction_of_peak_at_clock": 1.2, "conditions_of": "survey"})


def test_two_thirds_of_nineteen_twentieths_on_sparse_pipes_are_half_as_fast_again():
    """BERT-large at 384: 0.941·(2/3)/2 + 0.941/3 + 0.059 = 0.686 of the dense time."""
    assert sparse_speedup(0.941 * 2 / 3) == pytest.approx(1 / 0.686, rel=0.001)
    assert (sparse_speedup(0.0), sparse_speedup(1.0)) == (1.0, 2.0)


def test_dram_peaks():
    assert dram_peak(384, 10501e6) == pytest.approx(1008e9, rel=0.001)
    assert dram_peak(6144, 3201e6) == pytest.approx(4.92e12, rel=0.001)


def test_roofline():
    assert attainable(10.0, 100e12, 1e12) == 10e12
    assert attainable(1000.0, 100e12, 1e12) == 100e12
