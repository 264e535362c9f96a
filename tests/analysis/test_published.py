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
    conditions: str = ""


@pytest.mark.parametrize(
    ("params", "mode"),
    [
        ({"precision": "bf16"}, "bf16_acc32"),
        ({"precision": "fp16"}, "fp16_acc32"),
        ({"precision": "fp16-acc16"}, "fp16_acc16"),
        ({"precision": "fp16_acc16"}, "fp16_acc16"),
        ({"precision": "fp16", "accumulate": "fp16"}, "fp16_acc16"),
        ({"precision": "fp8", "fast_accumulate": True}, "fp8_e4m3_fast"),
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


def of_sources(*values, **fields):
    return [Row("bf16_acc32", value, source=f"github:owner{i}/tool", **fields) for i, value in enumerate(values)]


BF16 = wanted("matmul_rate", "matmul", {"precision": "bf16"})


def test_the_percentile_counts_worse_figures_and_half_the_ties():
    told = standing(170e12, BF16, of_sources(150.0, 160.0, 170.0, 180.0))
    assert (told.n, told.worse, told.low, told.median, told.high) == (4, 2, 150e12, 165e12, 180e12)
    assert told.percentile == pytest.approx(62.5)


def test_each_source_counts_once_however_many_rows_it_has():
    """Of three sources one is wholly worse, one half, one not: (1 + 0.5 + 0) / 3, though 7 of 9 rows are worse."""
    table = [Row("bf16_acc32", 150.0, source="github:a/b list.md")] * 6
    half = [Row("bf16_acc32", v, source=s) for v, s in ((160.0, "c/d#1"), (180.0, "c/d#2"))]
    told = standing(170e12, BF16, [*table, *half, Row("bf16_acc32", 190.0, source="site.org page")])
    assert (told.n, told.worse) == (9, 7)
    assert told.percentile == pytest.approx(50.0)


def test_three_rows_of_one_table_are_one_source():
    """The shipped file has three BF16 rows of the 3090, all of one table: a count, no percentile."""
    told = standing(76.6e12, BF16, load().published("rtx-3090"))
    assert (told.n, told.worse, told.percentile) == (3, 2, None)


def test_of_latencies_the_small_ones_are_better():
    rows = [
        Row("dram", value, metric="memory_latency", unit="ns", source=str(value)) for value in (250.0, 400.0, 500.0)
    ]
    told = standing(300e-9, wanted("access_latency", "latency", {"level": "dram"}), rows)
    assert told.worse == 2
    assert told.percentile == pytest.approx(200 / 3)


def test_few_rows_give_no_percentile_but_their_values():
    told = standing(100e12, wanted("matmul_rate", "matmul", {"precision": "tf32"}), [Row("tf32", 85.0)] * 2)
    assert told.percentile is None
    assert (told.n, told.worse, told.low, told.high) == (2, 2, 85e12, 85e12)


@pytest.mark.parametrize(
    "remark",
    [
        "cuBLASLt; operands saturate to a constant (optimistic power)",
        "torch.mm 8192^3 only (not best size)",
        "torch matmul n=8192; fp16 accumulates in FP32",
        "OUTLIER: disturbed run accepted into the database",
    ],
)
def test_what_was_measured_otherwise_is_left_out(remark):
    assert standing(170e12, BF16, of_sources(150.0, 160.0, 170.0, conditions=remark)) is None


def test_the_saturated_fp8_of_an_h100_is_left_out():
    """1530 TFLOP/s by a tool whose operands saturate to a constant; 1402.6 from normal numbers remains."""
    told = standing(1400e12, wanted("matmul_rate", "matmul", {"precision": "fp8"}), load().published("h100-sxm"))
    assert (told.n, told.high) == (1, pytest.approx(1402.6e12))


def test_fast_accumulation_is_compared_with_nothing_that_does_not_say_so():
    which = wanted("matmul_rate", "matmul", {"precision": "fp8", "fast_accumulate": True})
    assert standing(1500e12, which, load().published("h100-sxm")) is None


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
    assert (told.n, told.worse) == (3, 2)
    assert told.low == pytest.approx(160.53e12)
    assert told.percentile is None
    assert told.sources


def test_the_copy_of_a_4090_meets_the_published_one():
    told = standing(
        900e9, wanted("stream_bandwidth", "stream", {"operation": "copy", "level": "dram"}),
        load().published("rtx-4090"),
    )  # fmt: skip
    assert (told.low, told.high) == (pytest.approx(912e9), pytest.approx(918e9))
    assert (told.n, told.worse, told.percentile) == (2, 0, None)


def test_copies_over_the_link_are_compared_if_pinned():
    params = {"direction": "host_to_device", "pinned": True}
    told = standing(56e9, wanted("transfer_bandwidth", "pcie", params), load().published("rtx-5090"))
    assert (told.n, told.low, told.percentile) == (1, pytest.approx(56.3e9), None)
    assert wanted("transfer_bandwidth", "pcie", {**params, "pinned": False}) is None


def test_both_ways_at_once_is_the_sum_of_what_is_published_per_direction():
    """nvbandwidth tells 18.5 GB/s each way: ours is the sum, 37. A row that does not say which it is means neither."""
    which = wanted("transfer_bandwidth", "pcie", {"direction": "both", "pinned": True})
    told = standing(37e9, which, load().published("8-GPU server (PCIe gen4)"))
    assert (told.n, told.low) == (1, pytest.approx(37e9))
    assert standing(100e9, which, load().published("rtx-5090")) is None


def test_a_cache_is_not_compared_with_dram():
    assert wanted("stream_bandwidth", "stream", {"operation": "copy", "level": "l2"}) is None
    assert wanted("attention_rate", "attention", {"precision": "bf16"}) is None
