import pytest

from gputuner.catalog import load
from gputuner.catalog.features import (
    FEATURES,
    cuda_supports,
    driver_runs_cuda,
    features_of,
    newest_cuda_for,
    runs_kernels,
)
from gputuner.model.cards import Support

CATALOG = load()
N, E, A = Support.NATIVE, Support.EMULATED, Support.ABSENT


@pytest.mark.parametrize(
    ("card_id", "expected"),
    [
        # order: bf16, tf32, fp16_tensor, fp8, sparsity_2_4, async_copy, nvlink
        ("gtx-1080-ti", (E, A, A, A, A, A, A)),
        ("v100-sxm2-32g", (E, A, N, A, A, A, N)),
        ("rtx-2080-ti-22g", (E, A, N, A, A, A, N)),
        ("rtx-3090", (N, N, N, A, N, N, N)),
        ("rtx-4090-48g", (N, N, N, N, N, N, A)),
        ("h200-sxm", (N, N, N, N, N, N, N)),
        ("rtx-5090", (N, N, N, N, N, N, A)),
    ],
)
def test_features_per_chip(card_id, expected):
    assert tuple(features_of(CATALOG.card(card_id))[name] for name in FEATURES) == expected


@pytest.mark.parametrize("card_id", CATALOG.ids)
def test_features_do_not_contradict_the_rates_of_the_sheet(card_id):
    facts = CATALOG.card(card_id)
    found = features_of(facts)
    assert (found["bf16"] is N) == (facts.bf16_tensor_tflops is not None)
    assert (found["tf32"] is N) == (facts.tf32_tensor_tflops is not None)
    assert (found["fp16_tensor"] is N) == (facts.fp16_tensor_fp32acc_tflops is not None)


CU130 = ("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120", "compute_120")
CU126 = ("sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90")


@pytest.mark.parametrize(
    ("capability", "arch_list", "runs"),
    [
        ("7.0", CU130, False),
        ("6.1", CU130, False),
        ("7.5", CU130, True),
        ("8.9", CU130, True),  # sm_86 code runs on 8.9
        ("12.0", CU126, False),
        ("6.1", CU126, True),
        ("7.0", CU126, True),
        ("9.0", ("sm_90a",), True),
        ("10.0", ("sm_90a",), False),
        ("12.1", ("sm_120f",), True),
        ("12.1", ("sm_120a",), False),
        ("12.0", ("compute_90",), True),
        ("8.0", ("sm_86",), False),
        ("9.0", ("gfx90a", "sm_", "sm_x"), False),
        ("9.0", (), False),
    ],
)
def test_a_build_without_kernels_for_the_card_is_found(capability, arch_list, runs):
    assert runs_kernels(capability, arch_list) is runs


def test_cuda_13_left_volta_and_pascal_behind():
    assert not cuda_supports("7.0", "13.0")
    assert not cuda_supports("6.1", "13.2")
    assert cuda_supports("7.5", "13.0")
    assert cuda_supports("7.0", "12.8")
    assert (newest_cuda_for("7.0"), newest_cuda_for("7.5"), newest_cuda_for("3.0")) == (12, 13, None)


def test_a_driver_older_than_the_build_is_found():
    assert not driver_runs_cuda("570.124.04", "13.0")
    assert driver_runs_cuda("580.159.04", "13.0")
    assert driver_runs_cuda("550.54.14", "12.6")
    assert driver_runs_cuda("unknown", "13.0")
