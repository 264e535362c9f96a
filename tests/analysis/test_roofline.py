"""Peak rates against published figures."""

import pytest

from gputuner.analysis.roofline import attainable, card_peak_at_clock, dram_peak, flop_per_sm_clock, peak_at_clock


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


def test_dram_peaks():
    assert dram_peak(384, 10501e6) == pytest.approx(1008e9, rel=0.001)
    assert dram_peak(6144, 3201e6) == pytest.approx(4.92e12, rel=0.001)


def test_roofline():
    assert attainable(10.0, 100e12, 1e12) == 10e12
    assert attainable(1000.0, 100e12, 1e12) == 100e12
