"""Peak rates of the further number formats against the sheets, and the link."""

import pytest

from gputuner.analysis.roofline import card_peak_at_clock, flop_per_sm_clock, link_peak, matmul_intensity
from gputuner.catalog import load

GEFORCE_4090 = ("NVIDIA GeForce RTX 4090", "8.9", 128, 2.52e9)
A100 = ("NVIDIA A100-SXM4-40GB", "8.0", 108, 1.41e9)
H100 = ("NVIDIA H100 80GB HBM3", "9.0", 132, 1.83e9)
GEFORCE_5090 = ("NVIDIA GeForce RTX 5090", "12.0", 170, 2.407e9)


@pytest.mark.parametrize(
    ("card", "precision", "accumulate", "sparse", "published"),
    [
        (GEFORCE_4090, "fp16", "fp16", False, 330.3e12),
        (GEFORCE_4090, "fp8", "fp32", False, 330.3e12),
        (GEFORCE_4090, "fp8", "fp16", False, 660.6e12),
        (GEFORCE_4090, "int8", "int32", False, 660.6e12),
        (GEFORCE_4090, "fp64", "fp64", False, 1.29e12),
        (GEFORCE_4090, "fp16", "fp32", True, 330.3e12),
        (A100, "int8", "int32", False, 624e12),
        (A100, "fp64", "fp64", False, 19.5e12),
        (A100, "fp16", "fp16", False, 312e12),
        (A100, "int8", "int32", True, 1248e12),
        (H100, "fp8", "fp32", False, 1978.8e12),
        (H100, "int8", "int32", False, 1978.8e12),
        (GEFORCE_5090, "fp16", "fp16", False, 419e12),
        (GEFORCE_5090, "int8", "int32", False, 838e12),
        (GEFORCE_5090, "fp64", "fp64", False, 1.64e12),
        (("Tesla V100-SXM2-16GB", "7.0", 80, 1.53e9), "fp64", "fp64", False, 7.8e12),
        (("NVIDIA GeForce RTX 2080 Ti", "7.5", 68, 1.545e9), "int8", "int32", False, 215.2e12),
        (("NVIDIA GeForce RTX 2080 Ti", "7.5", 68, 1.545e9), "fp16", "fp32", False, 53.8e12),
        (("NVIDIA GeForce RTX 2080 Ti", "7.5", 68, 1.545e9), "fp16", "fp16", False, 107.6e12),
    ],
)
def test_peaks_of_the_sheets(card, precision, accumulate, sparse, published):
    name, capability, sms, clock_hz = card
    told = card_peak_at_clock(
        name=name, capability=capability, sm_count=sms, precision=precision, clock_hz=clock_hz,
        accumulate=accumulate, sparse=sparse,
    )  # fmt: skip
    assert told == pytest.approx(published, rel=0.006)


@pytest.mark.parametrize(
    ("field", "precision", "accumulate"),
    [
        ("fp32_tflops", "fp32", "fp32"),
        ("tf32_tensor_tflops", "tf32", "fp32"),
        ("fp16_tensor_fp32acc_tflops", "fp16", "fp32"),
        ("fp16_tensor_fp16acc_tflops", "fp16", "fp16"),
        ("fp8_tflops", "fp8", "fp32"),
        ("int8_tops", "int8", "int32"),
    ],
)
def test_the_formula_meets_the_sheet_of_nearly_every_card(field, precision, accumulate):
    """Cards of the catalogue at their boost clock; the few with caps or clocks of their own are named."""
    odd = {"h20", "h200-sxm", "h800-sxm", "h100-sxm", "l40", "b200", "titan-v", "v100-pcie-16g", "v100-pcie-32g"}
    for facts in load().cards:
        sheet = getattr(facts, field)
        if sheet is None or facts.id in odd:
            continue
        told = card_peak_at_clock(
            name=facts.nvml_name_patterns[0], capability=facts.compute_capability, sm_count=facts.sm_count,
            precision=precision, clock_hz=facts.boost_clock_mhz * 1e6, accumulate=accumulate,
        )  # fmt: skip
        assert told == pytest.approx(sheet * 1e12, rel=0.09), facts.id


def test_what_a_chip_cannot_do_has_no_peak():
    assert flop_per_sm_clock("7.5", "fp16", half_rate=True, sparse=True) is None
    assert flop_per_sm_clock("8.6", "fp8", half_rate=True) is None
    assert flop_per_sm_clock("9.0", "fp32", half_rate=False, sparse=True) is None
    assert flop_per_sm_clock("6.1", "tf32", half_rate=False) is None


def test_sparsity_is_judged_against_the_dense_sheet():
    told = card_peak_at_clock(
        name="NVIDIA A100-SXM4-40GB", capability="8.0", sm_count=108, precision="fp16", clock_hz=1.41e9,
        clock_max_hz=1.41e9, sheet=312e12, sparse=True,
    )  # fmt: skip
    assert told == pytest.approx(624e12, rel=0.003)


def test_link_peaks():
    assert link_peak(4, 16) == pytest.approx(31.5e9, rel=0.001)
    assert link_peak(5, 16) == pytest.approx(63.0e9, rel=0.001)
    assert link_peak(9, 16) is None


def test_intensity_of_products():
    """A square of n: 2n³ operations over 3n² elements, n/3 per byte at two bytes each."""
    assert matmul_intensity(4096, 4096, 4096, "bf16") == pytest.approx(4096 / 3)
    assert matmul_intensity(4096, 4096, 4096, "fp8") == pytest.approx(4096 / 2)
    assert matmul_intensity(4096, 4096, 4096, "int8") == pytest.approx(4096 / 3)
    assert matmul_intensity(1, 1, 1, "nf4") is None
