"""Names of figures: what tells them apart first, groups by their own name, one verdict for each figure."""

from dataclasses import replace

import pytest

from gputuner.gui.bench_words import figure_words, row_names, shared_words
from gputuner.gui.cause_words import cause_lines
from gputuner.gui.results import point_hint, value_words
from gputuner.gui.results_bench import bench_groups
from gputuner.gui.results_compare import pair_groups, paired, telling
from gputuner.gui.results_curves import region_curve
from gputuner.gui.theme import LIGHT
from gputuner.language.steps import step
from gputuner.model.points import Flag, Point, Spread


def point(id_, benchmark, value, metric="matmul_rate", unit="FLOP/s", cause="software", flags=(), peak=0.5, **params):
    extra = {"benchmark": benchmark, "held_back": cause}
    return Point(
        id=id_, card="GPU-1", metric=metric, workload=benchmark, params=params, value=value, unit=unit,
        spread=Spread(n=9, median=value, iqr=0.01 * value, ci95_low=0.99 * value, ci95_high=1.01 * value),
        flags=tuple(flags), extra=extra if peak is None else {**extra, "fraction_of_peak_at_clock": peak},
    )  # fmt: skip


ATTENTION = [
    point(f"{backend}-{direction}", "attention", 1e14, "attention_rate", backend=backend, direction=direction,
          sequence=1024, precision="bf16", cause="software" if backend == "flash" else "memory_bandwidth")
    for backend in ("flash", "math") for direction in ("forward", "forward_backward")
]  # fmt: skip
GEMM = [
    point("steady", "gemm-bf16", 1e14, cause="nothing", precision="bf16", phase="steady", m=8, n=8, k=8, peak=0.95),
    point("hot", "gemm-bf16", 1e14, cause="nothing", flags=[Flag.THROTTLED_POWER], precision="bf16",
          phase="sustained", m=8, n=8, k=8, peak=0.95),
    point("int8", "gemm-int8", 6e14, cause="nothing", precision="int8", phase="steady", m=8, n=8, k=8),
]  # fmt: skip


def test_what_all_share_stands_in_the_heading_and_the_rest_tells_rows_apart():
    assert shared_words(ATTENTION) == "sequence 1024, BF16"
    names = list(row_names(ATTENTION, "attention").values())
    assert names == ["flash, forward", "flash, forward + backward", "math, forward", "math, forward + backward"]


def test_a_benchmark_of_many_lengths_has_a_section_for_each():
    longer = [point(f"{p.id}-4k", "attention", 1e14, p.metric, **{**p.params, "sequence": 4096}) for p in ATTENTION]
    titles = [group.title for group in bench_groups([*ATTENTION, *longer], LIGHT)]
    assert titles == ["Attention · sequence 1024, BF16", "Attention · sequence 4096, BF16"]


def test_the_setting_that_differs_within_a_benchmark_comes_first():
    training = [
        point("cold", "resnet50", 9, "train_throughput", "samples/s", precision="bf16", phase="burst"),
        point("warm", "resnet50", 9, "train_throughput", "samples/s", precision="bf16", phase="sustained"),
        point("lstm", "lstm", 9, "train_throughput", "samples/s", precision="fp16", phase="steady"),
    ]
    assert list(row_names(training, "training").values()) == [
        "ResNet-50 · from cold, BF16", "ResNet-50 · sustained, BF16", "LSTM · FP16",
    ]  # fmt: skip


@pytest.mark.parametrize(("direction", "words"), [("host_to_device", "host → card"), ("device_to_host", "card → host")])
def test_directions_are_said_in_words(direction, words):
    copy = point("a", "pcie", 2e10, "transfer_bandwidth", "B/s", direction=direction, pinned=True, bytes=2**28)
    assert figure_words(copy) == f"Host ↔ card · {words}, pinned · 256 MiB"


def test_a_running_step_says_what_is_done_to_the_memory():
    assert step("bench_stream", {"operation": "read", "bytes": 2**30}) == "memory bandwidth: read, 1 GiB"


