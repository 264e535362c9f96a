"""Standing among published figures, with rows of the shipped file and made ones."""

from dataclasses import dataclass

import pytest

from gputuner.analysis.arithmetic import arithmetic_of
from gputuner.analysis.published import standing, wanted
from gputuner.catalog import load


@dataclass(frozen=True)
class Row:
    mode: str
    value: float
    metric: str = "matmul_tflops"
    unit: str = "TFLOPS"
    source: str = "somebody"


@pytest.mark.parametrize(
    ("params", "mode"),
    [
        ({"precision": "bf16"}, "bf16_acc32"),
        ({"precision": "fp16"}, "fp16_acc32"),
        ({"precision": "fp16-acc16"}, "fp16_acc16"),
        ({"precision": "fp16_acc16"}, "fp16_acc16"),
        ({"precision": "fp16", "accumulate": "fp16"}, "fp16_acc16"),
        ({"precision": "fp8", "fast_accumulate": True}, "fp8_e4m3"),
        ({"precision": "int8"}, "int8"),
        ({"precision": "sparse-fp16"}, "fp16_acc32_sparse"),
        ({"precision": "int8", "sparse": True}, "int8_sparse"),
        ({"precision": "fp16", "setup_counted": False}, "fp16_acc32_sparse"),
        ({"precision": "fp64"}, "fp64"),
    ],
)
def test_the_mode_that_parameters_name(params, mode):
    arithmetic = arithmetic_of(params)
    assert arithmetic is not None
    assert arithmetic.mode == mode


def test_no_precision_names_no_arithmetic():
    assert arithmetic_of({"batch": 8}) is None
    assert arithmetic_of({"precision": "nf4"}) is None


def test_the_percentile_counts_worse_figures_and_half_the_ties():
    rows = [Row("bf16_acc32", value) for value in (150.0, 160.0, 170.0, 180.0)]
    which = wanted("matmul_rate", "matmul", {"precision": "bf16"})
    told = standing(170e12, which, rows)
    assert (told.n, told.low, told.median, told.high) == (4, 150e12, 165e12, 180e12)
    assert told.percentile == pytest.approx(62.5)


def test_of_latencies_the_small_ones_are_better():
    rows = [Row("dram", value, metric="memory_latency", unit="ns") for value in (250.0, 400.0, 500.0)]
    told = standing(300e-9, wanted("access_latency", "latency", {"level": "dram"}), rows)
    assert told.percentile == pytest.approx(200 / 3)


def test_few_rows_give_no_percentile_but_their_values():
    told = standing(100e12, wanted("matmul_rate", "matmul", {"precision": "tf32"}), [Row("tf32", 85.0)] * 2)
    assert told.percentile is None
    assert (told.n, told.low, told.high) == (2, 85e12, 85e12)


def test_another_accumulator_is_never_compared():
    rows = [Row("fp16_acc32", 160.0)] * 5
    assert standing(300e12, wanted("matmul_rate", "matmul", {"precision": "fp16-acc16"}), rows) is None


@pytest.mark.parametrize(
    ("workload", "params", "modes"),
    [
        ("resnet50", {"precision": "fp16", "channels_last": True}, ("amp_fp16", "amp_fp16_nhwc")),
        ("resnet50", {"precision": "tf32"}, ("tf32",)),
        ("resnet50", {"precision": "bf16"}, None),
        ("resnet50", {"precision": "fp16", "compile": True}, None),
        ("resnet50", {"precision": "fp16", "loader": True}, None),
        ("resnet50", {"precision": "fp32", "image": 64}, None),
        ("bert-large", {"precision": "fp16", "sequence": 384}, ("amp_fp16",)),
        ("bert-large", {"precision": "fp16", "sequence": 128}, None),
        ("edsr", {"precision": "fp16"}, None),
    ],
)
def test_trainings_are_compared_with_the_same_task_only(workload, params, modes):
    which = wanted("train_throughput", workload, params)
    assert (which.modes if which else None) == modes


def test_the_shipped_rows_of_a_modded_card():
    """Three published BF16 rates of the 48 GB mod: 160.5, 162.4 and 167.7 TFLOP/s."""
    told = standing(165e12, wanted("matmul_rate", "matmul", {"precision": "bf16"}), load().published("rtx-4090-48g"))
    assert told.n == 3
    assert told.low == pytest.approx(160.53e12)
    assert told.percentile == pytest.approx(200 / 3)
    assert told.sources


def test_the_copy_of_a_4090_meets_the_published_one():
    told = standing(
        900e9, wanted("stream_bandwidth", "stream", {"operation": "copy", "level": "dram"}),
        load().published("rtx-4090"),
    )  # fmt: skip
    assert told.low == pytest.approx(912e9)
    assert told.percentile == 0.0


def test_copies_over_the_link_are_compared_if_pinned():
    params = {"direction": "host_to_device", "pinned": True}
    told = standing(56e9, wanted("transfer_bandwidth", "pcie", params), load().published("rtx-5090"))
    assert (told.n, told.low, told.percentile) == (1, pytest.approx(56.3e9), None)
    assert wanted("transfer_bandwidth", "pcie", {**params, "pinned": False}) is None


def test_a_cache_is_not_compared_with_dram():
    assert wanted("stream_bandwidth", "stream", {"operation": "copy", "level": "l2"}) is None
    assert wanted("attention_rate", "attention", {"precision": "bf16"}) is None