def test_whole_numbers_are_no_floating_point_operations():
    assert value_words(GEMM[2]) == "600 TOP/s"
    assert "IQR 6 TOP/s" in point_hint(GEMM[2])


def test_a_throttled_figure_is_never_held_back_by_nothing():
    held = {point.id: cause_lines([point], GEMM) for point in GEMM}
    assert held["hot"] == ["Matrix multiplication: BF16 · sustained"]
    assert held["steady"] == ["Matrix multiplication: BF16"]


def test_causes_name_whole_groups_and_the_setting_that_tells_sides_apart():
    everything = [*ATTENTION, *GEMM]
    assert cause_lines(ATTENTION, everything) == ["Attention"]
    assert cause_lines(ATTENTION[:2], everything) == ["Attention: flash"]


def test_figures_without_peak_and_times_have_groups_of_their_own():
    launch = [
        point("host", "launch", 1e6, "host_rate", "ops/s", peak=None, mode="dispatch"),
        point("kernel", "launch", 4e-6, "launch_time", "s", peak=None, mode="device"),
        point("graph", "launch", 1e-6, "graph_launch_time", "s", peak=None, mode="graph"),
    ]
    rates, times = bench_groups(launch, LIGHT)
    assert [group.title for group in (rates, times)] == [
        "Launch and host (no peak known)", "Launch and host (shorter is better)",
    ]  # fmt: skip
    assert rates.rows[0].top is None, "a bar beside nothing would say nothing"
    assert times.rows[0].top == times.rows[1].top


def test_a_comparison_has_one_row_for_each_setting_the_largest_change_first():
    def sweep(factors, read):
        sizes = [
            point(f"{power}-{factor}", "memory-read", factor * 1e12, "stream_bandwidth", "B/s", operation="read",
                  level="l2", phase="steady", bytes=2**power)
            for power, factor in zip((20, 21, 22), factors, strict=True)
        ]  # fmt: skip
        whole = point(f"dram-{read}", "memory-read", read * 1e12, "stream_bandwidth", "B/s", operation="read",
                      level="dram", phase="steady", bytes=2**31)  # fmt: skip
        return [*sizes, whole]

    these, others = sweep((2.0, 2.4, 3.0), 1.0), sweep((2.0, 2.0, 2.0), 0.5)
    pairs = telling(paired(these, others), these)
    (group,) = pair_groups(pairs, LIGHT)
    assert [row.name for row in group.rows] == ["DRAM", "", "L2", "4 MiB"]
    assert "better" in group.rows[0].note
    assert group.rows[3].note == "2 of 3 changed"


def test_regions_show_the_median_the_slowest_and_what_was_not_reached(invented):
    gib = 2**30
    points = [
        replace(
            point(f"r{i}", "regions", value, "region_bandwidth", "B/s", offset_bytes=i * gib, bytes=gib),
            card="GPU-4090",
        )
        for i, value in enumerate((920e9, 900e9, 920e9, 930e9))
    ]
    picture = region_curve(points, [invented.modded_4090()], LIGHT)
    assert [series.name for series in picture.series] == ["", "median 920", "slowest 900, −2.2 %"]
    (dot,) = picture.series[2].dots
    assert (dot.x, dot.y, dot.hollow) == (1.0, 900.0, True)
    (stretch,) = picture.stretches
    assert (stretch.x0, stretch.x1, stretch.hatched) == (4.0, 48.0, True)


def test_regions_of_a_comparison_are_named_once():
    def regions(factor):
        return [
            point(f"{i}-{factor}", "regions", factor * value, "region_bandwidth", "B/s", offset_bytes=i, bytes=2**28)
            for i, value in enumerate((920e9, 900e9, 930e9))
        ]

    these = regions(1.0)
    (group,) = pair_groups(telling(paired(these, regions(0.5)), these), LIGHT)
    assert {row.name for row in group.rows if row.point_id} == {"slowest", "median"}
